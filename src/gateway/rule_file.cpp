#include "gateway/rule_file.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "gateway/override_check.hpp"
#include "gateway/route.hpp"
#include "gateway/suggestion.hpp"
#include "limit/characters.hpp"
#include "weir/duration.hpp"

namespace weir::gateway {
namespace {

constexpr std::size_t most_rules = 100'000;
constexpr Cost largest_cost = 1'000'000'000;

[[noreturn]] void fail(const YamlNode& node, std::string message) {
  throw FileError{node.at, std::move(message)};
}

/// A place within a single value: where it stands in one line, as written.
Place within(const YamlNode& node, std::size_t column) {
  return {node.at.line, node.at.column + (node.quoted ? 1 : 0) + column - 1};
}

/// Letters, digits, '_', '-', '.' and ':': what names a rule in a store, in metrics and in fields.
const std::string& name_of(const YamlNode& node, std::string_view field) {
  const std::string& text = text_of(node, field);
  const bool good = !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':';
  });
  if (!good) {
    fail(node, std::string(field) + " is '" + text.substr(0, 64) +
                   "'; expected 1 to 64 letters, digits, '_', '-', '.' or ':'");
  }
  return text;
}

/// One for each item, of the text that `spell` gives for it.
template <typename Spell>
std::vector<Pattern> patterns_of(const YamlNode& node, std::string_view field, const Spell& spell) {
  std::vector<Pattern> patterns;
  for (const YamlNode* item : items_of(node)) {
    auto pattern = Pattern::parse(spell(*item));
    if (!pattern) {
      throw FileError{within(*item, pattern.error().column),
                      std::string(field) + ": " + pattern.error().message};
    }
    patterns.push_back(std::move(pattern).value());
  }
  if (patterns.empty()) fail(node, std::string(field) + " is an empty list: nothing would match");
  return patterns;
}

std::vector<Pattern> patterns_of(const YamlNode& node, std::string_view field) {
  const auto as_it_is = [&](const YamlNode& item) -> std::string_view {
    return text_of(item, field);
  };
  return patterns_of(node, field, as_it_is);
}

/// In the spelling that calls have.
std::vector<Pattern> hosts_of(const YamlNode& node) {
  std::string lower;
  return patterns_of(node, "host", [&](const YamlNode& item) {
    const std::string& said = text_of(item, "host");
    const std::string_view host = host_of(said, lower);
    if (host.size() + 1 < said.size()) {
      fail(item, "host is '" + said + "'; expected a name without a port");
    }
    return host;
  });
}

NetworkSet networks_of(const YamlNode& node, std::string_view field) {
  std::vector<Network> networks;
  for (const YamlNode* item : items_of(node)) {
    const auto network = parse_network(text_of(*item, field));
    if (!network) {
      throw FileError{within(*item, network.error().column),
                      std::string(field) + ": " + network.error().message};
    }
    networks.push_back(*network);
  }
  if (networks.empty()) fail(node, std::string(field) + " is an empty list: nothing would match");
  return NetworkSet(networks);
}

Condition condition_of(const YamlNode& node) {
  Fields fields(node, "match");
  Condition condition;
  if (const auto* at = fields.find("route")) condition.routes = patterns_of(*at, "route");
  if (const auto* at = fields.find("method")) condition.methods = patterns_of(*at, "method");
  if (const auto* at = fields.find("host")) condition.hosts = hosts_of(*at);
  if (const auto* at = fields.find("ip")) condition.networks = networks_of(*at, "ip");
  if (const auto* at = fields.find("header")) {
    for (const auto& [key, value] : entries_of(*at, "header")) {
      if (key.text.empty()) fail(key, "a header's name is empty");
      condition.headers.push_back({in_lower_case(key.text), patterns_of(value, key.text)});
    }
  }
  if (const auto* at = fields.find("descriptor")) {
    for (const auto& [key, value] : entries_of(*at, "descriptor")) {
      std::vector<Pattern> values;
      if (value.kind != YamlNode::Kind::null) values = patterns_of(value, key.text);
      condition.entries.push_back({key.text, std::move(values)});
    }
  }
  if (const auto* at = fields.find("whole_descriptor")) {
    condition.whole_descriptor = truth_of(*at, "whole_descriptor");
    if (condition.entries.empty())
      fail(*at, "whole_descriptor stands beside a descriptor; expected that too");
  }
  fields.finish();
  return condition;
}

