// A share of a limit as a bucket in this process.
#pragma once

#include <atomic>
#include <cstdint>

#include "weir/local/limiter.hpp"
#include "weir/redis/share_settings.hpp"
#include "weir/vocabulary.hpp"

namespace weir::redis {

/// A token bucket of a share of a limit, which changes. A share brings a rate and room for units,
/// but no units: those drip in, since other members may just have spent what this share's room held
/// before. Units above a lesser share's room are lost.
///
/// Bound    in any span, over buckets whose shares never add up to more than the whole:
///          burst + count * span / period, and a unit for each whose part of the burst is less
/// Threads  try_acquire() and take_asked() from any; put_in_force() one at a time
struct ShareBucket {
  explicit ShareBucket(const SharedRateSettings& settings);

  /// Whether the share has ended, and another must be put in force.
  bool ended(SteadyInstant now) const noexcept {
    return now.time_since_epoch().count() >= ends_at_.load(std::memory_order_acquire);
  }
  /// Requires that it has not ended.
  Outcome try_acquire(Cost cost, SteadyInstant now) {
    // What the whole could not grant either is no demand.
    if (cost > 0 && cost <= burst_) asked_.fetch_add(cost, std::memory_order_relaxed);
    return bucket_.try_acquire(cost, now);
  }

  SteadyInstant ends_at() const noexcept {
    return SteadyInstant{std::chrono::nanoseconds{ends_at_.load(std::memory_order_acquire)}};
  }
  /// So many millionths of the limit, from `now` to `ends_at`.
  struct Lease {
    std::int64_t share;
    SteadyInstant ends_at;
  };
  void put_in_force(const Lease& lease, SteadyInstant now);

  /// Units that were asked for since the last time.
  Cost take_asked() noexcept { return asked_.exchange(0, std::memory_order_relaxed); }

  /// Throws std::invalid_argument for a limit of which no millionth can be kept.
  static void require_possible(const SharedRateSettings& settings);

 private:
  BasicLimiter<AtomicWord, SteadyClock> bucket_;
  std::atomic<std::int64_t> ends_at_;
  alignas(64) std::atomic<std::int64_t> asked_{0};
  // The rest is whose puts shares in force.
  Cost count_;
  std::chrono::nanoseconds period_;
  Cost burst_;
  std::int64_t share_ = 0;
};

}  // namespace weir::redis
