// The sliding log.
#pragma once

#include <algorithm>
#include <utility>

#include "weir/algorithm/cells.hpp"
#include "weir/algorithm/inherit.hpp"

namespace weir {

/// Sliding log: the instant of every unit granted. Exact, at the price of memory.
///
/// Bound    limit in any half-open window of one period
/// Memory   16 bytes a key, and 8 for each unit; grows with use up to the limit
/// Refusal  leaves the state as it was
/// Source   the log of request times; refusals are not logged, so knocking does not lock out
struct SlidingLog {
  /// Of one key's log: 800 kB, and as many steps for one request of that cost. A sliding window
  /// counts more in less.
  static constexpr Cost most_entries = 100'000;

  struct Config {
    Cost limit = 1;
    Span period{1};
    bool operator==(const Config&) const = default;
  };

  struct State {
    Cells ring;  ///< instants in ticks, oldest at `head`
    std::uint32_t head = 0;
    std::uint32_t size = 0;

    friend bool operator==(const State& left, const State& right) noexcept {
      if (left.size != right.size) return false;
      for (std::uint32_t at = 0; at < left.size; ++at) {
        if (left[at] != right[at]) return false;
      }
      return true;
    }

    /// The instants from the oldest (0) to the newest (size - 1).
    Instant operator[](std::uint32_t at) const noexcept { return Instant{Span{ring[slot(at)]}}; }
    std::size_t slot(std::uint32_t at) const noexcept {
      const std::size_t index = std::size_t{head} + at;
      return index < ring.size() ? index : index - ring.size();
    }
  };

  struct Settings {
    Cost count;
    Span period;
  };

  /// Errors:
  ///   not_positive  a number is zero or less
  ///   too_long      period above longest_span
  ///   too_many      count above most_entries
  static constexpr Expected<Config, ConfigError> configure(Settings wanted) noexcept {
    if (wanted.count <= 0 || wanted.period <= Span{0}) return ConfigError::not_positive;
    if (wanted.period > longest_span) return ConfigError::too_long;
    if (wanted.count > most_entries) return ConfigError::too_many;
    return Config{wanted.count, wanted.period};
  }

  static constexpr Cost capacity(const Config& config) noexcept { return config.limit; }

  static constexpr std::optional<Span> own_wait(const Config&, Cost) noexcept { return {}; }

  /// One look: the unit that must have left is the one `limit - cost` before the newest.
  static Instant earliest(const Config& config, const State& state, Instant now,
                          Cost cost) noexcept {
    if (state.size == 0) return now;
    const Instant first = std::max(now, state[state.size - 1]);
    const Cost stay = config.limit - cost;
    if (state.size <= stay) return first;
    return std::max(first,
                    state[state.size - 1 - static_cast<std::uint32_t>(stay)] + config.period);
  }

  static void charge(const Config& config, State& state, Instant at, Cost cost) {
    // Entries stay in order; on a shared state a later one may be there already.
    if (state.size > 0) at = std::max(at, state[state.size - 1]);
    // Entries that have left by `at` stay while there is room: the grant may be cancelled, and the
    // time may then be before they leave.
    for (Cost unit = 0; unit < cost; ++unit) {
      while (state.size >= config.limit) drop_oldest(state);
      if (state.size == state.ring.size()) grow(config, state);
      state.ring[state.slot(state.size)] = at.time_since_epoch().count();
      ++state.size;
    }
  }

  static Room room(const Config& config, const State& state, Instant now) noexcept {
    if (state.size > 0 && state[state.size - 1] > now) return {config.limit, 0};
    return {config.limit,
            std::max<Cost>(0, config.limit - (state.size - left_by(config, state, now)))};
  }

  static Instant fresh_at(const Config& config, const State& state) noexcept {
    return state.size == 0 ? Instant::min() : state[state.size - 1] + config.period;
  }

  static FineInstant* mark(const Config&, const State&, FineInstant* to) noexcept {
    *to = {};  // a grant's entries are those of its instant
    return to + 1;
  }

