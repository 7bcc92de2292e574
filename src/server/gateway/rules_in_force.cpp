#include "server/gateway/rules_in_force.hpp"

#include <span>
#include <utility>

#include "server/gateway/rule_metrics.hpp"
#include "server/parked.hpp"

namespace weir::server {

std::uint64_t RulesInForce::generation() const noexcept {
  return keeper_.in_force() ? keeper_.in_force()->number : 0;
}

std::optional<StartError> RulesInForce::load() {
  const auto generation = keeper_.load();
  if (!generation) return generation.error();
  put_in_force(*generation);
  return {};
}

void RulesInForce::put_in_force(const std::shared_ptr<const Generation>& generation) {
  const std::span all(of_.workers);
  while_parked(running_ ? all : all.first(0), [&] {
    for (const Table::Succession& succession :
         keeper_.put_in_force(generation, of_.service.clock.now())) {
      of_.service.table.succeed(succession, [] {});
    }
    for (const auto& worker : of_.workers) {
      worker->decider().renew(generation, keeper_.identities());
    }
  });
}

std::optional<StartError> RulesInForce::lay(LaidOverrides overrides) {
  const auto generation = keeper_.lay(std::move(overrides));
  if (!generation) return generation.error();
  put_in_force(*generation);
  return {};
}

OverrideReport RulesInForce::override_key(OverrideWish&& wish) {
  LaidOverrides overrides = keeper_.overrides();
  std::optional<Instant> until;
  if (wish.lasting) until = of_.service.clock.now() + *wish.lasting;
  const bool sets = wish.quota.has_value();
  if (!sets) {
    if (!overrides.remove(wish.of)) return {.error = "no override was set for this key"};
  } else if (!overrides.set({wish.of, *std::move(wish.quota), until})) {
    return {.error = "there are " + std::to_string(LaidOverrides::most) +
                     " overrides already; remove one, or write them into the rule file"};
  }
  if (auto error = lay(std::move(overrides))) return {.error = error->message};
  // The files may have been read again since somebody looked for the rule.
  if (sets && !keeper_.overrides().has(wish.of)) return {.error = "the rule is gone meanwhile"};
  return {.generation = generation(), .overrides = keeper_.overrides().all().size()};
}

void RulesInForce::end_overrides() {
  const Instant now = of_.service.clock.now();
  if (!keeper_.overrides().any_ended(now)) return;
  LaidOverrides overrides = keeper_.overrides();
  overrides.end(now);
  if (auto error = lay(std::move(overrides))) {
    of_.service.log.write(LogKind::reload_failed,
                          {{"kept", "overrides"}, {"reason", error->message}});
  }
}

void RulesInForce::write_metrics(std::string& text, OfRules what) const {
  if (!keeper_.in_force()) return;
  std::vector<const RuleCounts*> counts;
  for (const auto& worker : of_.workers) counts.push_back(&worker->decider().counts());
  write_rule_metrics(text, what, {*keeper_.in_force(), counts, of_.service.clock.now()});
}

}  // namespace weir::server
