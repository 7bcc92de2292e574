#include "cli/rule_explanation.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "gateway/route.hpp"
#include "limit/characters.hpp"

namespace weir::cli {
namespace {

using gateway::Attribute;
using gateway::Call;
using gateway::Condition;
using gateway::EdgeRule;
using gateway::Match;
using gateway::Quota;

/// What a call is made of: it sees these.
struct Parts {
  std::vector<std::pair<std::string, std::string>> header_texts{};
  std::vector<gateway::Header> headers{};
  std::vector<gateway::Entry> entries{};
  std::string route{};
  Call call{};
};

std::optional<std::string_view> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

/// "name=value"; the first '=' counts.
Expected<std::pair<std::string_view, std::string_view>, InputError> pair_of(const Input& input) {
  const std::size_t equals = input.text.find('=');
  if (equals == 0 || equals == std::string_view::npos) {
    return InputError{std::string(input.name) + " '" + printable(input.text) +
                      "': expected NAME=VALUE"};
  }
  return std::pair(input.text.substr(0, equals), input.text.substr(equals + 1));
}

std::optional<InputError> add_headers(const CallWords& words, Parts& parts) {
  for (const std::string& text : words.headers) {
    const auto pair = pair_of({.name = "--header", .text = text});
    if (!pair) return pair.error();
    parts.header_texts.emplace_back(in_lower_case(pair->first), pair->second);
  }
  for (const auto& [name, value] : parts.header_texts) parts.headers.push_back({name, value});
  parts.call.headers = parts.headers;
  return {};
}

std::optional<InputError> fill(const CallWords& words, const gateway::Clients& clients,
                               Parts& parts) {
  Call& call = parts.call;
  call.method = unless_empty(words.method);
  call.host = unless_empty(words.host);
  call.user = unless_empty(words.user);
  call.uri = unless_empty(words.uri);
  if (call.uri) {
    parts.route = gateway::route_of(*call.uri);
    call.uri = parts.route;
  }
  if (!words.ip.empty()) {
    const auto ip = gateway::parse_address(words.ip);
    if (!ip) {
      return InputError{
          "--ip '" + printable(words.ip) + "': expected " + std::string(ip.error().expected),
          words.ip, ip.error().column - 1};
    }
    call.ip = *ip;
  }
  if (auto error = add_headers(words, parts)) return error;
  for (const gateway::Header& header : parts.headers) {
    if (!call.user && header.name == clients.user_header) call.user = header.value;
  }
  for (const std::string& text : words.entries) {
    const auto pair = pair_of({.name = "entry", .text = text});
    if (!pair) return pair.error();
    parts.entries.push_back({pair->first, pair->second});
  }
  call.descriptor = parts.entries;
  return {};
}

std::string listed(const std::vector<gateway::Pattern>& patterns) {
  std::string text;
  for (const gateway::Pattern& pattern : patterns) {
    text += (text.empty() ? "" : " or ") + pattern.text();
  }
  return text.empty() ? "any" : text;
}

/// "the route is '/a'; expected /b": the condition has this one part.
std::string unmet_part(const Call& call, const Attribute& attribute, const std::string& wanted) {
  std::string scratch;
  const gateway::Grouping alone{.v4_bits = 32, .v6_bits = 128};
  const auto value = gateway::value_of(attribute, call, {scratch, alone});
  const std::string what = print(attribute);
  const std::string expected = "; expected " + wanted;
  return value ? what + " is '" + std::string(*value) + "'" + expected
               : "the call says no " + what + expected;
}

/// The first part of the condition that does not hold; empty where all do.
std::string unmet(const Condition& condition, const Call& call) {
  using enum Attribute::Kind;
  const auto fails = [&](const Condition& part) { return !part.holds(call); };
  if (fails({.routes = condition.routes})) {
    return unmet_part(call, {uri}, listed(condition.routes));
  }
  if (fails({.methods = condition.methods})) {
    return unmet_part(call, {method}, listed(condition.methods));
  }
  if (fails({.hosts = condition.hosts})) return unmet_part(call, {host}, listed(condition.hosts));
  for (const Condition::OfHeader& wanted : condition.headers) {
    if (fails({.headers = {wanted}})) {
      return unmet_part(call, {header, wanted.name}, listed(wanted.values));
    }
  }
  if (fails({.networks = condition.networks})) {
    return unmet_part(call, {ip}, "one of the rule's networks");
  }
  for (const Condition::OfEntry& wanted : condition.entries) {
    if (fails({.entries = {wanted}})) {
      return unmet_part(call, {descriptor, wanted.key}, listed(wanted.values));
    }
  }
  return {};
}

std::string name_of(const EdgeRule& rule) { return rule.name.empty() ? rule.label : rule.name; }

RuleStanding standing_of(const Match& match, const std::vector<Match>& matches) {
  const EdgeRule& rule = *match.rule;
  RuleStanding standing{.name = name_of(rule),
                        .line = rule.at.line,
                        .key = match.key,
                        .limit = print(*match.quota),
                        .overridden = match.quota != &rule.quota,
                        .refused = match.refused,
                        .shadow = rule.shadow};
  for (const Quota& candidate : rule.candidates) standing.candidates.push_back(print(candidate));
  for (const Match& other : matches) {
    if (std::ranges::find(other.rule->replaces, rule.name) == other.rule->replaces.end()) continue;
    standing.replaced_by.push_back(name_of(*other.rule));
  }
  return standing;
}

/// Of a rule whose condition may hold all the same: then the call lacks what its key is made of.
RuleStanding unmet_standing(const EdgeRule& rule, const Call& call) {
  RuleStanding standing{.name = name_of(rule), .line = rule.at.line};
  standing.unmet = unmet(rule.condition, call);
  if (!standing.unmet.empty()) return standing;
  std::string key;
  const Attribute* const lacking = rule.key.append(key, call, {});
  standing.unmet = "the call says no " + (lacking ? print(*lacking) : std::string("such thing")) +
                   ", which the rule counts by";
  return standing;
}

/// Why a descriptor leads to no rule.
std::string nowhere(const gateway::Domain& domain, std::span<const gateway::Entry> entries) {
  if (entries.empty()) return "an Envoy file judges descriptors; expected KEY=VALUE";
  const std::size_t steps = domain.tree.steps(entries);
  if (steps == entries.size()) return "the descriptor ends where the file has no rate_limit";
  return "no descriptor of the file has " + std::string(entries[steps].key) + "=" +
         std::string(entries[steps].value) + " as entry " + std::to_string(steps + 1) +
         " of the path";
}

InputError no_domain(const gateway::RuleSet& rules, const std::string& asked) {
  std::string known;
  for (const gateway::Domain& domain : rules.domains()) {
    known += (known.empty() ? "" : ", ") + domain.name;
  }
  if (asked.empty()) return {"there are several domains; expected --domain and one of " + known};
  return {"--domain '" + printable(asked) + "': expected one of " + known};
}

}  // namespace

Expected<CallStanding, InputError> stand(const gateway::RuleSet& rules, const CallWords& words) {
  const gateway::RuleIndex* const index =
      words.domain.empty() ? rules.usual() : rules.find(words.domain);
  if (!index) return no_domain(rules, words.domain);
  const gateway::Domain& domain = index->domain();
  Parts parts;
  if (auto error = fill(words, domain.clients, parts)) return std::move(*error);
  std::vector<Match> matches;
  index->match(parts.call, matches);
  CallStanding found{.domain = domain.name};
  if (domain.of_envoy) {
    for (const Match& match : matches) found.rules.push_back(standing_of(match, matches));
    if (matches.empty()) found.nowhere = nowhere(domain, parts.call.descriptor);
    return found;
  }
  for (const EdgeRule& rule : domain.rules) {
    const auto met = std::ranges::find(matches, &rule, &Match::rule);
    found.rules.push_back(met == matches.end() ? unmet_standing(rule, parts.call)
                                               : standing_of(*met, matches));
  }
  return found;
}

}  // namespace weir::cli
