#include "gateway/descriptor_tree.hpp"

#include <algorithm>

namespace weir::gateway {

namespace {

/// A backslash is one of the value's bytes here.
Pattern pattern_of(std::string_view value) {
  std::string text;
  for (const char c : value) text += c == '\\' ? "\\\\" : std::string(1, c);
  return Pattern::parse(text).value();
}

}  // namespace

std::optional<DescriptorTree::Index> DescriptorTree::add(Index parent, const Step& step) {
  const auto child = static_cast<Index>(nodes_.size());
  Node& node = nodes_[parent];
  if (step.value.empty()) {
    if (!node.by_key.emplace(step.key, child).second) return {};
  } else if (step.value.find('*') == std::string_view::npos) {
    if (!node.exact.emplace(std::pair(step.key, step.value), child).second) return {};
  } else {
    const bool known = std::ranges::any_of(node.wild, [&](const Wild& wild) {
      return wild.key == step.key && wild.value == step.value;
    });
    if (known) return {};
    node.wild.push_back(
        {std::string(step.key), std::string(step.value), pattern_of(step.value), child});
  }
  nodes_.emplace_back();
  return child;
}

const DescriptorTree::Node* DescriptorTree::next(const Node& node, const Entry& entry,
                                                 const std::string*& met_by) const {
  met_by = nullptr;
  const auto exact = node.exact.find(std::pair(entry.key, entry.value));
  if (exact != node.exact.end()) return &nodes_[exact->second];
  const auto wild = std::ranges::find_if(node.wild, [&](const Wild& candidate) {
    return candidate.key == entry.key && candidate.pattern.matches(entry.value);
  });
  if (wild != node.wild.end()) {
    met_by = &wild->value;
    return &nodes_[wild->child];
  }
  const auto by_key = node.by_key.find(entry.key);
  return by_key != node.by_key.end() ? &nodes_[by_key->second] : nullptr;
}

std::optional<DescriptorTree::Found> DescriptorTree::find(std::span<const Entry> entries) const {
  Found found{};
  found.met_by.reserve(entries.size());
  const Node* node = &nodes_.front();
  for (const Entry& entry : entries) {
    node = next(*node, entry, found.met_by.emplace_back());
    if (!node) return {};
  }
  if (entries.empty() || !node->rule) return {};
  found.rule = *node->rule;
  return found;
}

std::size_t DescriptorTree::steps(std::span<const Entry> entries) const {
  const Node* node = &nodes_.front();
  const std::string* met_by = nullptr;
  for (std::size_t taken = 0; taken < entries.size(); ++taken) {
    node = next(*node, entries[taken], met_by);
    if (!node) return taken;
  }
  return entries.size();
}

}  // namespace weir::gateway
