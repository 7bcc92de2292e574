// The leaky bucket: a queue that drains at a constant rate.
#pragma once

#include <algorithm>

#include "weir/algorithm/gcra.hpp"

namespace weir {

/// Leaky bucket as a queue: requests act one interval apart, `queue` of them may wait, and a full
/// queue refuses. With patience 0 it is a meter: a request acts now or not at all.
///
/// It admits as GCRA with burst queue + 1 and acts when its turn comes instead of at once.
///
/// Bound    less than largest cost + length / interval in any half-open window
/// Memory   16 bytes a key
/// Refusal  leaves the state as it was
/// Source   J. Turner, "New directions in communications", 1986 (queue form)
struct LeakyBucket {
  struct Config {
    Gcra::Config bucket;  ///< burst = queue + 1: the one that acts, and those that wait
    bool operator==(const Config&) const = default;
  };

  struct State {
    FineInstant drained_at;
    bool operator==(const State&) const = default;
  };

  struct Settings {
    Cost count;
    Span period;
    Cost queue;  ///< >= 0
  };

  /// Errors as Gcra::configure with burst queue + 1.
  static constexpr Expected<Config, ConfigError> configure(Settings wanted) noexcept {
    if (wanted.queue < 0) return ConfigError::not_positive;
    if (wanted.queue >= longest_span.count() * 1000) return ConfigError::too_long;
    const auto bucket = Gcra::configure({wanted.count, wanted.period, wanted.queue + 1});
    if (!bucket) return bucket.error();
    return Config{*bucket};
  }

  static constexpr Cost capacity(const Config& config) noexcept { return config.bucket.burst; }

  /// Until the units before it have drained, of which the queue holds so many beside this cost.
  /// Rounded up to the tick on which that instant is seen.
  static constexpr std::optional<Span> own_wait(const Config& config, Cost cost) noexcept {
    const FineSpan wait =
        config.bucket.interval.times(config.bucket.burst - std::max<Cost>(cost, 1));
    return wait.rest > 0 ? wait.whole + Span{1} : wait.whole;
  }

  static constexpr Instant earliest(const Config& config, const State& state, Instant now,
                                    Cost) noexcept {
    return config.bucket.interval.start(state.drained_at, now).tick();
  }

  static constexpr void charge(const Config& config, State& state, Instant at, Cost cost) noexcept {
    Gcra::State bucket{state.drained_at};
    Gcra::charge(config.bucket, bucket, at, cost);
    state.drained_at = bucket.repaid_at;
  }

  static constexpr Room room(const Config& config, const State& state, Instant now) noexcept {
    const Interval& interval = config.bucket.interval;
    const Span wait = interval.start(state.drained_at, now).tick() - now;
    const Cost burst = config.bucket.burst;
    if (wait <= Span{0}) return {burst, burst};
    return {burst, burst - 1 - interval.units_in({wait - Span{1}, 0}, burst - 1)};
  }

  static constexpr Instant fresh_at(const Config&, const State& state) noexcept {
    return Interval::fresh_at(state.drained_at);
  }

  static constexpr FineInstant* mark(const Config&, const State& state, FineInstant* to) noexcept {
    *to = state.drained_at;
    return to + 1;
  }

  /// All or nothing: whoever came since acts at the pace, and nobody may act beside them.
  static constexpr Cost cancel(const Config& config, State& state, Instant, const Grant& grant,
                               const FineInstant* mark) noexcept {
    if (state.drained_at != *mark) return 0;
    return Gcra::give_back(config.bucket, state.drained_at, grant, *mark);
  }

  static constexpr Cost refund(const Config& config, State& state, Instant now,
                               Cost units) noexcept {
    return Gcra::repay(config.bucket.interval, state.drained_at, now, units);
  }

  static constexpr void withdraw(const Config& config, State& state, Instant now,
                                 const Withdrawal& withdrawal) noexcept {
    Gcra::take_back(config.bucket, state.drained_at, now, withdrawal);
  }

  static constexpr State inherit(const Kept<LeakyBucket>& before,
                                 const Successor<LeakyBucket>& after, Inherit how) noexcept {
    return {inherit_due(Gcra::bucket(before.config.bucket), {before.state.drained_at, before.now},
                        Gcra::bucket(after.config.bucket), after.now, how)};
  }

  static constexpr void settle(const Config& config, State& state, Instant now,
                               Span slack) noexcept {
    Gcra::settle_due(config.bucket, state.drained_at, now, slack);
  }

  static constexpr Cost bound(const Config& config, Span length, Cost largest) noexcept {
    if (length <= Span{0}) return 0;
    return config.bucket.interval.units_below({length, 0}) + std::min(largest, capacity(config));
  }
};

}  // namespace weir
