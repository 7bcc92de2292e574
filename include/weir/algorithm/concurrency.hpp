// How many at once.
#pragma once

#include <algorithm>

#include "weir/algorithm/cells.hpp"
#include "weir/algorithm/inherit.hpp"

namespace weir {

/// Concurrency: so much at once. A grant is a permit that counts until its holder leaves, and at
/// the longest until its lease ends: a holder that crashed frees itself.
///
/// Bound    limit in flight at any instant; so limit in any half-open window of one lease, of
///          permits that nobody gave back
/// Memory   16 bytes a key, 32 once used, and 24 for each permit; grows with use up to the limit
/// Refusal  leaves the state as it was; ready_at is when enough leases end, if nobody leaves or
///          renews before
/// Source   a counting semaphore, its permits under leases: C. Gray and D. Cheriton, "Leases: an
///          efficient fault-tolerant mechanism for distributed file cache consistency", 1989
struct Concurrency {
  /// Of one key: 240 kB, and as many steps for a leave at the worst.
  static constexpr Cost most_permits = 10'000;

  struct Config {
    Cost limit = 1;
    Span lease{1};
    bool operator==(const Config&) const = default;
  };

  struct Entry {
    Instant leaves_at{};
    PermitId permit = PermitId::none;
    Cost weight = 0;
    bool operator==(const Entry&) const = default;
  };

  /// Entries in the order in which they end, oldest at `head` of a ring. In front of the ring the
  /// latest permit, the instant of the latest grant, and the weight of all entries.
  struct State {
    Cells cells;
    std::uint32_t head = 0;
    std::uint32_t size = 0;

    PermitId latest() const noexcept { return cells.empty() ? PermitId::none : PermitId{cells[0]}; }
    Instant granted_at() const noexcept {
      return cells.empty() ? Instant::min() : Instant{Span{cells[1]}};
    }
    Cost weight() const noexcept { return cells.empty() ? 0 : cells[2]; }

    /// From the one that ends first (0) to the one that ends last (size - 1).
    Entry operator[](std::uint32_t at) const noexcept {
      const std::size_t cell = cell_of(at);
      return {Instant{Span{cells[cell]}}, PermitId{cells[cell + 1]}, cells[cell + 2]};
    }

    friend bool operator==(const State& left, const State& right) noexcept {
      if (left.size != right.size || left.latest() != right.latest()) return false;
      if (left.granted_at() != right.granted_at()) return false;
      for (std::uint32_t at = 0; at < left.size; ++at) {
        if (left[at] != right[at]) return false;
      }
      return true;
    }

    std::uint32_t slots() const noexcept {
      return cells.empty() ? 0 : static_cast<std::uint32_t>((cells.size() - front) / fields);
    }
    std::size_t cell_of(std::uint32_t at) const noexcept {
      const std::size_t slot = std::size_t{head} + at;
      return front + fields * (slot < slots() ? slot : slot - slots());
    }
    void put(std::uint32_t at, const Entry& entry) noexcept {
      const std::size_t cell = cell_of(at);
      cells[cell] = entry.leaves_at.time_since_epoch().count();
      cells[cell + 1] = static_cast<std::int64_t>(entry.permit);
      cells[cell + 2] = entry.weight;
    }
  };

  /// Cells of a state that has room for so many permits.
  static constexpr std::size_t cells_for(std::size_t permits) noexcept {
    return front + fields * permits;
  }

  struct Settings {
    Cost count;
    Span lease;
  };

  /// Errors:
  ///   not_positive  a number is zero or less
  ///   too_long      lease above longest_span
  ///   too_many      count above most_permits
  static constexpr Expected<Config, ConfigError> configure(Settings wanted) noexcept {
    if (wanted.count <= 0 || wanted.lease <= Span{0}) return ConfigError::not_positive;
    if (wanted.lease > longest_span) return ConfigError::too_long;
    if (wanted.count > most_permits) return ConfigError::too_many;
    return Config{wanted.count, wanted.lease};
  }

  static constexpr Cost capacity(const Config& config) noexcept { return config.limit; }

