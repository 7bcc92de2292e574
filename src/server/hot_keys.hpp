// Which keys are asked for most, and refused most, lately: a bounded sketch of what workers see.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/local/keyed_hash.hpp"
#include "weir/local/rule.hpp"

namespace weir::server {

/// The heaviest keys of a stream, in room that does not grow.
///
/// Bound    calls - others <= true calls <= calls, for each key that is kept; others <= all calls /
///          room, so every key with more than that is kept. Dropping and fading loosen it by 0.02
/// Memory   room entries, of each key its first bytes alone
/// Source   A. Metwally, D. Agrawal, A. El Abbadi, "Efficient computation of frequent and top-k
///          elements in data streams", 2005: Space-Saving
class FrequentKeys {
 public:
  static constexpr std::size_t room = 128;
  static constexpr std::size_t kept_bytes = 64;  ///< of a key; strangers choose how long it is
  static constexpr double forgotten_below = 0.02;

  /// So many calls of a key.
  struct Calls {
    std::uint64_t hash;  ///< tells keys and rules apart
    const Rule* rule;
    std::string_view key;
    double count;
    double variance;  ///< of the count, where it is an estimate
  };

  struct Entry {
    std::uint64_t hash = 0;
    const Rule* rule = nullptr;
    double calls = 0;
    double others = 0;    ///< of the calls, the most that may be those of keys that are not kept
    double variance = 0;  ///< of the calls
    std::size_t key_bytes = 0;
    std::array<char, kept_bytes> key_begin{};
  };

  void add(const Calls& calls) noexcept;

  /// Makes all that was added so far count less. Requires a factor from 0 to 1.
  void fade(double factor) noexcept;

  std::span<const Entry> entries() const noexcept { return std::span(entries_).first(used_); }

 private:
  std::size_t least() noexcept;

  std::size_t used_ = 0;
  std::size_t looked_at_ = 0;                 ///< by least()
  double floor_ = 0;                          ///< no entry has fewer calls
  std::array<std::uint64_t, room> hashes_{};  ///< of the entries: one is sought among few bytes
  std::array<Entry, room> entries_{};
};

/// What one worker sees of keys.
///
/// One decision at a random place in each block of up to 64 is counted for the whole block: every
/// decision while there are fewer than some 500 a second, and a smaller share the more there are.
/// Calls fade to half their weight in ten seconds.
///
/// Threads  saw() and tick() on the worker's; published() is for any
/// Cost     saw(): a countdown, and for one decision in 64 a search among 128 hashes
class HotKeys {
 public:
  static constexpr std::uint32_t widest_block = 64;
  static constexpr double half_life_s = 10;

  /// Workers of one key can be added up.
  HotKeys(const HashKey& key, std::size_t worker, Instant began);

  /// A decision on a key.
  void saw(const Rule& rule, std::string_view key, Verdict verdict) noexcept {
    if (--until_sample_ == 0) [[unlikely]] {
      sample({&rule, key}, verdict);
    }
  }

  /// About once a second: publishes what was seen, and lets it fade.
  void tick(Instant now);

  /// As of the last tick.
  struct Published {
    double span_s = 0;  ///< calls / span_s is a rate
    std::vector<FrequentKeys::Entry> hottest{};
    std::vector<FrequentKeys::Entry> most_refused{};
  };
  Published published() const;

 private:
  struct Named {
    const Rule* rule;
    std::string_view key;
  };
  [[gnu::cold, gnu::noinline]] void sample(const Named& named, Verdict verdict) noexcept;
  std::uint32_t random_place() noexcept;

  std::uint32_t until_sample_ = 1;
  std::uint32_t block_ = 1;  ///< decisions that the next sample stands for
  std::uint32_t place_ = 1;  ///< of that sample in its block, from 1
  std::uint32_t next_block_ = 1;
  std::uint32_t samples_ = 0;  ///< since the last tick or change of the block
  std::uint64_t random_;
  HashKey key_;
  FrequentKeys hottest_;
  FrequentKeys most_refused_;
  double span_s_ = 0;
  Instant ticked_at_;
  mutable std::mutex mutex_;  ///< of what is published
  Published published_;
};

/// A key, and how often it is asked for.
struct KeyRate {
  std::uint64_t hash;
  const Rule* rule;
  std::string key_begin;  ///< cut to FrequentKeys::kept_bytes
  std::size_t key_bytes;  ///< of the whole key
  double calls_per_s;
  double error_per_s;  ///< two standard errors of the sampling, and what the sketch may be off
};

struct KeyRates {
  std::vector<KeyRate> hottest;       ///< the highest rate first
  std::vector<KeyRate> most_refused;  ///< of these the calls are refusals
};

/// The hot keys of all workers.
///
/// Threads  safe from any thread
class HotKeyBoard {
 public:
  /// The key is a secret: who knows it knows which decisions are sampled.
  explicit HotKeyBoard(const HashKey& key = HashKey::random()) : key_(key) {}

  /// One for each worker; lives as long as this.
  HotKeys& add_worker(Instant began);

  /// At most so many of each kind, as of the workers' last ticks; those alone whose rate is above
  /// its error.
  KeyRates top(std::size_t count) const;

 private:
  const HashKey key_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<HotKeys>> workers_;
};

}  // namespace weir::server
