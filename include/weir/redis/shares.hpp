// A limit that many processes share without asking a store for each decision.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "weir/local/outcome.hpp"
#include "weir/redis/share_bucket.hpp"
#include "weir/redis/share_settings.hpp"
#include "weir/redis/store.hpp"
#include "weir/vocabulary.hpp"

namespace weir::redis {

/// A token bucket on this process's share of a limit:
///
///   weir::redis::SharedRate rate(*client, {.name = "search", .count = 1000, .period = 1s,
///                                          .burst = 100});
///   if (!rate.try_acquire()) return reply_429();
///
/// A registry in the store (weir_1_share) leases shares to the live members; each decides here, in
/// some nanoseconds, and asks the registry five times in a lease, on the thread of all alarms. A
/// lease is counted from when it was asked for, so it ends here no later than there; the shares
/// that are in force never add up to more than the limit (docs/shares.md has the exceptions). A new
/// share begins with the units that the old one had left, and the first with none.
///
/// Bound    in any span, over all members: burst + count * span / period, and a unit for each
///          member whose part of the burst is less than one. With WithoutRegistry::share, beside it
///          for each member that is cut off its limit / members.
/// Threads  safe from any; to be destroyed by one when nobody asks any more. It does not wait for
///          the store; the store outlives it.
/// Errors   the constructor throws std::invalid_argument for settings that are no good
class SharedRate {
 public:
  using Settings = SharedRateSettings;

  SharedRate(Store& store, const Settings& settings);
  /// Tells the registry that the share is free.
  ~SharedRate();
  SharedRate(const SharedRate&) = delete;
  SharedRate& operator=(const SharedRate&) = delete;

  /// Now or not at all. Denied with no units for it, ready_at is when they will be there under the
  /// present share. A cost above this member's part of the burst is denied as well: ready_at is
  /// then when it asks for its share again. Above the whole burst it is impossible.
  Outcome try_acquire(Cost cost = 1) { return try_acquire(cost, std::chrono::steady_clock::now()); }
  /// `now` is the steady clock's.
  Outcome try_acquire(Cost cost, SteadyInstant now) {
    if (bucket_->ended(now)) [[unlikely]]
      end_lease(now);
    const Outcome outcome = bucket_->try_acquire(cost, now);
    if (outcome.verdict == Verdict::impossible) [[unlikely]]
      return too_much(cost, now);
    return outcome;
  }

  /// How things stand.
  struct Share {
    double part = 0;           ///< of the limit, that is let in here
    bool leased = false;       ///< by the registry; else it is what WithoutRegistry says
    SteadyInstant ends_at{};   ///< of the lease
    std::int64_t members = 0;  ///< that the registry last told of; 0 before it did
    std::uint64_t answers = 0;
    std::uint64_t failures = 0;  ///< of asking the registry
    std::string trouble{};       ///< why the last asking failed; empty where it did not
  };
  Share share() const;

 private:
  class Body;

  void end_lease(SteadyInstant now);
  Outcome too_much(Cost cost, SteadyInstant now) const;

  std::shared_ptr<Body> body_;
  ShareBucket* bucket_;  ///< the body's
};

}  // namespace weir::redis
