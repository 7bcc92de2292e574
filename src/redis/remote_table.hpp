// The keyed table whose states lie in a store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weir/local/table.hpp"
#include "weir/overload/circuit_breaker.hpp"
#include "weir/redis/policy.hpp"
#include "weir/redis/store.hpp"
#include "weir/redis/trouble.hpp"
#include "weir/steady_instant.hpp"
#include "weir/vocabulary.hpp"

namespace weir::redis {

/// A decision, and who took it.
struct RemoteAnswer {
  Decision decision{};
  Instant decided_at{};  ///< by the clock of who decided: ready_at and reset_at are of the same
  Source source = Source::store;
  std::size_t binding = 0;      ///< of several claims, as JointAnswer's
  bool atomic = true;           ///< false: the claims lay in several slots, and were taken in turn
  std::vector<Grant> grants{};  ///< for each claim, of a request that was taken by the store
  Trouble trouble{};            ///< where the source is fallback, open or closed
};

/// What giving back came to: units, or microseconds of a lease; none where the store did not say.
struct RemoteGift {
  std::optional<std::int64_t> given{};
  Trouble trouble{};
};

/// Table's verbs for states that lie in a store and are decided there by the scripts; where the
/// store does not answer, the policy decides (docs/redis.md). Nothing is ever asked twice that may
/// have counted.
///
/// What a store says no to (a limit that it cannot keep, a key that holds something else) the
/// policy decides too; `trouble` tells it from a store that is gone.
///
/// Bound    the limit's own while the store answers; beside it what Policy says
/// Threads  safe from any; answers come on the store's thread, or before the verb returns
/// Memory   Policy's numbers
class RemoteTable {
 public:
  using Then = std::function<void(RemoteAnswer&&)>;
  using Given = std::function<void(RemoteGift&&)>;

  /// How much, and how long it may take.
  struct Ask {
    Cost cost = 1;
    std::optional<Span> patience{};
    std::optional<WithoutStore> without_store{};  ///< else the policy's
  };
  struct JointAsk {
    std::optional<Span> patience{};
    std::span<const WithoutStore> without_store{};  ///< of each claim; none: the policy's
  };

  /// What tells the time; tests tell their own.
  struct Time {
    Time();
    std::function<SteadyInstant()> steady;  ///< deadlines and spans go by this
    std::function<Instant()> unix;          ///< decisions that are taken here go by this
  };

  /// The store must outlive the table and all calls, and rules have ids of their own.
  /// Throws std::invalid_argument where the policy's numbers are none.
  RemoteTable(Store& store, const Policy& policy, const Time& time = Time());
  ~RemoteTable();
  RemoteTable(const RemoteTable&) = delete;
  RemoteTable& operator=(const RemoteTable&) = delete;

  void take(const Subject& subject, const Ask& ask, Then then);
  void peek(const Subject& subject, const Ask& ask, Then then);
  /// All or none. Keys of several slots of a cluster are taken in their order and given back in
  /// reverse where a later one refuses. Requires 1 to Table::most_claims claims.
  void take_all(std::span<const Claim> claims, const JointAsk& ask, Then then);
  /// What take_all() would answer.
  void peek_all(std::span<const Claim> claims, const JointAsk& ask, Then then);

  /// The store keeps no list of spent grants: the caller spends each once.
  void cancel(const Subject& subject, const Grant& grant, Given given);
  void refund(const Subject& subject, Cost units, Given given);
  void reset(const Subject& subject, Given given);
  /// Of a permit of a concurrency limit, as Table's.
  void leave(const Subject& subject, PermitId permit, Given given);
  void renew(const Subject& subject, PermitId permit, Given given);

  /// Gives back units that are leased and idle (see LeaseSettings). Every take() does so for a few
  /// keys; a host that may have none to make for long calls this now and then.
  void tick();
  /// Units of all keys that are leased and not yet handed out.
  Cost leased() const;

  const Policy& policy() const noexcept;

  /// Of the breaker: not closed, and the policy decides instead of the store.
  Circuit circuit() const;

 private:
  class Body;
  std::shared_ptr<Body> body_;  ///< kept by each call under way
};

}  // namespace weir::redis
