// What the store has denied, for as long as that holds.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/local/keyed_hash.hpp"
#include "weir/steady_instant.hpp"
#include "weir/vocabulary.hpp"

namespace weir::redis {

/// Remembers denials, so that who asks again too early is told so without a round trip. A denial
/// holds for requests of that cost and more, and of that patience and less, until its ready_at; but
/// for no longer than longest_kept_for, so that what others give back or reset counts then. The
/// span runs from before the store was asked: it ends no later than the store's own, however long
/// the answer took.
///
/// ready_at is exact for the same cost, and not too late for a greater one. What is left until then
/// is reckoned from when the answer came, so that nobody is told to come too early. The other
/// numbers are those of when the store denied.
///
/// Memory   8 bytes for each that may be remembered, and about 200 for each that is. Where room is
///          scarce the one that ends first goes
/// Threads  safe from any, a lock for a 16th of the keys. The hash is keyed: nobody can choose keys
///          that crowd each other out
class Denials {
 public:
  static constexpr Span longest_kept_for = std::chrono::seconds{1};

  /// None are remembered where `most` is 0.
  explicit Denials(std::size_t most);

  /// What is asked, and when.
  struct Question {
    std::string_view key;    ///< as stored
    std::string_view limit;  ///< its config text
    Cost cost;
    Span patience;  ///< that counts: patience_of()
    SteadyInstant now;
  };
  struct Answer {
    Decision decision;
    Instant decided_at;  ///< the store's time now, or as long before as its answer took
  };

  struct Found {
    std::optional<Answer> answer{};
    std::uint64_t forgotten = 0;  ///< how often keys near this one were
  };
  Found find(const Question& question);

  /// A denial by the store.
  struct News {
    const Question& asked;    ///< `now` is when the store was asked
    SteadyInstant heard_at;   ///< and when it had answered
    std::uint64_t forgotten;  ///< as find() told then
    Answer answer;
  };
  /// What was on its way while the key was forgotten is not kept: it may be older than that.
  void keep(const News& news);

  /// Something was given back: all that was denied the key no longer holds.
  void forget(std::string_view key);

 private:
  struct Denial {
    std::string key;
    std::string limit;
    Cost cost;
    Span patience;
    SteadyInstant heard_at;
    SteadyInstant ends_at;
    Answer answer;
  };
  struct Shard {
    std::mutex mutex;
    std::uint64_t forgotten = 0;
    std::vector<std::unique_ptr<Denial>> slots;  ///< in pairs; a key's is either of its pair
  };
  struct Place {
    Shard* shard;
    std::size_t slot;  ///< the first of the pair
  };

  Place place_of(std::string_view key);

  HashKey hash_key_ = HashKey::random();
  std::size_t slots_;  ///< of each shard, even
  std::array<Shard, 16> shards_;
};

}  // namespace weir::redis
