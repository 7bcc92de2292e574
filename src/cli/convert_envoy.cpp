// envoyproxy/ratelimit's trees of descriptors as rules that stand side by side.
#include <algorithm>
#include <compare>
#include <cstddef>
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
  /// Whether the tree goes by this one and not by the other, where both fit.
  bool goes_before(const Entry& other) const {
    if (key != other.key || value.empty() || value == other.value) return false;
    return other.value.empty() ||
           (other.wild() &&
            gateway::Pattern::parse(with_stars(other.value)).value().matches(value));
  }
  auto operator<=>(const Entry&) const = default;
};
using Path = std::vector<Entry>;

struct Leaf {
  Path path;
  gateway::Place at;
  const EdgeRule* rule;  ///< null: what ends here has no limit
  std::vector<std::size_t> replaces{};
};

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

/// The tree's branches: what stands side by side below a path.
std::map<Path, std::vector<Entry>> branches_of(const std::vector<Leaf>& leaves) {
  std::map<Path, std::vector<Entry>> branches;
  for (const Leaf& leaf : leaves) {
    branches[Path(leaf.path.begin(), leaf.path.end() - 1)].push_back(leaf.path.back());
  }
  return branches;
}

/// The tree goes by the nearest entry and never turns back. So what meets a limit's rule, and an
/// entry that goes before one on the way there, does not come to that limit: its own end replaces
/// it, be it none of the file's.
void add_ends(std::vector<Leaf>& leaves) {
  const auto branches = branches_of(leaves);
  std::map<Path, std::size_t> places;
  for (std::size_t at = 0; at < leaves.size(); ++at) places.emplace(leaves[at].path, at);
  const std::size_t count = leaves.size();
  for (std::size_t limit = 0; limit < count; ++limit) {
    if (!leaves[limit].rule) continue;
    const Path path = leaves[limit].path;
    for (std::size_t at = 0; at < path.size(); ++at) {
      if (!path[at].value.empty() && !path[at].wild()) continue;
      const auto step = path.begin() + static_cast<std::ptrdiff_t>(at);
      for (const Entry& other : branches.at(Path(path.begin(), step))) {
        if (!other.goes_before(path[at])) continue;
        Path end = path;
        end[at] = other;
        const auto [place, is_new] = places.emplace(end, leaves.size());
        if (is_new) leaves.push_back({std::move(end), leaves[limit].at, nullptr});
        leaves[place->second].replaces.push_back(limit);
      }
    }
  }
}

/// Why a path cannot be a rule's; empty where it can.
std::string trouble_with(const Path& path) {
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
  rule.whole_descriptor = true;
  rule.limit = leaf.rule ? print(leaf.rule->quota) : "unlimited";
  rule.shadow = leaf.rule && (leaf.rule->shadow || leaf.rule->quota_mode);
  if (leaf.rule) rule.lease = leaf.rule->lease;
  for (const Entry& entry : leaf.path) {
    auto& [key, values] = rule.entries.emplace_back(entry.key, std::vector<std::string>());
    if (!entry.value.empty()) values.push_back(with_stars(entry.value));
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
  add_ends(leaves);

  Conversion made;
  made.domain = made.fresh_name(domain->name);
  made.remarks = {
      "From a file of envoyproxy/ratelimit. There a descriptor's entries have an order; here they",
      "do not."};
  if (made.domain != domain->name)
    made.left_out.push_back({1, "the domain's name " + domain->name});
  std::multimap<std::string, std::string> names;
  std::map<std::size_t, std::size_t> rules;  // of leaves
  for (std::size_t at = 0; at < leaves.size(); ++at) {
    const Leaf& leaf = leaves[at];
    if (!leaf.rule && leaf.replaces.empty()) continue;
    if (const std::string trouble = trouble_with(leaf.path); !trouble.empty()) {
      made.left_out.push_back({leaf.at.line, trouble});
      continue;
    }
    if (leaf.rule && leaf.rule->quota_mode) {
      made.left_out.push_back({leaf.at.line, "quota_mode; here the rule refuses nobody"});
    }
    if (leaf.rule && !leaf.rule->metadata.children.empty()) {
      made.left_out.push_back({leaf.at.line, "metadata"});
    }
    NewRule rule = rule_of(leaf);
    rule.name = made.fresh_name(name_of(leaf));
    if (leaf.rule) names.emplace(leaf.rule->name, rule.name);
    rules.emplace(at, made.rules.size());
    made.rules.push_back(std::move(rule));
  }
  for (const auto& [at, place] : rules) {
    NewRule& rule = made.rules[place];
    for (const std::size_t other : leaves[at].replaces) {
      if (rules.contains(other)) rule.replaces.push_back(made.rules[rules.at(other)].name);
    }
    if (leaves[at].rule) add_replaced(leaves[at], names, rule, made);
  }
  return made;
}

}  // namespace weir::cli
