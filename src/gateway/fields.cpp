#include "gateway/fields.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "gateway/suggestion.hpp"

namespace weir::gateway {
namespace {

std::string shown(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::scalar) return name(node.kind);
  return '\'' + node.text.substr(0, 64) + (node.text.size() > 64 ? "...'" : "'");
}

[[noreturn]] void expected(const YamlNode& node, std::string_view field, std::string_view what) {
  throw FileError{node.at,
                  std::string(field) + " is " + shown(node) + "; expected " + std::string(what)};
}

}  // namespace

Fields::Fields(const YamlNode& map, std::string what) : map_(map), what_(std::move(what)) {
  if (map.kind != YamlNode::Kind::map) {
    throw FileError{map.at, what_ + " is " + shown(map) + "; expected a map of fields"};
  }
  for (std::size_t at = 0; at < map.children.size(); at += 2) {
    if (map.children[at].text == "<<") {
      throw FileError{map.children[at].at, "a merge key; expected each field by itself"};
    }
  }
}

const YamlNode* Fields::find(std::string_view name) {
  asked_.push_back(name);
  for (std::size_t at = 0; at < map_.children.size(); at += 2) {
    if (map_.children[at].text != name) continue;
    const YamlNode& value = map_.children[at + 1];
    return value.kind == YamlNode::Kind::null ? nullptr : &value;
  }
  return nullptr;
}

const YamlNode& Fields::need(std::string_view name) {
  const YamlNode* const found = find(name);
  if (found) return *found;
  // Who wrote the name a little differently is told so.
  for (std::size_t at = 0; at < map_.children.size(); at += 2) {
    const std::string meant = suggestion(map_.children[at].text, {&name, 1});
    if (!meant.empty() && map_.children[at].text != name) unknown(map_.children[at], meant);
  }
  throw FileError{map_.at, what_ + " needs the field '" + std::string(name) + "'"};
}

void Fields::unknown(const YamlNode& key, const std::string& meant) const {
  throw FileError{key.at, what_ + " has no field " + shown(key) + meant};
}

void Fields::finish() const {
  for (std::size_t at = 0; at < map_.children.size(); at += 2) {
    const YamlNode& key = map_.children[at];
    if (std::ranges::find(asked_, key.text) != asked_.end()) continue;
    unknown(key, suggestion(key.text, asked_));
  }
}

const std::string& text_of(const YamlNode& node, std::string_view field) {
  if (node.kind != YamlNode::Kind::scalar) expected(node, field, "a single value");
  return node.text;
}

bool truth_of(const YamlNode& node, std::string_view field) {
  if (node.kind == YamlNode::Kind::scalar && !node.quoted) {
    if (node.text == "true" || node.text == "True" || node.text == "TRUE") return true;
    if (node.text == "false" || node.text == "False" || node.text == "FALSE") return false;
  }
  expected(node, field, "true or false");
}

std::int64_t number_of(const YamlNode& node, std::string_view field, Range range) {
  std::int64_t number = 0;
  const std::string& text = node.text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (node.kind != YamlNode::Kind::scalar || error != std::errc() ||
      end != text.data() + text.size() || number < range.least || number > range.most) {
    expected(
        node, field,
        "a whole number from " + std::to_string(range.least) + " to " + std::to_string(range.most));
  }
  return number;
}

std::vector<const YamlNode*> items_of(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::list) return {&node};
  std::vector<const YamlNode*> items;
  for (const YamlNode& item : node.children) items.push_back(&item);
  return items;
}

const std::vector<YamlNode>& list_of(const YamlNode& node, std::string_view field) {
  if (node.kind != YamlNode::Kind::list) expected(node, field, "a list");
  return node.children;
}

std::vector<YamlField> entries_of(const YamlNode& node, std::string_view field) {
  if (node.kind != YamlNode::Kind::map) expected(node, field, "a map");
  std::vector<YamlField> entries;
  for (std::size_t at = 0; at < node.children.size(); at += 2) {
    entries.push_back({node.children[at], node.children[at + 1]});
  }
  return entries;
}

}  // namespace weir::gateway
