// Permits that end by themselves.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/overload/call.hpp"
#include "weir/overload/ceilings.hpp"
#include "weir/steady_instant.hpp"

namespace weir {

/// Who is in flight, each for a time: a holder that never comes back frees its place when its lease
/// ends. Time never goes back: an earlier reading is taken for the latest one.
///
/// Bound    at any instant the weight whose lease lasts is not above the limit in force when the
///          last of it was let in
/// Memory   24 bytes for each unit of the largest limit so far
/// Cost     each function the same for any number of leases; expire() for each that ended
/// Errors   the constructor and set_limit throw std::bad_alloc, with nothing changed
class LeasedPermits {
 public:
  /// The largest limit.
  static constexpr std::int64_t most = std::int64_t{1} << 20;

  struct Config {
    std::int64_t limit;                  ///< 1 to `most`
    std::chrono::nanoseconds lease_for;  ///< > 0
    PriorityShares shares;
  };

  /// One that was let in, told from the next 2^32 that get its slot. Lease{} is nobody's.
  struct Lease {
    std::uint32_t slot = 0;
    std::uint32_t number = 0;
    bool operator==(const Lease&) const = default;
  };

  explicit LeasedPermits(const Config& config) : config_(config) {
    slots_.resize(static_cast<std::size_t>(config.limit));
    chain_free(0);
  }

  bool is_possible(const Entry& entry) const noexcept {
    return entry.weight >= 1 && entry.weight <= ceiling(entry.priority);
  }
  /// Whether there is room; requires that it is possible, and that what has ended was expired.
  bool fits(const Entry& entry) const noexcept {
    return in_flight_ + entry.weight <= ceiling(entry.priority);
  }

  /// Requires that it fits; then a slot is free, for each lease weighs at least 1.
  Lease enter(const Entry& entry, SteadyInstant now) noexcept {
    advance(now);
    const std::uint32_t at = free_;
    Slot& slot = slots_[at];
    free_ = slot.later;
    slot.weight = static_cast<std::uint32_t>(entry.weight);
    in_flight_ += entry.weight;
    append(at);
    return {at, slot.number};
  }

  /// False where the lease had ended.
  bool leave(const Lease& lease, SteadyInstant now) noexcept {
    expire(now);
    if (!holds(lease)) return false;
    release(lease.slot);
    return true;
  }

  /// From now on it lasts as long again; false where it had ended.
  bool renew(const Lease& lease, SteadyInstant now) noexcept {
    expire(now);
    if (!holds(lease)) return false;
    unlink(lease.slot);
    append(lease.slot);
    return true;
  }

  /// Ends the leases whose time is over; at the very instant at which one ends it is over. Returns
  /// how many.
  std::size_t expire(SteadyInstant now) noexcept {
    advance(now);
    std::size_t ended = 0;
    for (; first_ != none && slots_[first_].ends_at <= now_; ++ended) release(first_);
    return ended;
  }

  /// When the next one ends.
  SteadyInstant expires_at() const noexcept {
    return first_ == none ? SteadyInstant::max() : slots_[first_].ends_at;
  }

  /// Requires 1 to `most`.
  void set_limit(std::int64_t limit) {
    const std::size_t slots = slots_.size();
    if (static_cast<std::size_t>(limit) > slots) {
      slots_.resize(static_cast<std::size_t>(limit));
      chain_free(slots);
    }
    config_.limit = limit;
  }

  std::int64_t limit() const noexcept { return config_.limit; }
  std::int64_t in_flight() const noexcept { return in_flight_; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct Slot {
    SteadyInstant ends_at{};
    std::uint32_t number = 1;  ///< of the lease that holds it, or will be the next to
    std::uint32_t weight = 0;  ///< 0 where it is free
    std::uint32_t sooner = none;
    std::uint32_t later = none;  ///< the next free one, where it is free
  };

  std::int64_t ceiling(Priority priority) const noexcept {
    const auto limit = static_cast<std::uint64_t>(config_.limit);
    return static_cast<std::int64_t>(config_.shares.ceiling(limit, priority));
  }

  void advance(SteadyInstant now) noexcept { now_ = std::max(now_, now); }

  bool holds(const Lease& lease) const noexcept {
    return lease.slot < slots_.size() && slots_[lease.slot].weight > 0 &&
           slots_[lease.slot].number == lease.number;
  }

  void chain_free(std::size_t from) noexcept {
    for (std::size_t at = slots_.size(); at-- > from;) {
      slots_[at].later = free_;
      free_ = static_cast<std::uint32_t>(at);
    }
  }

  /// All leases last equally long, so the one that begins now ends last.
  void append(std::uint32_t at) noexcept {
    Slot& slot = slots_[at];
    slot.ends_at = config_.lease_for < SteadyInstant::max() - now_ ? now_ + config_.lease_for
                                                                   : SteadyInstant::max();
    slot.sooner = last_;
    slot.later = none;
    (last_ == none ? first_ : slots_[last_].later) = at;
    last_ = at;
  }

  void unlink(std::uint32_t at) noexcept {
    const Slot& slot = slots_[at];
    (slot.sooner == none ? first_ : slots_[slot.sooner].later) = slot.later;
    (slot.later == none ? last_ : slots_[slot.later].sooner) = slot.sooner;
  }

  void release(std::uint32_t at) noexcept {
    unlink(at);
    Slot& slot = slots_[at];
    in_flight_ -= slot.weight;
    slot.weight = 0;
    ++slot.number;
    slot.later = free_;
    free_ = at;
  }

  Config config_;
  std::vector<Slot> slots_;
  std::int64_t in_flight_ = 0;
  SteadyInstant now_ = SteadyInstant::min();
  std::uint32_t free_ = none;
  std::uint32_t first_ = none;  ///< ends next
  std::uint32_t last_ = none;
};

}  // namespace weir
