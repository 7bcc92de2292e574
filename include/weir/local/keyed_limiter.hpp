// Any limit for each of many keys.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "weir/local/clocks.hpp"
#include "weir/local/keyed_limits.hpp"
#include "weir/local/silent_on_keys.hpp"

namespace weir {

/// Any limit that has a text, for each key:
///
///   weir::KeyedLimiter<std::string> per_user("10/1s & 1000/1d", {.max_keys = 100'000});
///   if (!per_user.try_acquire(user)) return reply_429();
///
/// Keys are kept, so no two share a state, as long as there are no more than max_keys with a debt;
/// what happens then, Table says. Where a token bucket will do, KeyedTokenBucket is several times
/// as fast in a third of the memory.
///
/// Limiters made with one store can be asked together: try_acquire_all().
///
/// Memory   about 60 bytes a key and the key beyond its first 16; logs and several limits more
/// Cost     one lock of 32, one cache miss
/// Threads  safe from any thread
/// Errors   std::invalid_argument for a text that is no limit, bad_alloc
template <KeyType Key, typename Clock = DefaultClock, typename Listener = SilentOnKeys>
class KeyedLimiter {
 public:
  using Argument = KeyArgument<Key>;

  explicit KeyedLimiter(std::string_view limit, const Table::Settings& settings = {},
                        Clock clock = {}, Listener listener = {})
      : KeyedLimiter(std::make_shared<KeyedStore>(settings), limit, std::move(clock),
                     std::move(listener)) {}
  /// One that keeps its states where others do.
  explicit KeyedLimiter(std::shared_ptr<KeyedStore> store, std::string_view limit, Clock clock = {},
                        Listener listener = {})
      : limits_(std::move(store), Limit::of(limit)),
        clock_(std::move(clock)),
        listener_(std::move(listener)) {}

  Outcome try_acquire(Argument key, Cost cost = 1) { return try_acquire(key, cost, clock_.now()); }
  Outcome try_acquire(Argument key, Cost cost, SteadyInstant now) {
    const Outcome outcome = limits_.take({bytes_of<Key>(key)}, now, cost);
    listener_(key, cost, outcome);
    return outcome;
  }

  /// Each of the keys in turn, as by itself, with one reading of the clock and memory fetched
  /// ahead. Requires room for as many outcomes.
  template <typename Keys>
  void try_acquire_many(const Keys& keys, Cost cost, std::span<Outcome> outcomes) {
    try_acquire_many(keys, cost, outcomes, clock_.now());
  }
  template <typename Keys>
  void try_acquire_many(const Keys& keys, Cost cost, std::span<Outcome> outcomes,
                        SteadyInstant now) {
    constexpr std::size_t ahead = 16;
    std::array<KeyedLimits::Named, ahead> named{};
    const std::size_t count = std::min(std::size(keys), outcomes.size());
    for (std::size_t begin = 0; begin < count; begin += ahead) {
      const std::size_t end = std::min(count, begin + ahead);
      for (std::size_t at = begin; at < end; ++at) {
        named[at - begin] = limits_.prefetch(bytes_of<Key>(keys[at]));
      }
      for (std::size_t at = begin; at < end; ++at) {
        outcomes[at] = limits_.take(named[at - begin], now, cost);
        listener_(keys[at], cost, outcomes[at]);
      }
    }
  }

  /// What try_acquire() would answer, and how the key stands.
  Standing peek(Argument key, Cost cost = 1) { return peek(key, cost, clock_.now()); }
  Standing peek(Argument key, Cost cost, SteadyInstant now) {
    return limits_.peek(bytes_of<Key>(key), now, cost);
  }

  /// Returns how many of the units were still owed, and are not any more.
  Cost refund(Argument key, Cost units) { return refund(key, units, clock_.now()); }
  Cost refund(Argument key, Cost units, SteadyInstant now) {
    return limits_.refund(bytes_of<Key>(key), now, units);
  }

  /// As if the key had never asked for units that it was granted at once; see OfKey.
  void withdraw(Argument key, Cost units, const Outcome& granted, SteadyInstant now) {
    limits_.withdraw(bytes_of<Key>(key), now, units, granted);
  }

  /// Forgets what the key took; false where nothing was kept for it alone.
  bool reset(Argument key) { return limits_.reset(bytes_of<Key>(key)); }

  /// Gives a key a limit of its own, for good; calling it again changes it. What the key used
  /// before counts as `how` says. False where KeyedLimits::most_overrides keys have one, or where
  /// the store has no room for the state.
  [[nodiscard]] bool override_for(Argument key, std::string_view limit,
                                  Inherit how = Inherit::additive) {
    return override_for(key, limit, how, clock_.now());
  }
  [[nodiscard]] bool override_for(Argument key, std::string_view limit, Inherit how,
                                  SteadyInstant now) {
    return limits_.override_for(bytes_of<Key>(key), Limit::of(limit), how, now);
  }

  /// Another limit for all keys that have none of their own. A key without debt is then as one
  /// never seen. Nobody decides while states are carried over, some 100 ns each.
  void reconfigure(std::string_view to, Inherit how = Inherit::additive) {
    reconfigure(to, how, clock_.now());
  }
  void reconfigure(std::string_view to, Inherit how, SteadyInstant now) {
    limits_.reconfigure(Limit::of(to), how, now);
  }

  /// A key's part in try_acquire_all(). It holds the key by reference.
  KeyedLimits::Claim claim(Argument key, Cost cost = 1) {
    return {&limits_, bytes_of<Key>(key), cost};
  }

  Table::Stats stats() const { return limits_.store().table().stats(); }
  const Clock& clock() const noexcept { return clock_; }

 private:
  KeyedLimits limits_;
  [[no_unique_address]] Clock clock_;
  [[no_unique_address]] Listener listener_;
};

/// Several keys under several limits, all or none, at one instant. A key that is named twice under
/// one limiter pays for both. Listeners do not hear of it.
///
///   weir::try_acquire_all({per_user.claim(user), per_address.claim(address)}, clock.now());
///
/// Throws std::invalid_argument unless there are 1 to 16 claims, all of one store.
inline KeyedLimits::Joint try_acquire_all(std::initializer_list<KeyedLimits::Claim> claims,
                                          SteadyInstant now = DefaultClock{}.now()) {
  return KeyedLimits::take_all({claims.begin(), claims.size()}, now);
}
inline KeyedLimits::Joint try_acquire_all(std::span<const KeyedLimits::Claim> claims,
                                          SteadyInstant now = DefaultClock{}.now()) {
  return KeyedLimits::take_all(claims, now);
}

}  // namespace weir
