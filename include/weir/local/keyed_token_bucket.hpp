// A token bucket for each of many keys.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "weir/local/clocks.hpp"
#include "weir/local/key_name.hpp"
#include "weir/local/keyed_words.hpp"
#include "weir/local/silent_on_keys.hpp"

namespace weir {

/// A token bucket for each key, 16 bytes each, in memory that never grows:
///
///   weir::KeyedTokenBucket<std::string> per_user(
///       {.count = 20, .period = 1s, .burst = 40, .max_keys = 100'000});
///   if (!per_user.try_acquire(user)) return reply_429();
///
/// Keys are known by a secret hash of 64 bits. Two keys may share one bucket: among n keys, with a
/// chance below n / 2^46. They are then denied sooner, never granted more. Beyond max_keys keys in
/// debt at one time, further ones share words: nobody is granted more than alone, strangers may be
/// denied. A key whose debt is repaid is as one never seen.
///
/// A clock reading older than the newest that a key was granted at mints nothing. A cost of 0 asks
/// without taking; a negative one is impossible.
///
/// Memory   27 to 31 bytes for each of max_keys, 5 KB at least; 500 for each key with a quota of
/// its
///          own
/// Cost     granted: one line of memory, one swap and two stores; refused: one line, read only
/// Threads  safe from any thread; a decision waits for no other key's
/// Errors   the constructor throws std::invalid_argument for numbers that make no limit, bad_alloc
template <KeyType Key, typename Clock = DefaultClock, typename Listener = SilentOnKeys>
class KeyedTokenBucket {
 public:
  using Argument = KeyArgument<Key>;

  struct Settings {
    Cost count;  ///< units in each period, for each key
    std::chrono::nanoseconds period;
    Cost burst;  ///< units granted at once after a rest
    std::size_t max_keys;
    HashKey hash_key = HashKey::random();
  };

  explicit KeyedTokenBucket(const Settings& settings, Clock clock = {}, Listener listener = {})
      : names_(settings.hash_key),
        words_(configured({settings.count, settings.period, settings.burst}),
               checked(settings.max_keys)),
        clock_(std::move(clock)),
        listener_(std::move(listener)) {}

  Outcome try_acquire(Argument key, Cost cost = 1) { return try_acquire(key, cost, clock_.now()); }
  Outcome try_acquire(Argument key, Cost cost, SteadyInstant now) {
    const Outcome outcome = words_.take(name(key), now, cost);
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
    std::array<std::uint64_t, ahead> names{};
    const std::size_t count = std::min(std::size(keys), outcomes.size());
    for (std::size_t begin = 0; begin < count; begin += ahead) {
      const std::size_t end = std::min(count, begin + ahead);
      for (std::size_t at = begin; at < end; ++at) {
        names[at - begin] = name(keys[at]);
        words_.prefetch(names[at - begin]);
      }
      for (std::size_t at = begin; at < end; ++at) {
        outcomes[at] = words_.take(names[at - begin], now, cost);
        listener_(keys[at], cost, outcomes[at]);
      }
    }
  }

  /// What try_acquire() would answer, and how the key stands.
  Standing peek(Argument key, Cost cost = 1) { return peek(key, cost, clock_.now()); }
  Standing peek(Argument key, Cost cost, SteadyInstant now) {
    return words_.peek(name(key), now, cost);
  }

  /// Returns how many of the units were still owed, and are not any more; none by a key that
  /// shares.
  Cost refund(Argument key, Cost units) { return refund(key, units, clock_.now()); }
  Cost refund(Argument key, Cost units, SteadyInstant now) {
    return words_.refund(name(key), now, units);
  }

  /// As if the key had never asked for units that it was granted at once; see OfKey.
  void withdraw(Argument key, Cost units, const Outcome& granted, SteadyInstant now) noexcept {
    words_.withdraw(name(key), now, units, granted);
  }

  /// Forgets what the key took; false where nothing was kept for it alone.
  bool reset(Argument key) { return words_.reset(name(key), clock_.now()); }

  /// Gives a key numbers of its own, for good; calling it again changes them. What the key used
  /// before counts as `how` says. False where KeyedWords::most_overrides keys have their own.
  /// Throws std::invalid_argument for numbers that make no limit.
  [[nodiscard]] bool override_for(Argument key, const Quota& quota,
                                  Inherit how = Inherit::additive) {
    return override_for(key, quota, how, clock_.now());
  }
  [[nodiscard]] bool override_for(Argument key, const Quota& quota, Inherit how,
                                  SteadyInstant now) {
    return words_.override_for(name(key), configured(quota), how, now);
  }

  /// Other numbers for all keys that have none of their own. Decisions go on meanwhile, each by the
  /// old numbers or the new; once it returns, by the new.
  void reconfigure(const Quota& to, Inherit how = Inherit::additive) {
    reconfigure(to, how, clock_.now());
  }
  void reconfigure(const Quota& to, Inherit how, SteadyInstant now) {
    words_.reconfigure(configured(to), how, now);
  }

  KeyedWords::Stats stats() const { return words_.stats(clock_.now()); }
  const Clock& clock() const noexcept { return clock_; }

 private:
  static KeyedWords::Config configured(const Quota& quota) {
    const auto config = KeyedWords::configure(quota);
    if (!config) throw std::invalid_argument(std::string("limit: ") + describe(config.error()));
    return *config;
  }
  static std::size_t checked(std::size_t max_keys) {
    if (max_keys >= 1 && max_keys <= KeyedWords::most_keys) return max_keys;
    throw std::invalid_argument("max_keys: expected 1 to 2^32 keys");
  }

  std::uint64_t name(Argument key) const noexcept { return name_of<Key>(names_, key); }

  KeyNames names_;
  KeyedWords words_;
  [[no_unique_address]] Clock clock_;
  [[no_unique_address]] Listener listener_;
};

}  // namespace weir
