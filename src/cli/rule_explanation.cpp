#include "cli/rule_explanation.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "gateway/told_call.hpp"

namespace weir::cli {
namespace {

using gateway::Attribute;
using gateway::Call;
using gateway::Condition;
using gateway::EdgeRule;
using gateway::Match;
using gateway::Quota;
using gateway::ToldCall;

/// "name=value"; the first '=' counts.
Expected<std::pair<std::string_view, std::string_view>, InputError> pair_of(const Input& input) {
  const std::size_t equals = input.text.find('=');
  if (equals == 0 || equals == std::string_view::npos) {
    return InputError{std::string(input.name) + " '" + printable(input.text) +
                      "': expected NAME=VALUE"};
  }
  return std::pair(input.text.substr(0, equals), input.text.substr(equals + 1));
}

/// Adds texts "name=value" to the list.
std::optional<InputError> add_pairs(const char* what, const std::vector<std::string>& texts,
                                    std::vector<ToldCall::Pair>& list) {
  for (const std::string& text : texts) {
    const auto pair = pair_of({.name = what, .text = text});
    if (!pair) return pair.error();
    list.push_back({std::string(pair->first), std::string(pair->second)});
  }
  return {};
}

Expected<ToldCall, InputError> told_by(const CallWords& words) {
  ToldCall told;
  told.method = words.method;
  told.uri = words.uri;
  told.host = words.host;
  told.user = words.user;
  if (!words.ip.empty()) {
    const auto ip = gateway::parse_address(words.ip);
    if (!ip) {
      return InputError{
          "--ip '" + printable(words.ip) + "': expected " + std::string(ip.error().expected),
          words.ip, ip.error().column - 1};
    }
    told.ip = *ip;
  }
  if (auto error = add_pairs("--header", words.headers, told.headers)) return *std::move(error);
  if (auto error = add_pairs("entry", words.entries, told.entries)) return *std::move(error);
  return told;
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
  if (!condition.holds(call)) {
    return "the descriptor has " + std::to_string(call.descriptor.size()) +
           " entries; expected those of the rule and no others";
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
  auto read = told_by(words);
  if (!read) return read.error();
  ToldCall told = std::move(read).value();
  const Call call = told.call(domain.clients);
  std::vector<Match> matches;
  index->match(call, matches);
  CallStanding found{.domain = domain.name};
  if (domain.of_envoy) {
    for (const Match& match : matches) found.rules.push_back(standing_of(match, matches));
    if (matches.empty()) found.nowhere = nowhere(domain, call.descriptor);
    return found;
  }
  for (const EdgeRule& rule : domain.rules) {
    const auto met = std::ranges::find(matches, &rule, &Match::rule);
    found.rules.push_back(met == matches.end() ? unmet_standing(rule, call)
                                               : standing_of(*met, matches));
  }
  return found;
}

}  // namespace weir::cli
