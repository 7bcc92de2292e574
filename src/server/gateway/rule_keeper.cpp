#include "server/gateway/rule_keeper.hpp"

#include <algorithm>
#include <utility>

#include "gateway/rule_file.hpp"

namespace weir::server {
namespace {

using gateway::Domain;
using gateway::EdgeRule;
using gateway::Quota;

constexpr std::size_t most_identities = 1'000'000;

/// A rule's states are named by domain and identity, in this table and in a store.
std::string states_name(const Domain& domain, const EdgeRule& rule) {
  std::string name;
  gateway::append_escaped(name, domain.name, gateway::reserved_in_identities);
  return name + '/' + rule.identity;
}

}  // namespace

Expected<std::vector<Domain>, std::string> RuleKeeper::read() const {
  auto domains = gateway::read_rule_files(options_.files);
  if (!domains) return domains.error();
  std::vector<Domain> all = std::move(domains).value();
  if (!options_.rate.empty()) {
    auto rate = gateway::read_rate(options_.rate);
    if (!rate) {
      return "--rate '" + options_.rate + "', column " + std::to_string(rate.error().column) +
             ": " + rate.error().message;
    }
    const auto same = [&](const Domain& domain) { return domain.name == rate->name; };
    if (std::ranges::any_of(all, same)) {
      return "--rate makes the domain '" + rate->name + "', which a rule file has already";
    }
    all.push_back(std::move(rate).value());
  }
  return all;
}

Expected<std::shared_ptr<const Generation>, StartError> RuleKeeper::load() {
  // What changes while it is read is seen as a change afterwards.
  read_stamps_ = seen_stamps_ = gateway::stamps_of(options_.files);
  auto domains = read();
  if (!domains) return StartError{domains.error()};
  std::vector<Domain> all = std::move(domains).value();
  LaidOverrides overrides = overrides_;
  overrides.lay(all);
  const auto generation = make(std::move(all));
  if (!generation) return generation.error();
  overrides_ = std::move(overrides);
  return std::shared_ptr<const Generation>(*generation);
}

Expected<std::shared_ptr<const Generation>, StartError> RuleKeeper::lay(LaidOverrides overrides) {
  std::vector<Domain> domains = in_force_->rules.domains();
  overrides_.lift(domains);
  overrides.lay(domains);
  const auto generation = make(std::move(domains));
  if (!generation) return generation.error();
  (*generation)->read_at = in_force_->read_at;
  overrides_ = std::move(overrides);
  return std::shared_ptr<const Generation>(*generation);
}

Expected<std::shared_ptr<Generation>, StartError> RuleKeeper::make(std::vector<Domain> domains) {
  auto generation = std::make_shared<Generation>(made_ + 1, std::move(domains));
  for (Domain& domain : generation->rules.domains()) {
    if (auto error = bind(domain)) return StartError{*std::move(error)};
  }
  for (std::size_t at = 0; at < units_of_calls.size(); ++at) {
    const std::string unit(units_of_calls[at]);
    const auto states = rules_.follow("%given/" + unit, Limit::of("fixed-window 1/" + unit));
    if (!states) return StartError{"limits of calls: " + states.error().message};
    generation->states_of_calls[at] = *states;
  }
  ++made_;
  return generation;
}

std::optional<std::string> RuleKeeper::bind(Quota& quota, const std::string& name) {
  if (quota.kind != Quota::Kind::limited) return {};
  auto states = rules_.follow(name, *quota.limit);
  if (!states) return name + ": " + states.error().message;
  quota.states = *states;
  return {};
}

std::optional<std::string> RuleKeeper::bind(Domain& domain) {
  if (numbers_.size() + domain.rules.size() >= most_identities) {
    return "rule files have brought a million rules since the start; restart";
  }
  const auto number = [&](const std::string& name) {
    return numbers_.emplace(name, numbers_.size()).first->second;
  };
  domain.given.number = number(states_name(domain, domain.given));
  for (EdgeRule& rule : domain.rules) {
    const std::string name = states_name(domain, rule);
    rule.number = number(name);
    if (auto error = bind(rule.quota, name)) return error;
    // Tried beside it, or for some keys alone: states of their own, named by their numbers, too.
    for (Quota& candidate : rule.candidates) {
      if (!candidate.limit) continue;
      if (auto error = bind(candidate, name + '~' + candidate.limit->text())) return error;
    }
    for (auto& [key, quota] : rule.overrides) {
      if (!quota.limit) continue;
      if (auto error = bind(quota, name + '!' + quota.limit->text())) return error;
    }
  }
  return {};
}

std::vector<Table::Succession> RuleKeeper::put_in_force(
    std::shared_ptr<const Generation> generation, Instant now) {
  std::map<std::uint64_t, const weir::Rule*> before;
  if (in_force_) {
    for (const Domain& domain : in_force_->rules.domains()) {
      for (const EdgeRule& rule : domain.rules) before.emplace(rule.number, rule.quota.states);
    }
  }
  std::vector<Table::Succession> successions;
  for (const Domain& domain : generation->rules.domains()) {
    for (const EdgeRule& rule : domain.rules) {
      const auto known = before.find(rule.number);
      if (known == before.end() || !known->second || !rule.quota.states) continue;
      if (known->second == rule.quota.states) continue;
      // What was used stays used: a raised limit denies nothing that the old one allowed.
      successions.push_back({*known->second, *rule.quota.states, Inherit::additive, now});
    }
  }
  in_force_ = std::move(generation);
  return successions;
}

bool RuleKeeper::changed() {
  if (options_.files.empty()) return false;
  const std::string before = std::exchange(seen_stamps_, gateway::stamps_of(options_.files));
  return seen_stamps_ != read_stamps_ && seen_stamps_ == before;
}

}  // namespace weir::server