template <typename Value>
struct Word {
  std::string_view word;
  Value value;
};

template <typename Value>
Value word_of(const YamlNode& node, std::string_view field,
              std::initializer_list<Word<Value>> words) {
  const std::string& text = text_of(node, field);
  std::string known;
  std::vector<std::string_view> all;
  for (const Word<Value>& word : words) {
    if (word.word == text) return word.value;
    known += (known.empty() ? "" : ", ") + std::string(word.word);
    all.emplace_back(word.word);
  }
  fail(node, std::string(field) + " is '" + text.substr(0, 64) + "'; expected one of " + known +
                 suggestion(text, all));
}

KeyTemplate key_of(const YamlNode& node) {
  auto key = KeyTemplate::read(text_of(node, "key"));
  if (!key) throw FileError{within(node, key.error().column), "key: " + key.error().message};
  return std::move(key).value();
}

EdgeRule rule_of(const YamlNode& node, const Grouping& grouping) {
  Fields fields(node, "a rule");
  EdgeRule rule;
  rule.at = node.at;
  rule.name = name_of(fields.need("name"), "name");
  rule.identity = rule.label = rule.name;
  if (const auto* at = fields.find("match")) rule.condition = condition_of(*at);
  if (const auto* at = fields.find("key")) rule.key = key_of(*at);
  if (const auto* at = fields.find("missing")) {
    rule.missing = word_of<WhenMissing>(*at, "missing",
                                        {{"skip", WhenMissing::skip},
                                         {"share", WhenMissing::share},
                                         {"refuse", WhenMissing::refuse}});
  }
  rule.quota = read_quota(fields.need("limit"), "limit");
  if (const auto* at = fields.find("cost")) {
    rule.cost = number_of(*at, "cost", {0, largest_cost});
    if (!trouble_with_cost(rule.cost, rule.quota).empty()) {
      fail(*at, "cost is " + at->text + ", which '" + rule.quota.limit->text() + "' never grants");
    }
  }
  if (const auto* at = fields.find("hold")) {
    const auto hold = parse_duration(text_of(*at, "hold"));
    if (!hold || *hold > longest_hold) {
      fail(*at, "hold is '" + at->text + "'; expected a duration of a minute at most, as 50ms");
    }
    rule.hold = *hold;
  }
  if (const auto* at = fields.find("without_store")) {
    rule.without_store = word_of<WithoutStore>(*at, "without_store",
                                               {{"share", WithoutStore::share},
                                                {"open", WithoutStore::open},
                                                {"closed", WithoutStore::closed}});
  }
  if (const auto* at = fields.find("shadow")) rule.shadow = truth_of(*at, "shadow");
  if (const auto* at = fields.find("candidates")) {
    for (const YamlNode* item : items_of(*at)) {
      rule.candidates.push_back(read_quota(*item, "a candidate"));
      const std::string trouble = trouble_with_cost(rule.cost, rule.candidates.back());
      if (!trouble.empty()) fail(*item, "a candidate: " + trouble);
    }
    if (rule.candidates.size() > most_candidates) {
      fail(*at, "more than " + std::to_string(most_candidates) + " candidates");
    }
  }
  if (const auto* at = fields.find("overrides")) {
    for (const auto& [key, value] : entries_of(*at, "overrides")) {
      Quota quota = read_quota(value, "an override");
      const std::string trouble = trouble_with_override(rule, grouping, key.text, quota);
      if (!trouble.empty()) fail(key, "an override: " + trouble);
      rule.overrides.emplace(key.text, std::move(quota));
    }
  }
  if (const auto* at = fields.find("replaces")) {
    for (const YamlNode* item : items_of(*at)) {
      rule.replaces.push_back(name_of(*item, "replaces"));
      if (rule.replaces.back() == rule.name) fail(*item, "a rule that replaces itself");
    }
  }
  read_lease(fields, rule);
  fields.finish();
  return rule;
}

