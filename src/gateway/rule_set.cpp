#include "gateway/rule_set.hpp"

#include <algorithm>

namespace weir::gateway {
namespace {

/// What has no value of its own stands between these in a descriptor's key.
constexpr ReservedBytes reserved("=,");

/// "key=value,key=value": where its rule's neighbours count together, the pattern for the value.
std::string key_of(const EdgeRule& rule, const Call& call,
                   std::span<const std::string* const> met_by) {
  std::string key;
  for (std::size_t at = 0; at < call.descriptor.size(); ++at) {
    const Entry& entry = call.descriptor[at];
    const std::string* const pattern = rule.share_threshold ? met_by[at] : nullptr;
    if (at > 0) key += ',';
    append_escaped(key, entry.key, reserved);
    key += '=';
    append_escaped(key, pattern ? *pattern : entry.value, reserved);
  }
  return key;
}

/// The route, where the rule is for that one alone.
std::optional<std::string_view> only_route(const EdgeRule& rule) {
  const std::vector<Pattern>& routes = rule.condition.routes;
  return routes.size() == 1 ? routes.front().only_match() : std::nullopt;
}

}  // namespace

RuleIndex::RuleIndex(const Domain& domain) : domain_(&domain) {
  if (domain.of_envoy) return;
  for (const EdgeRule& rule : domain.rules) {
    const auto route = only_route(rule);
    (route ? by_route_[*route] : others_).push_back(&rule);
  }
}

void RuleIndex::match(const Call& call, std::vector<Match>& matches) const {
  if (call.given) {
    return matches.push_back({.rule = &domain_->given,
                              .quota = call.given,
                              .key = domain_->name + '/' + key_of(domain_->given, call, {})});
  }
  if (domain_->of_envoy) return match_descriptor(call, matches);
  if (call.uri) {
    const auto routed = by_route_.find(*call.uri);
    if (routed != by_route_.end()) {
      for (const EdgeRule* rule : routed->second) consider(*rule, call, matches);
    }
  }
  for (const EdgeRule* rule : others_) consider(*rule, call, matches);
}

void RuleIndex::match_descriptor(const Call& call, std::vector<Match>& matches) const {
  const auto found = domain_->tree.find(call.descriptor);
  if (!found) return;
  const EdgeRule& rule = domain_->rules[found->rule];
  matches.push_back(
      {.rule = &rule, .quota = &rule.quota, .key = key_of(rule, call, found->met_by)});
}

void RuleIndex::consider(const EdgeRule& rule, const Call& call,
                         std::vector<Match>& matches) const {
  if (!rule.condition.holds(call)) return;
  Match match{.rule = &rule, .quota = &rule.quota};
  if (rule.key.append(match.key, call, domain_->clients.grouping)) {
    if (rule.missing == WhenMissing::skip) return;
    match.refused = rule.missing == WhenMissing::refuse;
    match.key = "%missing";  // no value has a bare '%'
  }
  const auto own = rule.overrides.find(match.key);
  if (own != rule.overrides.end()) match.quota = &own->second;
  matches.push_back(std::move(match));
}

bool drop_replaced(std::vector<Match>& matches) {
  std::vector<std::string_view> names;
  for (const Match& match : matches) {
    names.insert(names.end(), match.rule->replaces.begin(), match.rule->replaces.end());
  }
  const auto is_replaced = [&](const Match& match) {
    return std::ranges::find(names, match.rule->name) != names.end();
  };
  return std::erase_if(matches, is_replaced) > 0;
}

RuleSet::RuleSet(std::vector<Domain> domains) : domains_(std::move(domains)) {
  for (Domain& domain : domains_) {
    domain.given.identity = "%given";
    domain.given.label = "(descriptor)";
  }
  for (const Domain& domain : domains_) indexes_.emplace(domain.name, RuleIndex(domain));
}

const RuleIndex* RuleSet::find(std::string_view domain) const {
  const auto found = indexes_.find(domain);
  return found != indexes_.end() ? &found->second : nullptr;
}

const RuleIndex* RuleSet::usual() const {
  return indexes_.size() == 1 ? &indexes_.begin()->second : find("default");
}

}  // namespace weir::gateway
