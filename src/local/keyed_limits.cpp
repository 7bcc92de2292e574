#include "weir/local/keyed_limits.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "weir/local/locked.hpp"
#include "weir/local/overrides.hpp"
#include "weir/local/refuse_dates.hpp"

namespace weir {
namespace {

using Ticks = LockedState<Limit::Machine>;

constexpr Outcome never_taken{Verdict::impossible, Refusal::limit, SteadyInstant::max()};

Outcome outcome_of(const Decision& decision, SteadyInstant now) noexcept {
  if (decision.verdict == Verdict::granted) return {Verdict::granted, Refusal::none, now};
  if (decision.verdict == Verdict::impossible) return never_taken;
  return {decision.verdict, Refusal::limit, Ticks::steady(decision.ready_at)};
}

Request request(SteadyInstant now, Cost cost) noexcept {
  return {Ticks::ticks(now), cost, Span{0}};
}

}  // namespace

/// A key that has a limit of its own.
struct KeyedLimits::Override {
  Override(std::uint64_t of, const Rule* under) noexcept : name(of), rule(under) {}

  std::uint64_t name;
  std::atomic<const Rule*> rule;
};

KeyedLimits::KeyedLimits(std::shared_ptr<KeyedStore> store, const Limit& limit)
    : store_(std::move(store)), rule_(nullptr) {
  rule_.store(make(limit), std::memory_order_release);
}

KeyedLimits::~KeyedLimits() { delete overrides_.load(std::memory_order_relaxed); }

const Rule* KeyedLimits::make(const Limit& limit) {
  if (!limit.starts_full()) {
    throw std::invalid_argument("limit: a key must start full, so 'initial' is for one limiter");
  }
  refuse_dates(limit);
  auto rule = std::make_unique<Rule>(Rule{store_->next_id(), limit.text(), limit, false});
  if (!rules_.empty()) rule->family = rules_.front()->family;
  rules_.push_back(std::move(rule));
  return rules_.back().get();
}

const Rule& KeyedLimits::rule_for(std::string_view key) const noexcept {
  if (const auto* const overrides = overrides_.load(std::memory_order_acquire)) {
    const Override* const own = overrides->find(store_->names().name(key));
    if (own) return *own->rule.load(std::memory_order_acquire);
  }
  return *rule_.load(std::memory_order_acquire);
}

/// Does it again where the rule was another one meanwhile: what was done under the old one was
/// carried over, or was done to a state that nobody reads any more. What was given back was there
/// to give, so it is not given again.
template <typename Do>
auto KeyedLimits::under_rule(std::string_view key, Do&& action) {
  for (;;) {
    const Rule& rule = rule_for(key);
    auto result = action(rule);
    if (&rule_for(key) == &rule) return result;
    if constexpr (std::is_integral_v<decltype(result)>) {
      if (result) return result;
    }
  }
}

KeyedLimits::Named KeyedLimits::prefetch(std::string_view key) const noexcept {
  const Rule& rule = *rule_.load(std::memory_order_acquire);  // all of the family hash alike
  return {key, store_->table().prefetch({&rule, key})};
}

Outcome KeyedLimits::take(const Named& named, SteadyInstant now, Cost cost) {
  if (cost < 0) return never_taken;
  return under_rule(named.key, [&](const Rule& rule) {
    const Subject subject{&rule, named.key, nullptr, named.hash};
    return outcome_of(store_->table().take(subject, request(now, cost)).decision, now);
  });
}

Standing KeyedLimits::peek(std::string_view key, SteadyInstant now, Cost cost) {
  return under_rule(key, [&](const Rule& rule) -> Standing {
    const Request asked = request(now, std::max<Cost>(cost, 0));
    const Decision decision = store_->table().peek({&rule, key}, asked).decision;
    const Outcome outcome = cost < 0 ? never_taken : outcome_of(decision, now);
    return {outcome, decision.limit, decision.remaining,
            std::max(now, Ticks::steady(decision.reset_at))};
  });
}

Cost KeyedLimits::refund(std::string_view key, SteadyInstant now, Cost units) {
  if (units <= 0) return 0;
  return under_rule(key, [&](const Rule& rule) {
    return store_->table().refund({&rule, key}, Ticks::ticks(now), units);
  });
}

void KeyedLimits::withdraw(std::string_view key, SteadyInstant now, Cost units,
                           const Outcome& granted) {
  if (units <= 0) return;
  const Rule& rule = rule_for(key);  // under another one since, it is somebody else's state
  store_->table().withdraw({&rule, key}, Ticks::ticks(now),
                           {units, Ticks::ticks(granted.ready_at)});
}

bool KeyedLimits::reset(std::string_view key) {
  return under_rule(key, [&](const Rule& rule) { return store_->table().reset({&rule, key}); });
}

bool KeyedLimits::override_for(std::string_view key, const Limit& limit, Inherit how,
                               SteadyInstant now) {
  const std::lock_guard lock(mutex_);
  if (!overrides_.load(std::memory_order_relaxed)) {
    overrides_.store(new Overrides<Override>, std::memory_order_release);
  }
  Overrides<Override>& overrides = *overrides_.load(std::memory_order_relaxed);
  const std::uint64_t name = store_->names().name(key);
  Override* const own = overrides.find(name);
  if (!own && overrides.size() == Overrides<Override>::most) return false;
  const Rule& from = rule_for(key);
  const Rule* const to = make(limit);
  std::unique_ptr<Override> added;
  if (!own) added = std::make_unique<Override>(name, to);
  const bool kept = store_->table().succeed(key, {from, *to, how, Ticks::ticks(now)}, [&] {
    if (own) {
      own->rule.store(to, std::memory_order_release);
    } else {
      overrides.add(std::move(added));
    }
  });
  if (!kept) rules_.pop_back();
  return kept;
}

void KeyedLimits::reconfigure(const Limit& limit, Inherit how, SteadyInstant now) {
  const std::lock_guard lock(mutex_);
  const Rule& from = *rule_.load(std::memory_order_relaxed);
  const Rule* const to = make(limit);
  store_->table().succeed({from, *to, how, Ticks::ticks(now)},
                          [&] { rule_.store(to, std::memory_order_release); });
}

KeyedLimits::Joint KeyedLimits::take_all(std::span<const Claim> claims, SteadyInstant now) {
  if (claims.empty() || claims.size() > Table::most_claims) {
    throw std::invalid_argument("claims: expected 1 to 16");
  }
  KeyedStore* const store = claims.front().limits->store_.get();
  std::array<weir::Claim, Table::most_claims> asked{};
  const std::span<weir::Claim> all(asked.data(), claims.size());
  for (std::size_t at = 0; at < claims.size(); ++at) {
    if (claims[at].limits->store_.get() != store) {
      throw std::invalid_argument("claims: expected limiters of one store");
    }
    if (claims[at].cost < 0) return {never_taken, at};
  }
  for (;;) {
    for (std::size_t at = 0; at < claims.size(); ++at) {
      const Claim& claim = claims[at];
      all[at] = {{&claim.limits->rule_for(claim.key), claim.key}, claim.cost};
    }
    const JointAnswer answer = store->table().take_all(all, request(now, 0));
    bool current = true;
    for (std::size_t at = 0; at < claims.size(); ++at) {
      const Claim& claim = claims[at];
      current = current && &claim.limits->rule_for(claim.key) == all[at].subject.rule;
    }
    if (current) return {outcome_of(answer.decision, now), answer.binding};
  }
}

}  // namespace weir
