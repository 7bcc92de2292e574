// What counters share that start again when their window turns, whatever cuts time into windows.
#pragma once

#include <algorithm>

#include "weir/algorithm/inherit.hpp"

namespace weir {

/// A stretch of time that is counted by itself: half-open, [begin, turns_at).
struct Window {
  Instant begin;
  Instant turns_at;  ///< where the next one begins
  bool operator==(const Window&) const = default;
};

/// What so many windows may grant.
constexpr Cost granted_in(std::int64_t windows, Cost limit) noexcept {
  constexpr Cost most = std::int64_t{1} << 62;
  return windows > most / limit ? most : windows * limit;
}

/// What a counter over windows of these numbers remembers.
template <typename Numbers>
struct CountedState {
  Instant window = Instant::min();  ///< the start of the last window that granted
  Cost used = 0;
  bool operator==(const CountedState&) const = default;
};

/// All that a counter does, but for settle(), bound() and how its numbers are made. The config says
/// the limit, and by window_at(instant) which window an instant lies in: windows leave no gap, do
/// not overlap and never come again.
template <typename Numbers>
struct WindowCounter {
  using Config = Numbers;
  using State = CountedState<Numbers>;

  static constexpr Cost capacity(const Config& config) noexcept { return config.limit; }

  static constexpr std::optional<Span> own_wait(const Config&, Cost) noexcept { return {}; }

  static constexpr Instant earliest(const Config& config, const State& state, Instant now,
                                    Cost cost) noexcept {
    const Seen at = seen(config, state, now);
    const Instant open = at.used + cost <= config.limit ? at.window.begin : at.window.turns_at;
    return std::max(now, open);
  }

  static constexpr void charge(const Config& config, State& state, Instant at, Cost cost) noexcept {
    const Seen before = seen(config, state, at);
    if (before.window.begin > at) return;  // only on a shared state: a later window is counted
    state = {before.window.begin, std::min(before.used + cost, config.limit)};
  }

  static constexpr Room room(const Config& config, const State& state, Instant now) noexcept {
    const Seen at = seen(config, state, now);
    return {config.limit, at.window.begin > now ? 0 : std::max<Cost>(0, config.limit - at.used)};
  }

  static constexpr Instant fresh_at(const Config& config, const State& state) noexcept {
    if (state.window == Instant::min()) return Instant::min();
    return state.used > 0 ? config.window_at(state.window).turns_at : state.window;
  }

  static constexpr FineInstant* mark(const Config&, const State&, FineInstant* to) noexcept {
    *to = {};  // a grant's instant tells its window
    return to + 1;
  }

  static constexpr Cost cancel(const Config& config, State& state, Instant, const Grant& grant,
                               const FineInstant*) noexcept {
    if (config.window_at(grant.acts_at).begin != state.window) return 0;
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

  /// The same window, where it is cut as before.
  template <typename M>
  static constexpr State inherit(const Kept<M>& before, const Successor<M>& after,
                                 Inherit how) noexcept {
    const Seen at = seen(before.config, before.state, before.now);
    const Cost used = inherited_use(at.used, {before.config.limit, after.config.limit}, how);
    if (used == 0) return {};
    return {after.config.window_at(std::max(after.now, at.window.begin)).begin, used};
  }

 private:
  /// The window that counts, and how much of it is used.
  struct Seen {
    Window window;
    Cost used;
  };

  /// At `now` it is the state's own when that lies ahead (a deferred grant, a late reading of the
  /// clock), else the one that `now` is in.
  static constexpr Seen seen(const Config& config, const State& state, Instant now) noexcept {
    const Window current = config.window_at(now);
    if (state.window == current.begin) return {current, state.used};
    if (state.window < current.begin) return {current, 0};
    // Under new numbers the kept instant need not start a window.
    return {config.window_at(state.window), state.used};
  }
};

}  // namespace weir