  /// Nobody waits in line: a place that is promised ahead would be lost to each holder that renews.
  static constexpr std::optional<Span> own_wait(const Config&, Cost) noexcept { return Span{0}; }

  /// When the leases end that leave room, the first to end first. Not before the latest grant: what
  /// had ended by then is forgotten.
  static Instant earliest(const Config& config, const State& state, Instant now,
                          Cost cost) noexcept {
    Instant first = std::max(now, state.granted_at());
    Cost held = state.weight();
    for (std::uint32_t at = 0; held + cost > config.limit && at < state.size; ++at) {
      const Entry entry = state[at];
      first = std::max(first, entry.leaves_at);
      held -= entry.weight;
    }
    return first;
  }

  static void charge(const Config& config, State& state, Instant at, Cost cost) {
    at = std::max(at, state.granted_at());
    if (state.size == state.slots() && state.size < config.limit) grow(config, state);
    while (state.size > 0 && state[0].leaves_at <= at) erase(state, 0);
    // On a shared state there may be no room: those that end first make it, so that at every
    // instant to come it counts as many as are there, or the limit.
    while (state.size > 0 && state.weight() + cost > config.limit) {
      shed(state, state.weight() + cost - config.limit);
    }
    const std::int64_t now = at.time_since_epoch().count();
    state.cells[0] = std::max(state.cells[0] + 1, now);
    state.cells[1] = now;
    insert(state, {at + config.lease, state.latest(), cost});
  }

  static Room room(const Config& config, const State& state, Instant now) noexcept {
    if (state.granted_at() > now) return {config.limit, 0};
    return {config.limit, std::max<Cost>(0, config.limit - held(state, now))};
  }

  /// A state that begins anew counts its permits from the time, so one whose numbers have run ahead
  /// of it is kept until then: no permit is given twice.
  static Instant fresh_at(const Config&, const State& state) noexcept {
    if (state.cells.empty()) return Instant::min();
    const Instant unused{Span{state.cells[0] + 1}};
    return state.size == 0 ? unused : std::max(unused, state[state.size - 1].leaves_at);
  }

  /// The permit, for the state's latest grant.
  static FineInstant* mark(const Config&, const State& state, FineInstant* to) noexcept {
    *to = state.cells.empty() ? FineInstant{} : FineInstant{Instant{Span{state.cells[0]}}, 0};
    return to + 1;
  }
  static constexpr PermitId permit_of(const FineInstant& mark) noexcept {
    if (mark.whole == Instant::min()) return PermitId::none;
    return PermitId{mark.whole.time_since_epoch().count()};
  }

  static Cost cancel(const Config& config, State& state, Instant now, const Grant&,
                     const FineInstant* mark) noexcept {
    return leave(config, state, now, permit_of(*mark));
  }

  /// Nothing: units of no permit in particular are those of somebody who is still inside.
  static constexpr Cost refund(const Config&, State&, Instant, Cost) noexcept { return 0; }

  /// Of those who entered with such units at that instant, the last: to the count all are alike.
  static void withdraw(const Config& config, State& state, Instant now,
                       const Withdrawal& withdrawal) noexcept {
    const Instant leaves_at = withdrawal.taken_at + config.lease;
    for (std::uint32_t at = state.size; at > 0 && leaves_at > now; --at) {
      const Entry entry = state[at - 1];
      if (entry.leaves_at != leaves_at || entry.weight != withdrawal.units) continue;
      return erase(state, at - 1);
    }
  }

  static Cost leave(const Config&, State& state, Instant now, PermitId permit) noexcept {
    const std::uint32_t at = find(state, now, permit);
    if (at == state.size) return 0;
    const Cost weight = state[at].weight;
    erase(state, at);
    return weight;
  }

  static Span renew(const Config& config, State& state, Instant now, PermitId permit) noexcept {
    const std::uint32_t at = find(state, now, permit);
    if (at == state.size) return Span{0};
    Entry entry = state[at];
    entry.leaves_at = std::max(entry.leaves_at, now + config.lease);
    erase(state, at);
    insert(state, entry);
    return entry.leaves_at - now;
  }

