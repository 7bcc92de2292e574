// The fixed window counter.
#pragma once

#include <algorithm>

#include "weir/algorithm/inherit.hpp"

namespace weir {

/// The window of the given width, aligned to the clock's epoch, that an instant lies in.
constexpr Instant window_of(Instant at, Span width) noexcept {
  const std::int64_t ticks = at.time_since_epoch().count();
  std::int64_t into = ticks % width.count();
  if (into < 0) into += width.count();
  return at - Span{into};
}

/// How many aligned windows of the width a half-open span of this length can touch.
constexpr std::int64_t windows_touched(Span length, Span width) noexcept {
  return length <= Span{1} ? length.count() : (length - Span{2}) / width + 2;
}

/// Fixed window: a counter that starts again when the window turns.
///
/// Bound    limit for each window touched: twice the limit across one boundary, within an instant
/// Memory   16 bytes a key
/// Refusal  leaves the state as it was
/// Source   the counter with expiry that every key-value store can keep
struct FixedWindow {
  struct Config {
    Cost limit = 1;
    Span period{1};
    bool operator==(const Config&) const = default;
  };

  struct State {
    Instant window = Instant::min();  ///< the start of the last window that granted
    Cost used = 0;
    bool operator==(const State&) const = default;
  };

  struct Settings {
    Cost count;
    Span period;
  };

  /// Errors:
  ///   not_positive  a number is zero or less
  ///   too_long      period above longest_span, or count above 2^50
  static constexpr Expected<Config, ConfigError> configure(Settings wanted) noexcept {
    if (wanted.count <= 0 || wanted.period <= Span{0}) return ConfigError::not_positive;
    if (wanted.period > longest_span || wanted.count > longest_span.count()) {
      return ConfigError::too_long;
    }
    return Config{wanted.count, wanted.period};
  }

  static constexpr Cost capacity(const Config& config) noexcept { return config.limit; }

  static constexpr std::optional<Span> own_wait(const Config&, Cost) noexcept { return {}; }

  static constexpr Instant earliest(const Config& config, const State& state, Instant now,
                                    Cost cost) noexcept {
    const State at = seen(config, state, now);
    const Instant open = at.used + cost <= config.limit ? at.window : at.window + config.period;
    return std::max(now, open);
  }

  static constexpr void charge(const Config& config, State& state, Instant at, Cost cost) noexcept {
    const State before = seen(config, state, at);
    if (before.window > at) return;  // only on a shared state: a later window is counted already
    state = {before.window, std::min(before.used + cost, config.limit)};
  }

  static constexpr Room room(const Config& config, const State& state, Instant now) noexcept {
    const State at = seen(config, state, now);
    return {config.limit, at.window > now ? 0 : std::max<Cost>(0, config.limit - at.used)};
  }

  static constexpr Instant fresh_at(const Config& config, const State& state) noexcept {
    if (state.window == Instant::min()) return Instant::min();
    return state.used > 0 ? window_of(state.window, config.period) + config.period : state.window;
  }

  static constexpr FineInstant* mark(const Config&, const State&, FineInstant* to) noexcept {
    *to = {};  // a grant's instant tells its window
    return to + 1;
  }

  static constexpr Cost cancel(const Config& config, State& state, Instant, const Grant& grant,
                               const FineInstant*) noexcept {
    if (window_of(grant.acts_at, config.period) != state.window) return 0;
    const Cost units = std::min(grant.cost, state.used);
    state.used -= units;
    return units;
  }

  static constexpr Cost refund(const Config& config, State& state, Instant now,
                               Cost units) noexcept {
    if (fresh_at(config, state) <= now) return 0;
    const Cost back = std::min(units, state.used);
    state.used -= back;
    return back;
  }

  /// A grant is counted apart, in its own window.
  static constexpr void withdraw(const Config& config, State& state, Instant now,
                                 const Withdrawal& withdrawal) noexcept {
    static_cast<void>(cancel(config, state, now, {withdrawal.units, withdrawal.taken_at}, nullptr));
  }

  /// The same window, where the period stays.
  static constexpr State inherit(const Kept<FixedWindow>& before,
                                 const Successor<FixedWindow>& after, Inherit how) noexcept {
    const State at = seen(before.config, before.state, before.now);
    const Cost used = inherited_use(at.used, {before.config.limit, after.config.limit}, how);
    if (used == 0) return {};
    return {window_of(std::max(after.now, at.window), after.config.period), used};
  }

  /// One period further than the grants that may be there: a window that begins a second time is
  /// not granted a second time.
  static constexpr void settle(const Config& config, State& state, Instant now,
                               Span slack) noexcept {
    const Instant latest = now + slack + config.period;
    if (state.window > latest) state.window = window_of(latest, config.period);
  }

  static constexpr Cost bound(const Config& config, Span length, Cost) noexcept {
    if (length <= Span{0}) return 0;
    constexpr Cost most = std::int64_t{1} << 62;
    const std::int64_t windows = windows_touched(length, config.period);
    return windows > most / config.limit ? most : windows * config.limit;
  }

 private:
  /// The window that counts at `now`: the state's own when it lies ahead (a deferred grant, a late
  /// reading of the clock), else the one that `now` is in.
  static constexpr State seen(const Config& config, const State& state, Instant now) noexcept {
    const Instant current = window_of(now, config.period);
    if (state.window == current) return state;
    if (state.window < current) return {current, 0};
    // Under new numbers the kept instant need not start a window.
    return {window_of(state.window, config.period), state.used};
  }
};

}  // namespace weir