  static Cost cancel(const Config& config, State& state, Instant, const Grant& grant,
                     const FineInstant*) noexcept {
    std::uint32_t end = state.size;  // just behind the entries of the grant's instant
    while (end > 0 && state[end - 1] > grant.acts_at) --end;
    std::uint32_t begin = end;
    while (begin > 0 && end - begin < grant.cost && state[begin - 1] == grant.acts_at) --begin;
    for (std::uint32_t from = end; from < state.size; ++from) {
      state.ring[state.slot(begin + from - end)] = state.ring[state.slot(from)];
    }
    const std::uint32_t before = std::exchange(state.size, state.size - (end - begin));
    if (before >= config.limit) {
      put_back(state, end - begin, grant.acts_at - config.period);
    }
    return end - begin;
  }

  /// Takes the newest entries out.
  static Cost refund(const Config& config, State& state, Instant now, Cost units) noexcept {
    const std::uint32_t inside = state.size - left_by(config, state, now);
    const auto back = static_cast<std::uint32_t>(std::min<Cost>(units, inside));
    if (back == 0) return 0;
    const Instant newest = state[state.size - 1];
    const std::uint32_t before = std::exchange(state.size, state.size - back);
    if (before >= config.limit) put_back(state, back, newest - config.period);
    return back;
  }

  /// A grant is counted apart, in its own instant.
  static void withdraw(const Config& config, State& state, Instant now,
                       const Withdrawal& withdrawal) noexcept {
    static_cast<void>(cancel(config, state, now, {withdrawal.units, withdrawal.taken_at}, nullptr));
  }

  /// What was used counts as used now, so a window forgets it one period from here. There may be
  /// more entries than the limit after.
  static State inherit(const Kept<SlidingLog>& before, const Successor<SlidingLog>& after,
                       Inherit how) {
    const State& was = before.state;
    const Cost inside = was.size - left_by(before.config, was, before.now);
    const Cost used = inherited_use(inside, {before.config.limit, after.config.limit}, how);
    State state;
    if (used == 0) return state;
    const Instant at = was.size > 0 ? std::max(after.now, was[was.size - 1]) : after.now;
    state.ring = Cells(static_cast<std::size_t>(used));
    state.size = static_cast<std::uint32_t>(used);
    for (std::uint32_t unit = 0; unit < state.size; ++unit) {
      state.ring[unit] = at.time_since_epoch().count();
    }
    return state;
  }

  /// Entries further ahead count as granted `slack` from now.
  static void settle(const Config&, State& state, Instant now, Span slack) noexcept {
    const Instant latest = now + slack;
    for (std::uint32_t at = state.size; at > 0 && state[at - 1] > latest; --at) {
      state.ring[state.slot(at - 1)] = latest.time_since_epoch().count();
    }
  }

  static constexpr Cost bound(const Config& config, Span length, Cost) noexcept {
    if (length <= Span{0}) return 0;
    return ((length.count() - 1) / config.period.count() + 1) >
                   (std::int64_t{1} << 62) / config.limit
               ? std::int64_t{1} << 62
               : ((length.count() - 1) / config.period.count() + 1) * config.limit;
  }

 private:
  /// How many of the oldest entries have left the window that ends at `now`.
  static std::uint32_t left_by(const Config& config, const State& state, Instant now) noexcept {
    std::uint32_t low = 0;
    std::uint32_t high = state.size;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (state[middle] + config.period <= now) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /// In the place of units given back: what had to leave for them, none of it later than `latest`.
  /// Only where the log is full has anything left for want of room.
  static void put_back(State& state, std::uint32_t units, Instant latest) noexcept {
    if (state.size > 0) latest = std::min(latest, state[0]);
    for (std::uint32_t unit = 0; unit < units; ++unit) {
      state.head =
          static_cast<std::uint32_t>(state.slot(static_cast<std::uint32_t>(state.ring.size()) - 1));
      state.ring[state.head] = latest.time_since_epoch().count();
      ++state.size;
    }
  }

  static void drop_oldest(State& state) noexcept {
    state.head = static_cast<std::uint32_t>(state.slot(1));
    --state.size;
  }

  static void grow(const Config& config, State& state) {
    const std::size_t wanted = std::max<std::size_t>(4, state.ring.size() * 2);
    Cells larger(std::min(wanted, static_cast<std::size_t>(config.limit)));
    for (std::uint32_t at = 0; at < state.size; ++at) larger[at] = state.ring[state.slot(at)];
    state.ring = std::move(larger);
    state.head = 0;
  }
};

}  // namespace weir
