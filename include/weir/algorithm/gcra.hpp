// The generic cell rate algorithm, which is also the token bucket.
#pragma once

#include <algorithm>

#include "weir/algorithm/concept.hpp"

namespace weir {

/// Generic cell rate algorithm: a token bucket kept as the instant at which it will be full again.
///
/// Bound    less than burst + length / interval in any half-open window, rounded up to whole units
/// Memory   16 bytes a key
/// Refusal  leaves the state as it was
/// Source   ITU-T I.371, virtual scheduling; a bucket refilled lazily grants the same requests
struct Gcra {
  struct Config {
    Interval interval;  ///< one unit of cost is repaid in this long
    Cost burst = 1;     ///< units granted at once after a rest
    FineSpan capacity;  ///< interval * burst
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
    return configure(interval, wanted.burst, longest_span, std::int64_t{1} << 53);
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

  /// A state that has `tokens` left at `now`. Requires 0 <= tokens <= burst.
  static constexpr State holding(const Config& config, Instant now, Cost tokens) noexcept {
    return {config.interval.add({now, 0}, config.interval.times(config.burst - tokens))};
  }

  static constexpr Cost capacity(const Config& config) noexcept { return config.burst; }

  static constexpr std::optional<Span> own_wait(const Config&, Cost) noexcept { return {}; }

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

  static constexpr Cost bound(const Config& config, Span length, Cost) noexcept {
    if (length <= Span{0}) return 0;
    return config.interval.units_below({config.capacity.whole + length, config.capacity.rest});
  }

  /// Takes a grant's cost, less what was granted since, off the debt. Giving all of it back would
  /// let newcomers act beside those who were deferred because of it, above the bound. `mark` is
  /// where repayment stood right after the grant; grants that no step made give nothing back.
  static constexpr Cost give_back(const Config& config, FineInstant& repaid_at, const Grant& grant,
                                  FineInstant mark) noexcept {
    const Interval& interval = config.interval;
    if (grant.cost > config.burst || mark.whole < grant.acts_at - Span{1}) return 0;
    if (mark.rest < 0 || mark.rest >= interval.parts()) return 0;
    if (repaid_at < mark) return 0;  // this grant was cancelled or refunded before
    const Cost since = interval.units_covering(interval.between(mark, repaid_at), grant.cost);
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
    const Cost owed = interval.units_covering(debt, units);
    const FineSpan back = interval.times(owed);
    repaid_at = back < debt ? interval.subtract(repaid_at, back) : start;
    return owed;
  }
};

}  // namespace weir
