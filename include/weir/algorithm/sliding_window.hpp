// The sliding window counter.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>

#include "weir/algorithm/cells.hpp"
#include "weir/algorithm/fixed_window.hpp"

namespace weir {

/// Sliding window counter: the period is cut in parts with a counter each, and the part that has
/// only partly left the window still counts in full. Strict for that price: it sustains
/// parts / (parts + 1) of the rate.
///
/// Bound    limit in any window of one period; limit for each parts + 1 parts touched beyond
/// Memory   16 bytes a key, and 8 for each of parts + 1 counters
/// Refusal  leaves the state as it was
/// Source   windows of counters as in network meters; here with the old part counted whole
struct SlidingWindow {
  static constexpr Cost most_parts = 1024;

  struct Config {
    Cost limit = 1;
    Span part{1};              ///< the width of one part
    std::int64_t counted = 2;  ///< parts that count: those of one period, and the one it cuts
    bool operator==(const Config&) const = default;
  };

  struct State {
    Instant newest = Instant::min();  ///< the start of the newest part that was charged
    Cells counts;                     ///< a ring: the part numbered n counts in cell n % counted
    bool operator==(const State&) const = default;
  };

  struct Settings {
    Cost count;
    Span period;
    Cost parts;
  };

  /// Parts are period / parts wide, rounded up to whole ticks. Errors:
  ///   not_positive  a number is zero or less
  ///   too_long      period above longest_span, or count above 2^50
  ///   too_many      more than most_parts parts, or more parts than ticks
  static constexpr Expected<Config, ConfigError> configure(Settings wanted) noexcept {
    if (wanted.count <= 0 || wanted.period <= Span{0} || wanted.parts <= 0) {
      return ConfigError::not_positive;
    }
    if (wanted.period > longest_span || wanted.count > longest_span.count()) {
      return ConfigError::too_long;
    }
    if (wanted.parts > most_parts || wanted.parts > wanted.period.count()) {
      return ConfigError::too_many;
    }
    const Span part{(wanted.period.count() - 1) / wanted.parts + 1};
    return Config{wanted.count, part, wanted.parts + 1};
  }

  static constexpr Cost capacity(const Config& config) noexcept { return config.limit; }

  static constexpr std::optional<Span> own_wait(const Config&, Cost) noexcept { return {}; }

  static Instant earliest(const Config& config, const State& state, Instant now,
                          Cost cost) noexcept {
    const Ring ring(config, state);
    std::int64_t part = std::max(part_of(config, now), ring.newest);
    Cost sum = ring.counted_at(part);
    while (sum > 0 && sum + cost > config.limit) {
      ++part;
      sum -= ring.count_of(part - config.counted);
    }
    return std::max(now, start_of(config, part));
  }

  static void charge(const Config& config, State& state, Instant at, Cost cost) {
    adopt(config, state);
    const std::int64_t part = part_of(config, at);
    const std::int64_t newest = newest_part(config, state);
    if (part > newest) {
      const std::int64_t passed =
          std::min(part - std::max(newest, part - config.counted), config.counted);
      for (std::int64_t back = 0; back < passed; ++back) cell(config, state, part - back) = 0;
      state.newest = start_of(config, part);
    } else if (part <= newest - config.counted) {
      return;  // only on a shared state: that part no longer counts
    }
    Cost& count = cell(config, state, part);
    count = std::min(count + cost, config.limit);
  }

  static Room room(const Config& config, const State& state, Instant now) noexcept {
    const Ring ring(config, state);
    const std::int64_t part = part_of(config, now);
    if (ring.newest > part) return {config.limit, 0};
    return {config.limit, std::max<Cost>(0, config.limit - ring.counted_at(part))};
  }

  static Instant fresh_at(const Config& config, const State& state) noexcept {
    if (state.newest == Instant::min()) return Instant::min();
    const Ring ring(config, state);
    for (std::int64_t part = ring.newest; part > ring.newest - config.counted; --part) {
      if (ring.count_of(part) > 0) return start_of(config, part + config.counted);
    }
    return state.newest;
  }

  static FineInstant* mark(const Config&, const State&, FineInstant* to) noexcept {
    *to = {};  // a grant's instant tells its part
    return to + 1;
  }

  static Cost cancel(const Config& config, State& state, Instant, const Grant& grant,
                     const FineInstant*) noexcept {
    const std::int64_t part = part_of(config, grant.acts_at);
    const std::int64_t newest = newest_part(config, state);
    if (!fits(config, state) || part > newest || part <= newest - config.counted) return 0;
    Cost& count = cell(config, state, part);
    const Cost units = std::min(grant.cost, count);
    count -= units;
    return units;
  }

