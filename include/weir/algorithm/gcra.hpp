// The generic cell rate algorithm, which is also the token bucket.
#pragma once

#include <algorithm>
#include <limits>

#include "weir/algorithm/inherit.hpp"

namespace weir {

/// Generic cell rate algorithm: a token bucket kept as the instant at which it will be full again.
///
/// Bound    less than burst + length / interval in any half-open window, rounded up to whole units;
///          where costs are paid over time, the largest cost in place of a lesser burst
/// Memory   16 bytes a key
/// Refusal  leaves the state as it was
/// Source   ITU-T I.371, virtual scheduling; a bucket refilled lazily grants the same requests
struct Gcra {
  /// What becomes of a cost above the burst.
  enum class Oversize : std::uint8_t {
    impossible,     ///< the verdict, whatever the patience
    pay_over_time,  ///< it acts when all of its units are paid, and needs the patience for that
  };

  struct Config {
    Interval interval;     ///< one unit of cost is repaid in this long
    Cost burst = 1;        ///< units granted at once after a rest
    FineSpan capacity;     ///< interval * burst
    Cost largest = burst;  ///< the largest cost that is taken: above the burst, paid over time
    bool operator==(const Config&) const = default;
  };

  /// All that is remembered of one key. The default value is a key never seen.
  struct State {
    FineInstant repaid_at;
    bool operator==(const State&) const = default;
  };

  struct Settings {
    Cost count;
    Span period;
    Cost burst;
    Oversize oversize = Oversize::impossible;
  };

  /// `count` units in each `period`, `burst` of them at once. Errors:
  ///   not_positive  a number is zero or less
  ///   too_fast      above 10^9 units a second
  ///   too_long      period, or burst * period / count, is above longest_span
  ///   too_fine      burst times the interval's rest passes 2^53, so no Lua twin could be exact
  static constexpr Expected<Config, ConfigError> configure(Settings wanted) noexcept {
    if (wanted.count <= 0 || wanted.period <= Span{0} || wanted.burst <= 0) {
      return ConfigError::not_positive;
    }
    if (wanted.period > longest_span) return ConfigError::too_long;
    if (wanted.count / 1000 > wanted.period.count() ||
        (wanted.count / 1000 == wanted.period.count() && wanted.count % 1000 > 0)) {
      return ConfigError::too_fast;
    }
    const Interval interval(Interval::Rate{wanted.count, wanted.period});
    constexpr std::int64_t largest_rest = std::int64_t{1} << 53;
    auto config = configure(interval, wanted.burst, longest_span, largest_rest);
    if (!config || wanted.oversize == Oversize::impossible) return config;
    Config above = *config;
    above.largest = largest_within(interval, longest_span, largest_rest);
    return above;
  }

  /// The same from an interval, within the given bounds.
  static constexpr Expected<Config, ConfigError> configure(Interval interval, Cost burst,
                                                           Span longest,
                                                           std::int64_t largest_rest) noexcept {
    if (burst <= 0) return ConfigError::not_positive;
    const std::int64_t ticks = interval.whole().count();
    if (ticks > 0 && burst > longest.count() / ticks) return ConfigError::too_long;
    if (interval.rest() > 0 && burst > largest_rest / interval.rest()) return ConfigError::too_fine;
    const FineSpan capacity = interval.times(burst);
    if (capacity.whole > longest) return ConfigError::too_long;
    return Config{interval, burst, capacity};
  }

  /// The most units whose time keeps within the bounds.
  static constexpr Cost largest_within(const Interval& interval, Span longest,
                                       std::int64_t largest_rest) noexcept {
    const Cost most =
        interval.rest() > 0 ? largest_rest / interval.rest() : std::numeric_limits<Cost>::max();
    return interval.units_in({longest, interval.parts() - 1}, most);
  }

  /// A state that has `tokens` left at `now`. Requires 0 <= tokens <= burst.
  static constexpr State holding(const Config& config, Instant now, Cost tokens) noexcept {
    return {config.interval.add({now, 0}, config.interval.times(config.burst - tokens))};
  }

  static constexpr Cost capacity(const Config& config) noexcept { return config.largest; }

  static constexpr std::optional<Span> own_wait(const Config&, Cost) noexcept { return {}; }

  /// What is above the burst cannot be saved up: it is always waited for.
  static constexpr Span least_wait(const Config& config, Cost cost) noexcept {
    if (cost <= config.burst) return Span{0};
    const FineSpan wait = config.interval.times(cost - config.burst);
    return wait.rest > 0 ? wait.whole + Span{1} : wait.whole;
  }

  static constexpr Instant earliest(const Config& config, const State& state, Instant now,
                                    Cost cost) noexcept {
    const Interval& interval = config.interval;
    const FineInstant end =
        interval.add(interval.start(state.repaid_at, now), interval.times(cost));
    return std::max(now, interval.subtract(end, config.capacity).tick());
  }

  static constexpr void charge(const Config& config, State& state, Instant at, Cost cost) noexcept {
    const Interval& interval = config.interval;
    const FineInstant start = interval.start(state.repaid_at, at);
    const FineInstant end = interval.add(start, interval.times(cost));
    const FineInstant full = interval.add({at, 0}, config.capacity);
    if (cost > config.burst && end > full && start < full) {
      state.repaid_at = paid_up(interval, state.repaid_at, full, cost);
      return;
    }
    state.repaid_at = end > full ? std::max(start, full) : end;
  }

  static constexpr Room room(const Config& config, const State& state, Instant now) noexcept {
    const Interval& interval = config.interval;
    const FineInstant full = interval.add({now, 0}, config.capacity);
    const FineSpan left = interval.between(interval.start(state.repaid_at, now), full);
    return {config.burst, interval.units_in(left, config.burst)};
  }

