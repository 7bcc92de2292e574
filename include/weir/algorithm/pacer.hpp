// Pacing with slack: calls act one interval apart, and time not used is saved up to a limit.
#pragma once

#include <algorithm>

#include "weir/algorithm/gcra.hpp"

namespace weir {

/// Calls act at an even pace; time that nobody used is saved, `slack` units of it, and those who
/// come late act at once until it is spent. A call never waits for its own cost: it acts when those
/// before it are paid, and whoever comes next waits for it. So one call may cost far more than the
/// slack.
///
/// With costs of 1 it is GCRA with burst slack + 1.
///
/// Bound    less than slack + length / interval, and the largest cost, in any half-open window
/// Memory   16 bytes a key
/// Refusal  leaves the state as it was
/// Source   uber-go/ratelimit; Guava's SmoothBursty, whose slack is the permits of one second
struct Pacer {
  struct Config {
    Interval interval;    ///< one unit of cost is paid in this long
    Cost slack = 0;       ///< units that may be saved up
    FineSpan head_start;  ///< interval * slack
    Cost largest = 1;     ///< the largest cost of one call, far above what anyone waits for
    bool operator==(const Config&) const = default;
  };

  /// All that is remembered of one key. The default value is a key never seen: its slack is whole,
  /// as it is of every key that nobody called for long enough. See holding() for a first state with
  /// less.
  struct State {
    FineInstant rested_at;  ///< when the slack is whole again: the next turn and the head start
    bool operator==(const State&) const = default;
  };

  struct Settings {
    Cost count;
    Span period;
    Cost slack;      ///< >= 0
    Cost spent = 0;  ///< of the slack, at the start
  };

  /// `count` units in each `period`. Errors as Gcra::configure with burst slack + 1, and too_full
  /// for more spent than the slack.
  static constexpr Expected<Config, ConfigError> configure(Settings wanted) noexcept {
    if (wanted.slack < 0) return ConfigError::not_positive;
    if (wanted.slack >= longest_span.count() * 1000) return ConfigError::too_long;
    if (wanted.spent < 0) return ConfigError::not_positive;
    if (wanted.spent > wanted.slack) return ConfigError::too_full;
    const auto bucket = Gcra::configure(
        {wanted.count, wanted.period, wanted.slack + 1, Gcra::Oversize::pay_over_time});
    if (!bucket) return bucket.error();
    const Interval& interval = bucket->interval;
    return Config{interval, wanted.slack, interval.times(wanted.slack), bucket->largest};
  }

  /// A state that has saved so many units at `now`: 0 for a limiter that lets its first call act
  /// and paces from there, as uber's and Guava's do. Requires 0 <= saved <= slack. For single
  /// limiters: a key that is dropped and a key never seen must answer alike.
  static constexpr State holding(const Config& config, Instant now, Cost saved) noexcept {
    return {config.interval.add({now, 0}, config.interval.times(config.slack - saved))};
  }

  static constexpr State first(const Settings& wanted, const Config& config, Instant now) noexcept {
    return wanted.spent > 0 ? holding(config, now, wanted.slack - wanted.spent) : State{};
  }

  static constexpr Cost capacity(const Config& config) noexcept { return config.largest; }

  static constexpr std::optional<Span> own_wait(const Config&, Cost) noexcept { return {}; }

  static constexpr Instant earliest(const Config& config, const State& state, Instant now,
                                    Cost) noexcept {
    const FineInstant start = config.interval.start(state.rested_at, now);
    return std::max(now, turn(config, start).tick());
  }

  static constexpr void charge(const Config& config, State& state, Instant at, Cost cost) noexcept {
    const Interval& interval = config.interval;
    const FineSpan price = interval.times(cost);
    const FineInstant start = interval.start(state.rested_at, at);
    const FineInstant end = interval.add(start, price);
    const FineInstant latest = interval.add(interval.add({at, 0}, config.head_start), price);
    state.rested_at = end > latest ? std::max(start, latest) : end;
  }

