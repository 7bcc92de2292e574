// The keyed table: every key's state in this process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weir/local/keyed_hash.hpp"
#include "weir/local/rule.hpp"

namespace weir {

/// Whose state: a key (any bytes, may be empty) under a rule.
struct Subject {
  const Rule* rule;
  std::string_view key;
  /// Other numbers for this call, of the rule's own algorithm (CL.THROTTLE brings its own).
  const Limit::Machine::Config* config = nullptr;
  /// What Table::prefetch() returned for this key and rule, to spare the work.
  std::optional<std::uint64_t> hash{};
};

/// One key's share of a request over several.
struct Claim {
  Subject subject;
  Cost cost = 1;
};

/// A decision, and when the table took it: its clock never goes back, so a late reading is raised.
struct Answer {
  Decision decision;
  Instant decided_at;
  /// By take(): on states that the key shares with others, so nothing of it can be given back.
  bool shared = false;
};

struct JointAnswer {
  Decision decision;
  Instant decided_at;
  std::size_t binding;  ///< the claim that refuses or delays most, else the one with least left
};

/// States of many keys, each named by its key and its rule.
///
/// States that are as good as never seen are dropped a few at a time as the table is used; nothing
/// else ever is, so dropping changes no answer. At the cap, further new keys fall to a fixed set of
/// shared states for each rule: two for each key by keyed hashes, the lesser debt decides and both
/// are charged. A flood of keys then over-admits no key, and hardly ever denies a stranger.
///
/// Threads  safe from any thread: one lock a shard; several keys lock their shards in order
/// Cost     one hash, one lock, one cache miss; about 60 bytes a key beyond its first 16
/// Errors   bad_alloc, with no state changed; take_all() may then have charged some of its claims
class Table {
 public:
  struct Settings {
    std::size_t max_keys = 1'000'000;
    /// Of memory for states, a quarter of it for shared ones. A key counts with the most that its
    /// state can ever take. A kilobyte for each shard comes on top.
    std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
    std::size_t shards = 64;  ///< a power of two
    HashKey hash_key = HashKey::random();
  };

  /// Shared states of a rule: 65 536, fewer where that many would pass 16 MiB; the sixty-fifth rule
  /// that needs them and all later ones get a 256th of that.
  static constexpr std::size_t shared_states = 65'536;
  static constexpr std::size_t shared_bytes = std::size_t{16} << 20;
  static constexpr std::size_t most_claims = 16;

  explicit Table(const Settings& settings);
  Table();
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// Has the processor fetch the key's state, for who knows some requests ahead which keys come;
  /// returns the subject's hash.
  std::uint64_t prefetch(const Subject& subject) const noexcept;

  /// Steps the key's state. Where asked, `grant` tells what cancel() takes, if the request is taken
  /// (its marks are those of the state after the step in any case).
  Answer take(const Subject& subject, const Request& request, Grant* grant = nullptr);

  /// What take() would answer; the numbers are those before it.
  Answer peek(const Subject& subject, const Request& request, Grant* grant = nullptr);

  /// Takes every claim or none, at one instant at which all agree. `request.cost` is not read.
  /// Requires 1 to most_claims claims. `grants`, where given, has room for one for each claim.
  JointAnswer take_all(std::span<const Claim> claims, const Request& request,
                       Grant* grants = nullptr);

  /// What take_all() would answer; the numbers are those before it.
  JointAnswer peek_all(std::span<const Claim> claims, const Request& request);

  /// The units given back: of a grant whose instant has not passed, or used before.
  Cost cancel(const Subject& subject, Instant now, const Grant& grant);
  Cost refund(const Subject& subject, Instant now, Cost units);
  /// Units that were granted at once to who did not act after all: see Withdrawable.
  void withdraw(const Subject& subject, Instant now, const Withdrawal& withdrawal);

  /// Of a permit, as the grant's mark tells it (Concurrency::permit_of): its units are given back,
  /// or its lease begins anew and what is left of it is told. 0 where its holder has left, its
  /// lease has ended, or it was given on shared states: there permits only end with their leases.
  Cost leave(const Subject& subject, Instant now, PermitId permit);
  Span renew(const Subject& subject, Instant now, PermitId permit);

  /// Forgets the key; false where nothing was kept. Shared states are not forgotten for one key.
  bool reset(const Subject& subject);

  /// How the states of one rule go over to another of its family.
  struct Succession {
    const Rule& from;
    const Rule& to;
    Inherit how;
    Instant now;
  };
  /// All of them, at one instant for the whole table, when `publish` is called: it tells those who
  /// ask which rule to name from then on, must be quick and leave the table alone. What is asked
  /// under `from` after that begins anew. A key that is fresh then is as one never seen.
  void succeed(const Succession& succession, const std::function<void()>& publish);
  /// One key's alone; false, with nothing published, where there is no room for its state.
  bool succeed(std::string_view key, const Succession& succession,
               const std::function<void()>& publish);

  /// Drops fresh states, looking at up to `budget` states; for a host that is idle.
  void sweep(Instant now, std::size_t budget);

  /// A state as it is kept.
  struct Kept {
    const Rule& rule;
    std::string_view key;
    const Limit::State& state;
  };
  /// Where a look at all states stands.
  struct Cursor {
    std::size_t shard = 0;
    std::uint32_t from = 0;
  };
  /// Shows the next states, under their lock, until `show` returns false; false once all were
  /// shown. Until then every state that is kept all the time is shown exactly once, in no order;
  /// shared states are not. `show` must be quick and leave the table alone.
  bool each(Cursor& cursor, const std::function<bool(const Kept&)>& show) const;

  enum class Restored : std::uint8_t { kept, fresh, no_room };
  /// Keeps a state that was shown before, to this process or another. A key that is known already
  /// keeps the state it has.
  Restored restore(const Subject& subject, Limit::State&& state, Instant now);

  struct Stats {
    std::size_t keys = 0;
    std::size_t bytes = 0;             ///< of states and keys, the states' own at their largest
    std::uint64_t dropped = 0;         ///< fresh states dropped
    std::uint64_t shared_answers = 0;  ///< decided on shared states, for want of room
  };
  Stats stats() const;

 private:
  struct Shard;
  struct Held;   ///< what decides for a key: its own state, or two shared ones
  struct Place;  ///< a key of several
  struct Places;
  struct Joint;  ///< the locks of several keys
  class SharedStates;

  std::uint64_t hash_of(const Subject& subject) const noexcept;
  Shard& shard_of(std::uint64_t hash) const noexcept;
  void drop_fresh(Shard& shard, std::size_t budget);
  void make_room(Shard& shard, std::size_t bytes);
  bool reserve(std::size_t bytes);
  void release(std::size_t bytes);
  Answer take_new(Shard& shard, std::uint64_t hash, const Subject& subject, const Request& request,
                  Grant* grant);
  Joint lock_all(const std::vector<Place>& places, Instant now);
  void settle(Place& place, Joint& joint);
  void keep(Place& place, Verdict verdict);
  template <typename Do>
  auto with(const Subject& subject, Instant now, Do&& action);

  Settings settings_;
  std::unique_ptr<Shard[]> shards_;
  std::unique_ptr<SharedStates> shared_;
  std::atomic<std::size_t> keys_{0};
  std::atomic<std::size_t> bytes_{0};  ///< that the keys may come to take
  std::atomic<std::size_t> swept_{0};  ///< the shard that sweep() goes on with
};

}  // namespace weir