/// Where each rule stands.
using PlaceOf = std::map<std::string_view, std::size_t>;

PlaceOf places_of(const std::vector<EdgeRule>& rules) {
  PlaceOf place_of;
  for (std::size_t at = 0; at < rules.size(); ++at) place_of.emplace(rules[at].name, at);
  return place_of;
}

/// Only names that are there can be replaced.
void check_replaced(const std::vector<EdgeRule>& rules, const PlaceOf& place_of) {
  for (const EdgeRule& rule : rules) {
    for (const std::string& name : rule.replaces) {
      if (place_of.contains(name)) continue;
      std::vector<std::string_view> names;
      for (const auto& [known, at] : place_of) names.push_back(known);
      throw FileError{rule.at, "replaces names '" + name + "', which no rule of this domain has" +
                                   suggestion(name, names)};
    }
  }
}

/// Of rules that replace each other in a circle none would count. Takes away those that nobody
/// replaces, again and again: what is left stands in a circle or behind one.
void check_circles(const std::vector<EdgeRule>& rules, const PlaceOf& place_of) {
  std::vector<std::size_t> replacers(rules.size());
  for (const EdgeRule& rule : rules) {
    for (const std::string& name : rule.replaces) ++replacers[place_of.at(name)];
  }
  std::vector<std::size_t> free;
  for (std::size_t at = 0; at < rules.size(); ++at) {
    if (replacers[at] == 0) free.push_back(at);
  }
  for (std::size_t next = 0; next < free.size(); ++next) {
    for (const std::string& name : rules[free[next]].replaces) {
      if (--replacers[place_of.at(name)] == 0) free.push_back(place_of.at(name));
    }
  }
  if (free.size() == rules.size()) return;
  std::vector<std::size_t> replacer(rules.size());
  std::size_t at = 0;
  for (std::size_t by = 0; by < rules.size(); ++by) {
    if (replacers[by] == 0) continue;
    for (const std::string& name : rules[by].replaces) replacer[at = place_of.at(name)] = by;
  }
  // Backwards so many times one is in the circle.
  for (std::size_t times = 0; times < rules.size(); ++times) at = replacer[at];
  throw FileError{rules[at].at, "'" + rules[at].name + "' and '" + rules[replacer[at]].name +
                                    "' replace each other, in a circle: neither would count"};
}

Clients clients_of(const YamlNode& node) {
  Fields fields(node, "clients");
  Clients clients = usual_clients();
  if (const auto* at = fields.find("ip_from")) {
    clients.ip_from = word_of<ClientFrom>(*at, "ip_from",
                                          {{"peer", ClientFrom::peer},
                                           {"x-forwarded-for", ClientFrom::x_forwarded_for},
                                           {"forwarded", ClientFrom::forwarded}});
  }
  if (const auto* at = fields.find("trusted_proxies")) {
    clients.trusted = networks_of(*at, "trusted_proxies");
  }
  if (const auto* at = fields.find("ipv4_prefix")) {
    clients.grouping.v4_bits = static_cast<std::uint8_t>(number_of(*at, "ipv4_prefix", {8, 32}));
  }
  if (const auto* at = fields.find("ipv6_prefix")) {
    clients.grouping.v6_bits = static_cast<std::uint8_t>(number_of(*at, "ipv6_prefix", {16, 128}));
  }
  if (const auto* at = fields.find("user_header")) {
    clients.user_header = in_lower_case(text_of(*at, "user_header"));
    if (clients.user_header.empty()) {
      fail(*at, "user_header is empty; expected a header's name, as X-User");
    }
  }
  fields.finish();
  return clients;
}

}  // namespace

Clients usual_clients() {
  Clients clients;
  clients.trusted =
      NetworkSet({parse_network("127.0.0.0/8").value(), parse_network("::1").value()});
  return clients;
}