  /// Who is inside stays inside: under every way of counting but reset each permit counts as it
  /// did. There may be more than the limit after; then nobody enters until enough have left.
  static State inherit(const Kept<Concurrency>& before, const Successor<Concurrency>& after,
                       Inherit how) {
    if (how == Inherit::reset) return {};
    State state = before.state;
    if (state.cells.empty()) return state;
    const Span shift = after.now - before.now;
    state.cells[1] += shift.count();
    for (std::uint32_t at = 0; at < state.size; ++at) {
      Entry entry = state[at];
      entry.leaves_at += shift;
      state.put(at, entry);
    }
    return state;
  }

  /// Leases that end further ahead end `slack` and a lease from now.
  static void settle(const Config& config, State& state, Instant now, Span slack) noexcept {
    if (state.cells.empty()) return;
    const Instant latest = now + slack;
    if (state.granted_at() > latest) state.cells[1] = latest.time_since_epoch().count();
    for (std::uint32_t at = state.size; at > 0; --at) {
      Entry entry = state[at - 1];
      if (entry.leaves_at <= latest + config.lease) break;
      entry.leaves_at = latest + config.lease;
      state.put(at - 1, entry);
    }
  }

  /// Of what was not given back, exactly that of a sliding log.
  static constexpr Cost bound(const Config& config, Span length, Cost) noexcept {
    if (length <= Span{0}) return 0;
    constexpr Cost most = Cost{1} << 62;
    const std::int64_t leases = (length.count() - 1) / config.lease.count() + 1;
    return leases > most / config.limit ? most : leases * config.limit;
  }

 private:
  static constexpr std::size_t front = 3;   ///< cells before the ring
  static constexpr std::size_t fields = 3;  ///< cells of an entry

  static Cost held(const State& state, Instant now) noexcept {
    Cost held = state.weight();
    for (std::uint32_t at = 0; at < state.size; ++at) {
      const Entry entry = state[at];
      if (entry.leaves_at > now) break;
      held -= entry.weight;
    }
    return held;
  }

  /// Of a permit that is still inside; the size where there is none.
  static std::uint32_t find(const State& state, Instant now, PermitId permit) noexcept {
    const Instant at_least = std::max(now, state.granted_at());
    for (std::uint32_t at = 0; at < state.size; ++at) {
      const Entry entry = state[at];
      if (entry.permit == permit) return entry.leaves_at > at_least ? at : state.size;
    }
    return state.size;
  }

  /// Requires room.
  static void insert(State& state, const Entry& entry) noexcept {
    std::uint32_t at = state.size++;
    for (; at > 0 && state[at - 1].leaves_at > entry.leaves_at; --at) state.put(at, state[at - 1]);
    state.put(at, entry);
    state.cells[2] += entry.weight;
  }

  /// Those before it move: who came first mostly leaves first.
  static void erase(State& state, std::uint32_t at) noexcept {
    state.cells[2] -= state[at].weight;
    for (; at > 0; --at) state.put(at, state[at - 1]);
    state.head = state.head + 1 < state.slots() ? state.head + 1 : 0;
    --state.size;
  }

  /// Takes so many units from the entry that ends first, or all of it.
  static void shed(State& state, Cost units) noexcept {
    Entry entry = state[0];
    if (entry.weight <= units) return erase(state, 0);
    entry.weight -= units;
    state.cells[2] -= units;
    state.put(0, entry);
  }

  static void grow(const Config& config, State& state) {
    const auto wanted = std::max<std::size_t>(4, std::size_t{state.slots()} * 2);
    State larger;
    larger.cells = Cells(cells_for(std::min(wanted, static_cast<std::size_t>(config.limit))));
    larger.cells[0] = static_cast<std::int64_t>(state.latest());
    larger.cells[1] = state.granted_at().time_since_epoch().count();
    for (std::uint32_t at = 0; at < state.size; ++at) larger.put(at, state[at]);
    larger.cells[2] = state.weight();
    larger.size = state.size;
    state = std::move(larger);
  }
};

}  // namespace weir
