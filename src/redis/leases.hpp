// Units that the store granted ahead, handed out here.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weir/local/keyed_hash.hpp"
#include "weir/redis/policy.hpp"
#include "weir/redis/trouble.hpp"
#include "weir/steady_instant.hpp"
#include "weir/vocabulary.hpp"

namespace weir::redis {

/// Of texts that strangers may choose.
struct KeyedTextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return keyed_hash(key, text); }
  HashKey key = HashKey::random();
};

/// Batches of units, each of one key, that one call to the store takes and many requests use up.
/// The batch of a key doubles each time it is used up before kept_for, up to most_units, and
/// shrinks to what was used otherwise; it is never more than half of what the limit has left, so
/// near the limit units are asked for one request at a time, and the last can still be had. Only
/// what is granted at once is leased. What is left after kept_for is given back by refund.
///
/// Bound    in any span (a, a + t] what acts is at most the limit's bound(t) and the units that all
///          members held at a, so at most bound(t) + members * most_units
///
/// Why: what acts in the span was charged in it, or held at a and not given back since. A refund of
/// n lets at most n more be charged, so what is charged in the span is at most bound(t) + what is
/// given back in it; and what is given back acts nowhere. The two cancel out.
///
/// Leased are token buckets, windows, logs and several of them on one key. Not: leaky buckets,
/// whose grants keep their distance; permits, which have holders; limits with a penalty, where a
/// refused batch would shut the key out; numbers that come with the call.
///
/// Memory   Settings::keys entries of about 300 bytes, most_waiting requests for each
/// Threads  safe from any; a lock for a 16th of the keys. Nothing is called under it
class Leases {
 public:
  static constexpr std::size_t most_waiting = 1024;

  explicit Leases(const LeaseSettings& settings) : settings_(settings) {}

  /// How the call that others wait for has ended.
  enum class Ended : std::uint8_t {
    granted,  ///< ask again: there are units, or were
    refused,  ///< each asks for itself
    failed,   ///< see the Trouble
  };
  using Waiting = std::function<void(Ended, const Trouble&)>;

  struct Question {
    std::string_view key;    ///< as stored
    std::string_view limit;  ///< its config text
    Cost cost;               ///< 1 to most_units
    Cost capacity;           ///< of the limit
    SteadyInstant asked_at;  ///< its deadline is nearer than that of all who asked later
    SteadyInstant now;
  };
  enum class Step : std::uint8_t {
    handed_out,  ///< see `decision`
    waits,       ///< `waiting` is called when the call under way has ended, which is in time
    asks,        ///< the caller asks the store for `units`, and calls heard()
  };
  struct Plan {
    Step step;
    Cost units = 0;
    Decision decision{};
    Instant decided_at{};
  };
  Plan plan(const Question& question, const std::function<Waiting()>& waiting);

  /// What the store told of the units that were asked for. Returns those who waited: the caller
  /// serves the request that asked, then calls them.
  struct News {
    const Question& asked;  ///< `now` is when
    Cost units;
    Ended ended;
    Decision decision;
    Instant decided_at;
  };
  struct Heard {
    std::vector<Waiting> waiting{};
    Cost give_back = 0;  ///< units that came too late to be kept
  };
  Heard heard(const News& news);

  /// Units to give back to the store.
  struct Leftover {
    std::string key;
    std::string limit;
    Cost units;
  };
  /// Takes what is over from keys near this one, a few; or from all.
  std::vector<Leftover> expired(std::string_view key, SteadyInstant now);
  std::vector<Leftover> expired(SteadyInstant now);
  /// Takes all there is. From then on nothing is leased, and heard() gives back what comes.
  std::vector<Leftover> close();

  /// The key's state is gone, and with it what was charged for these units.
  void forget(std::string_view key);

  /// Units that are held now.
  Cost held() const;

 private:
  struct Entry {
    std::string limit{};
    Cost units = 0;                  ///< that can be handed out
    Cost size = 1;                   ///< of the next batch
    Cost used = 0;                   ///< of the last batch, or since
    Cost room = 0;                   ///< what the limit had left then
    bool asking = false;             ///< for a batch, and others wait
    SteadyInstant asker_asked_at{};  ///< of the request that asks
    SteadyInstant until{};
    SteadyInstant asked_at{};
    Decision decision{};  ///< of the last batch
    Instant decided_at{};
    std::vector<Waiting> waiting{};
  };
  struct Due {
    SteadyInstant at;
    std::string key;
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, Entry, KeyedTextHash, std::equal_to<>> entries;
    std::deque<Due> due;  ///< each entry once, at its end or earlier
    bool closed = false;
  };

  Shard& shard_of(std::string_view key);
  void end(Shard& shard, SteadyInstant now, std::size_t most, std::vector<Leftover>& leftovers);
  static void hand_out(Entry& entry, const Question& question, Plan& plan);

  LeaseSettings settings_;
  HashKey hash_key_ = HashKey::random();
  std::array<Shard, 16> shards_;
};

}  // namespace weir::redis
