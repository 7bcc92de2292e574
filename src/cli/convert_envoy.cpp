// envoyproxy/ratelimit's trees of descriptors as rules that stand side by side.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "cli/conversion.hpp"
#include "gateway/fields.hpp"
#include "gateway/pattern.hpp"
#include "gateway/rule_file.hpp"

namespace weir::cli {
namespace {

using gateway::EdgeRule;
using gateway::Quota;
using gateway::YamlNode;

struct Entry {
  std::string key;
  std::string value;  ///< may be empty: any

  bool wild() const { return value.find('*') != std::string::npos; }
  /// Whether all that meets this one meets the other, too, and not the other way round or equally.
  bool within(const Entry& other) const {
    if (key != other.key) return false;
    if (other.value.empty() || value == other.value) return true;
    return other.wild() && !value.empty() &&
           gateway::Pattern::parse(with_stars(other.value)).value().matches(value);
  }
  bool operator==(const Entry&) const = default;
};

struct Leaf {
  std::vector<Entry> path;
  gateway::Place at;
  const EdgeRule* rule;  ///< null: what ends here has no limit
};

/// Whether a descriptor that goes to `leaf` meets the rule made of `other` as well: there the tree
/// takes the nearer of the two, and here the nearer replaces the other.
bool hides(const Leaf& leaf, const Leaf& other) {
  if (leaf.path == other.path || leaf.path.size() < other.path.size()) return false;
  return std::ranges::equal(other.path.begin(), other.path.end(), leaf.path.begin(),
                            leaf.path.begin() + static_cast<std::ptrdiff_t>(other.path.size()),
                            [](const Entry& wide, const Entry& near) { return near.within(wide); });
}

void collect(const YamlNode& list, const Leaf& parent, const gateway::Domain& domain,
             std::vector<Leaf>& leaves) {
  for (const YamlNode& node : list.children) {
    Leaf leaf{parent.path, node.at, nullptr};
    const YamlNode* below = nullptr;
    Entry& entry = leaf.path.emplace_back();
    for (const auto& [key, value] : gateway::entries_of(node, "a descriptor")) {
      if (key.text == "key") entry.key = value.text;
      if (key.text == "value") entry.value = value.text;
      if (key.text == "descriptors") below = &value;
    }
    const auto found = std::ranges::find(domain.rules, node.at, &EdgeRule::at);
    if (found != domain.rules.end()) leaf.rule = &*found;
    leaves.push_back(leaf);
    if (below) collect(*below, leaf, domain, leaves);
  }
}

/// Why a path cannot be a rule's; empty where it can.
std::string trouble_with(const std::vector<Entry>& path) {
  std::set<std::string_view> keys;
  for (const Entry& entry : path) {
    if (!keys.insert(entry.key).second) return "the key " + entry.key + " twice in one descriptor";
    if (entry.key.find_first_of("{}") != std::string::npos) return "braces in the key " + entry.key;
  }
  return {};
}

NewRule rule_of(const Leaf& leaf) {
  NewRule rule;
  rule.line = leaf.at.line;
  rule.limit = leaf.rule ? print(leaf.rule->quota) : "unlimited";
  rule.shadow = leaf.rule && leaf.rule->shadow;
  if (leaf.rule) rule.lease = leaf.rule->lease;
  for (const Entry& entry : leaf.path) {
    rule.entries.emplace_back(
        entry.key, entry.value.empty() ? std::nullopt : std::optional(with_stars(entry.value)));
    const bool together = leaf.rule && leaf.rule->share_threshold && entry.wild();
    if (!together)
      rule.key += (rule.key.empty() ? "{descriptor." : " {descriptor.") + entry.key + '}';
  }
  if (!leaf.rule || leaf.rule->quota.kind != Quota::Kind::limited) rule.key.clear();
  return rule;
}

std::string name_of(const Leaf& leaf) {
  if (leaf.rule && !leaf.rule->name.empty()) return leaf.rule->name;
  std::string name;
  for (const Entry& entry : leaf.path) {
    name += (name.empty() ? "" : ".") + entry.key + (entry.value.empty() ? "" : "_" + entry.value);
  }
  return name;
}

/// What the file's own `replaces` says, of rules by the names that they have here.
void add_replaced(const Leaf& leaf, const std::multimap<std::string, std::string>& names,
                  NewRule& rule, Conversion& made) {
  for (const std::string& name : leaf.rule->replaces) {
    const auto [first, last] = names.equal_range(name);
    if (first == last)
      made.left_out.push_back({rule.line, "replaces '" + name + "', which no rate_limit here has"});
    for (auto at = first; at != last; ++at) {
      if (at->second != rule.name) rule.replaces.push_back(at->second);
    }
  }
}

}  // namespace

Expected<Conversion, gateway::FileError> convert_envoy(std::string_view text) {
  const auto domain = gateway::read_rule_file(text);
  if (!domain) return domain.error();
  if (!domain->of_envoy) {
    return gateway::FileError{{}, "no descriptors; expected a file of envoyproxy/ratelimit"};
  }
  const auto root = gateway::read_yaml(text);
  std::vector<Leaf> leaves;
  for (const auto& [key, value] : gateway::entries_of(*root, "a file")) {
    if (key.text == "descriptors") collect(value, {}, *domain, leaves);
  }
  // What has no limit is a rule where it keeps descriptors from another.
  const auto says_nothing = [&](const Leaf& leaf) {
    return !leaf.rule && std::ranges::none_of(leaves, [&](const Leaf& other) {
      return other.rule && hides(leaf, other);
    });
  };
  std::vector<Leaf> telling;
  std::ranges::remove_copy_if(leaves, std::back_inserter(telling), says_nothing);

  Conversion made;
  made.domain = made.fresh_name(domain->name);
  made.remarks = {
      "From a file of envoyproxy/ratelimit. There a descriptor meets the one rule where its last",
      "entry ends, in their order; here every rule whose entries it has, in any order and with",
      "others beside them, unless another replaces it."};
  if (made.domain != domain->name)
    made.left_out.push_back({1, "the domain's name " + domain->name});
  std::vector<Leaf> kept;
  std::multimap<std::string, std::string> names;
  for (const Leaf& leaf : telling) {
    if (const std::string trouble = trouble_with(leaf.path); !trouble.empty()) {
      made.left_out.push_back({leaf.at.line, trouble});
      continue;
    }
    if (leaf.rule && leaf.rule->quota_mode) made.left_out.push_back({leaf.at.line, "quota_mode"});
    if (leaf.rule && !leaf.rule->metadata.children.empty()) {
      made.left_out.push_back({leaf.at.line, "metadata"});
    }
    NewRule rule = rule_of(leaf);
    rule.name = made.fresh_name(name_of(leaf));
    if (leaf.rule) names.emplace(leaf.rule->name, rule.name);
    made.rules.push_back(std::move(rule));
    kept.push_back(leaf);
  }
  for (std::size_t at = 0; at < kept.size(); ++at) {
    for (std::size_t other = 0; other < kept.size(); ++other) {
      if (!hides(kept[at], kept[other])) continue;
      made.rules[at].replaces.push_back(made.rules[other].name);
    }
    if (kept[at].rule) add_replaced(kept[at], names, made.rules[at], made);
  }
  return made;
}

}  // namespace weir::cli