  /// Counted in calls of cost 1. One call may cost more, and the next waits for it.
  static constexpr Room room(const Config& config, const State& state, Instant now) noexcept {
    const Interval& interval = config.interval;
    const FineInstant next = turn(config, interval.start(state.rested_at, now));
    const FineInstant here{now, 0};
    if (next > here) return {config.slack + 1, 0};
    return {config.slack + 1, 1 + interval.units_in(interval.between(next, here), config.slack)};
  }

  static constexpr Instant fresh_at(const Config&, const State& state) noexcept {
    return Interval::fresh_at(state.rested_at);
  }

  static constexpr FineInstant* mark(const Config&, const State& state, FineInstant* to) noexcept {
    *to = state.rested_at;
    return to + 1;
  }

  /// All or nothing: whoever came since acts at the pace, and nobody may act beside them.
  static constexpr Cost cancel(const Config& config, State& state, Instant, const Grant& grant,
                               const FineInstant* mark) noexcept {
    if (state.rested_at != *mark || grant.cost > config.largest) return 0;
    if (mark->whole < grant.acts_at - Span{1}) return 0;
    const Interval& interval = config.interval;
    const FineInstant start = interval.subtract(*mark, interval.times(grant.cost));
    // No grant of this pace, or of an older one, began there.
    if (start.tick() < grant.acts_at || turn(config, start).tick() > grant.acts_at) return 0;
    state.rested_at = start;
    return grant.cost;
  }

  static constexpr Cost refund(const Config& config, State& state, Instant now,
                               Cost units) noexcept {
    return Gcra::repay(config.interval, state.rested_at, now, std::min(units, config.largest));
  }

  static constexpr Cost bound(const Config& config, Span length, Cost largest) noexcept {
    if (length <= Span{0}) return 0;
    const FineSpan span{config.head_start.whole + length, config.head_start.rest};
    return config.interval.units_below(span) + std::min(largest, config.largest);
  }

  /// The state under new numbers. What was taken at the old pace is paid at the old pace; what was
  /// saved keeps its share of the slack, rounded down.
  static constexpr State rescaled(const Config& from, const Config& to, const State& state,
                                  Instant now) noexcept {
    const FineInstant here{now, 0};
    const FineInstant next = turn(from, from.interval.start(state.rested_at, now));
    if (next > here) {
      return {to.interval.add(to.interval.adopt(next, from.interval), to.head_start)};
    }
    const Wide whole = from.interval.in_parts(from.head_start);
    const Wide part = std::min(whole, from.interval.in_parts(from.interval.between(next, here)));
    const Wide saved =
        whole > 0 ? Share{part, whole}.floor_of(to.interval.in_parts(to.head_start)) : 0;
    const FineInstant spent = to.interval.subtract(here, to.interval.of_parts(saved));
    return {to.interval.add(spent, to.head_start)};
  }

  /// What is owed stays owed, until the instant that it was owed to; the rest says how much of the
  /// slack is saved.
  static constexpr State inherit(const Kept<Pacer>& before, const Successor<Pacer>& after,
                                 Inherit how) noexcept {
    if (how == Inherit::reset) return {};
    const Config& from = before.config;
    const FineInstant start = from.interval.start(before.state.rested_at, before.now);
    const FineInstant next = turn(from, start);
    const FineInstant here{before.now, 0};
    if (next > here || how == Inherit::proportional) {
      return rescaled(from, after.config, before.state, after.now);
    }
    const Cost left = from.interval.units_in(from.interval.between(next, here), from.slack);
    const Cost saved =
        inherited(left, {from.slack, left}, {after.config.slack, after.config.slack}, how);
    return holding(after.config, after.now, saved);
  }

 private:
  /// When the next call may act, were it there.
  static constexpr FineInstant turn(const Config& config, FineInstant start) noexcept {
    return config.interval.subtract(start, config.head_start);
  }
};

}  // namespace weir