  /// Takes from the newest parts first.
  static Cost refund(const Config& config, State& state, Instant now, Cost units) noexcept {
    if (!fits(config, state)) return 0;
    const std::int64_t newest = newest_part(config, state);
    const std::int64_t last = std::max(newest, part_of(config, now)) - config.counted;
    Cost back = 0;
    for (std::int64_t part = newest; part > last && back < units; --part) {
      Cost& count = cell(config, state, part);
      const Cost taken = std::min(units - back, count);
      count -= taken;
      back += taken;
    }
    return back;
  }

  /// A grant is counted apart, in its own part.
  static void withdraw(const Config& config, State& state, Instant now,
                       const Withdrawal& withdrawal) noexcept {
    static_cast<void>(cancel(config, state, now, {withdrawal.units, withdrawal.taken_at}, nullptr));
  }

  /// What was used counts as used now, so a window forgets it one period from here.
  static State inherit(const Kept<SlidingWindow>& before, const Successor<SlidingWindow>& after,
                       Inherit how) {
    const Ring ring(before.config, before.state);
    const std::int64_t part = std::max(part_of(before.config, before.now), ring.newest);
    const Limits limits{before.config.limit, after.config.limit};
    const Cost used = inherited_use(ring.counted_at(part), limits, how);
    State state;
    if (used == 0) return state;
    const Instant at = std::max(after.now, start_of(before.config, part));
    state.newest = start_of(after.config, part_of(after.config, at));
    state.counts = Cells(static_cast<std::size_t>(after.config.counted));
    cell(after.config, state, part_of(after.config, at)) = used;
    return state;
  }

  /// Parts further ahead count in the part that `now + slack` lies in.
  static void settle(const Config& config, State& state, Instant now, Span slack) noexcept {
    const std::int64_t latest = part_of(config, now + slack);
    const std::int64_t newest = newest_part(config, state);
    if (newest <= latest) return;
    state.newest = start_of(config, latest);
    if (!fits(config, state)) return;
    Cost sum = 0;
    for (std::int64_t part = newest; part > std::max(latest, newest - config.counted); --part) {
      sum += std::exchange(cell(config, state, part), 0);
    }
    Cost& count = cell(config, state, latest);
    count = std::min(count + sum, config.limit);
  }

  static constexpr Cost bound(const Config& config, Span length, Cost) noexcept {
    if (length <= Span{0}) return 0;
    constexpr Cost most = std::int64_t{1} << 62;
    const std::int64_t parts = windows_touched(length, config.part);
    const std::int64_t windows = (parts - 1) / config.counted + 1;
    return windows > most / config.limit ? most : windows * config.limit;
  }

 private:
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min() / 2;

  static constexpr std::int64_t part_of(const Config& config, Instant at) noexcept {
    return window_of(at, config.part).time_since_epoch() / config.part;
  }
  static constexpr Instant start_of(const Config& config, std::int64_t part) noexcept {
    return Instant{part * config.part};
  }
  static std::int64_t newest_part(const Config& config, const State& state) noexcept {
    return state.newest == Instant::min() ? none : part_of(config, state.newest);
  }
  static bool fits(const Config& config, const State& state) noexcept {
    return state.counts.size() == static_cast<std::size_t>(config.counted);
  }
  static std::size_t ring_at(const Config& config, std::int64_t part) noexcept {
    const std::int64_t at = part % config.counted;
    return static_cast<std::size_t>(at < 0 ? at + config.counted : at);
  }
  static Cost& cell(const Config& config, State& state, std::int64_t part) noexcept {
    return state.counts[ring_at(config, part)];
  }

  /// A state's counters by the number of the part.
  struct Ring {
    Ring(const Config& its_config, const State& its_state) noexcept
        : config(its_config), state(its_state), newest(newest_part(its_config, its_state)) {}

    const Config& config;
    const State& state;
    std::int64_t newest;

    /// What a part holds. A ring kept under another number of parts counts as if all of it lay in
    /// the newest part.
    Cost count_of(std::int64_t part) const noexcept {
      if (part > newest || part <= newest - config.counted) return 0;
      if (fits(config, state)) return state.counts[ring_at(config, part)];
      if (part < newest) return 0;
      const auto values = state.counts.values();
      return std::min(config.limit, std::accumulate(values.begin(), values.end(), Cost{0}));
    }

    /// The sum over the parts that count when `part` is the current one.
    Cost counted_at(std::int64_t part) const noexcept {
      if (part == newest && fits(config, state)) {  // all of the ring, in any order
        const auto values = state.counts.values();
        return std::accumulate(values.begin(), values.end(), Cost{0});
      }
      Cost sum = 0;
      for (std::int64_t at = newest; at > part - config.counted && at > newest - config.counted;
           --at) {
        sum += count_of(at);
      }
      return sum;
    }
  };

  static void adopt(const Config& config, State& state) {
    if (fits(config, state)) return;
    const std::int64_t newest = newest_part(config, state);
    Cells counts(static_cast<std::size_t>(config.counted));
    if (newest != none) counts[ring_at(config, newest)] = Ring(config, state).count_of(newest);
    state.counts = std::move(counts);
  }
};

}  // namespace weir