  static constexpr Instant fresh_at(const Config&, const State& state) noexcept {
    return Interval::fresh_at(state.repaid_at);
  }

  static constexpr FineInstant* mark(const Config&, const State& state, FineInstant* to) noexcept {
    *to = state.repaid_at;
    return to + 1;
  }

  static constexpr Cost cancel(const Config& config, State& state, Instant, const Grant& grant,
                               const FineInstant* mark) noexcept {
    return give_back(config, state.repaid_at, grant, *mark);
  }

  static constexpr Cost refund(const Config& config, State& state, Instant now,
                               Cost units) noexcept {
    return repay(config.interval, state.repaid_at, now, units);
  }

  static constexpr void settle(const Config& config, State& state, Instant now,
                               Span slack) noexcept {
    settle_due(config, state.repaid_at, now, slack);
  }
  static constexpr void settle_due(const Config& config, FineInstant& repaid_at, Instant now,
                                   Span slack) noexcept {
    const FineInstant most = config.interval.add({now + slack, 0}, config.capacity);
    repaid_at = std::min(repaid_at, most);
  }

  static constexpr Cost bound(const Config& config, Span length, Cost largest) noexcept {
    if (length <= Span{0}) return 0;
    const FineSpan span{config.capacity.whole + length, config.capacity.rest};
    const Cost above = std::min(largest, config.largest) - config.burst;
    return config.interval.units_below(span) + std::max<Cost>(above, 0);
  }

  /// What was charged since stays owed from now on, and with it the bucket is no emptier than it
  /// would have been without these units.
  static constexpr Cost give_back_unused(const Config& config, State& state, Instant now,
                                         Unused unused) noexcept {
    if (state.repaid_at <= FineInstant{now, 0}) return 0;
    const FineSpan debt = config.interval.between({now, 0}, state.repaid_at);
    const Cost owed = config.interval.units_in(debt, unused.since + unused.units);
    const Cost units = std::min(unused.units, owed - unused.since);
    return units > 0 ? refund(config, state, now, units) : 0;
  }

  /// Without these units the bucket may have been full since, and what flowed meanwhile lost: as
  /// much stays charged.
  static constexpr void withdraw(const Config& config, State& state, Instant now,
                                 const Withdrawal& withdrawal) noexcept {
    take_back(config, state.repaid_at, now, withdrawal);
  }
  static constexpr void take_back(const Config& config, FineInstant& repaid_at, Instant now,
                                  const Withdrawal& withdrawal) noexcept {
    if (repaid_at.tick() < now) return;             // nothing is owed
    if (withdrawal.units > config.largest) return;  // granted under other numbers
    const Interval& interval = config.interval;
    const FineSpan price = interval.times(withdrawal.units);
    Span flowed = std::max(now - withdrawal.taken_at, Span{0});
    if (flowed > Span{0}) flowed += Span{1};  // a fraction of a tick before it counted too
    if (flowed > price.whole) return;
    const FineInstant without = interval.subtract(repaid_at, price);
    const FineInstant owed = interval.start(interval.add(without, {flowed, 0}), now);
    repaid_at = std::min(repaid_at, owed);
  }

  static constexpr State inherit(const Kept<Gcra>& before, const Successor<Gcra>& after,
                                 Inherit how) noexcept {
    return {inherit_due(bucket(before.config), {before.state.repaid_at, before.now},
                        bucket(after.config), after.now, how)};
  }
  static constexpr Bucket bucket(const Config& config) noexcept {
    return {config.interval, config.burst};
  }

  /// Takes a grant's cost, less what was granted since, off the debt. Giving all of it back would
  /// let newcomers act beside those who were deferred because of it, above the bound. A cost above
  /// the burst goes back whole or not at all: one of those who waited behind it may be as large,
  /// and act with nothing beside it. `mark` is where repayment stood right after the grant; grants
  /// that no step made give nothing back.
  static constexpr Cost give_back(const Config& config, FineInstant& repaid_at, const Grant& grant,
                                  FineInstant mark) noexcept {
    const Interval& interval = config.interval;
    if (grant.cost > config.largest || mark.whole < grant.acts_at - Span{1}) return 0;
    if (mark.rest < 0 || mark.rest >= interval.parts()) return 0;
    if (repaid_at < mark) return 0;  // this grant was cancelled or refunded before
    const Cost since = interval.units_covering(interval.between(mark, repaid_at), grant.cost);
    if (grant.cost > config.burst && since > 0) return 0;
    const Cost units = grant.cost - since;
    repaid_at = interval.subtract(repaid_at, interval.times(units));
    return units;
  }

  /// Takes units off the debt, down to none; returns how many were owed.
  static constexpr Cost repay(const Interval& interval, FineInstant& repaid_at, Instant now,
                              Cost units) noexcept {
    const FineInstant start{now, 0};
    if (repaid_at <= start) return 0;
    const FineSpan debt = interval.between(start, repaid_at);
    const Cost owed = interval.units_covering(debt, std::min(units, interval.most_in_times()));
    const FineSpan back = interval.times(owed);
    repaid_at = back < debt ? interval.subtract(repaid_at, back) : start;
    return owed;
  }

 private:
  /// Where repayment stands after a cost above the burst acted at its first possible tick: when the
  /// bucket is full, less the part of that tick which it did not need. So a queue of such costs
  /// keeps to the rate.
  static constexpr FineInstant paid_up(const Interval& interval, FineInstant repaid_at,
                                       FineInstant full, Cost cost) noexcept {
    const FineInstant before = interval.start(repaid_at, repaid_at.whole);
    const FineInstant end = interval.add(before, interval.times(cost));
    const FineInstant tick_earlier{full.whole - Span{1}, full.rest};
    return end > tick_earlier && end < full ? end : full;
  }
};

}  // namespace weir