std::string print(const Quota& quota) {
  switch (quota.kind) {
    case Quota::Kind::unlimited: return "unlimited";
    case Quota::Kind::blocked: return "blocked";
    case Quota::Kind::limited: break;
  }
  return quota.limit->text();
}

Expected<Quota, LimitError> read_quota(std::string_view text) {
  if (text == "unlimited") return Quota{.kind = Quota::Kind::unlimited};
  if (text == "blocked") return Quota{.kind = Quota::Kind::blocked};
  auto limit = Limit::parse(text);
  if (!limit) return limit.error();
  if (!limit->starts_full()) {
    return LimitError{1,
                      "initial is for a single limiter; a key must start full, or dropping its "
                      "state would change answers"};
  }
  return Quota{.limit = std::move(limit).value()};
}

Quota read_quota(const YamlNode& node, std::string_view field) {
  auto quota = read_quota(text_of(node, field));
  if (quota) return std::move(quota).value();
  throw FileError{within(node, quota.error().column),
                  std::string(field) + ": " + quota.error().message};
}

void read_answers(Fields& fields, Domain& domain) {
  if (const auto* at = fields.find("fields")) {
    domain.dialect = word_of<http::RateDialect>(*at, "fields",
                                                {{"ietf", http::RateDialect::ietf},
                                                 {"draft03", http::RateDialect::draft03},
                                                 {"draft06", http::RateDialect::draft06},
                                                 {"legacy", http::RateDialect::legacy},
                                                 {"none", http::RateDialect::none}});
  }
  if (const auto* at = fields.find("dynamic_metadata")) {
    domain.dynamic_metadata = truth_of(*at, "dynamic_metadata");
  }
}

void read_lease(Fields& fields, EdgeRule& rule) {
  const YamlNode* const at = fields.find("lease");
  if (!at) return;
  rule.lease = number_of(*at, "lease", {1, largest_lease});
  if (rule.shadow || rule.quota_mode) {
    fail(*at, "lease: a rule in shadow or quota mode refuses nobody by itself; expected none");
  }
  const auto check = [&](const Quota& quota) {
    if (!quota.limit || quota.limit->leasable()) return;
    fail(*at, "lease: " + quota.limit->text() +
                  " grants nothing ahead; expected a limit without leaky-bucket, concurrency and "
                  "block");
  };
  check(rule.quota);
  for (const auto& [key, quota] : rule.overrides) check(quota);
}

Domain read_own_file(const YamlNode& root) {
  Fields fields(root, "a rule file");
  Domain domain;
  const YamlNode* const named = fields.find("domain");
  domain.name = named ? name_of(*named, "domain") : "default";
  domain.at = named ? named->at : Place{1, 1};
  const YamlNode* const clients = fields.find("clients");
  domain.clients = clients ? clients_of(*clients) : usual_clients();
  read_answers(fields, domain);
  const YamlNode& rules = fields.need("rules");
  std::map<std::string, Place> known;
  for (const YamlNode& rule : list_of(rules, "rules")) {
    domain.rules.push_back(rule_of(rule, domain.clients.grouping));
    const EdgeRule& added = domain.rules.back();
    const auto [first, fresh] = known.emplace(added.name, added.at);
    if (!fresh) {
      fail(rule, "the name '" + added.name + "' is that of the rule in line " +
                     std::to_string(first->second.line) + " already");
    }
    if (domain.rules.size() > most_rules) fail(rule, "more than 100000 rules");
  }
  const PlaceOf place_of = places_of(domain.rules);
  check_replaced(domain.rules, place_of);
  check_circles(domain.rules, place_of);
  fields.finish();
  return domain;
}

Expected<Domain, FileError> read_rule_file(std::string_view text) {
  auto root = read_yaml(text);
  if (!root) return root.error();
  try {
    if (root->kind == YamlNode::Kind::map) {
      for (std::size_t at = 0; at < root->children.size(); at += 2) {
        if (root->children[at].text == "descriptors") return read_envoy_file(*root);
      }
    }
    return read_own_file(*root);
  } catch (const FileError& error) {
    return error;
  }
}

}  // namespace weir::gateway
