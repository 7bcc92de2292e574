// How many calls of each of many values are in flight, in memory that does not grow.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

namespace weir {

/// Counts what is in flight of each value, by weight. Values are known by names of 64 bits
/// (KeyNames).
///
/// A value has a slot while something of it is in flight. Where its eight slots are taken, it
/// counts on two of the 64 shared counters of its stripe: the lesser decides and both are charged,
/// so neither is ever less than the value's own count would be. A value with something on both gets
/// no slot until one is empty again, so its count is never in two halves.
///
/// Bound    of each value, no more than its limit in flight, whatever else is
/// Memory   32 bytes for each of `room`, 17 KB at least
/// Threads  safe from any thread: one lock of 16
class ValuesInFlight {
 public:
  static constexpr std::size_t most_room = std::size_t{1} << 28;

  /// So many values can be in flight at a time, each with a slot as a rule. Requires 1 to
  /// most_room. Throws bad_alloc.
  explicit ValuesInFlight(std::size_t room)
      : slots_in_stripe_((2 * room + stripe_count * window - 1) / (stripe_count * window) * window),
        slots_(std::make_unique<Slot[]>(slots_in_stripe_ * stripe_count)),
        stripes_(std::make_unique<Stripe[]>(stripe_count)) {}

  enum class Place : std::uint8_t { none, slot, shared };
  /// Where the call was counted, for leave(), and what else is in flight where it was not.
  struct Entered {
    Place place;
    std::int64_t in_flight;  ///< of the value, at most, before the call
  };

  struct Asked {
    std::int64_t weight;  ///< 1 to the limit, else refused
    std::int64_t limit;   ///< up to 2^31
  };
  Entered try_enter(std::uint64_t name, const Asked& asked) noexcept {
    Stripe& stripe = stripe_of(name);
    const std::lock_guard lock(stripe.mutex);
    Slot* slot = find(name);
    std::array<std::int64_t*, 2> shared = shared_of(stripe, name);
    const std::int64_t aside = std::min(*shared[0], *shared[1]);
    // What it may have on shared counters stays there.
    if (!slot && aside == 0) slot = empty_slot(name);
    const std::int64_t in_flight = slot ? slot->in_flight : aside;
    if (asked.weight < 1 || asked.weight > asked.limit - in_flight) return {Place::none, in_flight};
    if (slot) {
      slot->name = name;
      slot->in_flight += asked.weight;
      return {Place::slot, in_flight};
    }
    for (std::int64_t* const counter : shared) *counter += asked.weight;
    return {Place::shared, in_flight};
  }

  /// Once for each call that entered, with the place and the weight it entered with.
  void leave(std::uint64_t name, Place place, std::int64_t weight) noexcept {
    Stripe& stripe = stripe_of(name);
    const std::lock_guard lock(stripe.mutex);
    if (place == Place::slot) {
      find(name)->in_flight -= weight;
    } else if (place == Place::shared) {
      for (std::int64_t* const counter : shared_of(stripe, name)) *counter -= weight;
    }
  }

 private:
  static constexpr std::size_t stripe_count = 16;
  static constexpr std::size_t window = 8;  ///< slots in which a value may lie
  static constexpr std::size_t shared_in_row = 64;

  struct Slot {
    std::uint64_t name = 0;
    std::int64_t in_flight = 0;  ///< 0: the slot is empty
  };
  struct alignas(64) Stripe {
    std::mutex mutex;
    std::array<std::int64_t, shared_in_row> first_row{};
    std::array<std::int64_t, shared_in_row> second_row{};
  };

  Stripe& stripe_of(std::uint64_t name) const noexcept { return stripes_[name % stripe_count]; }

  std::span<Slot> window_of(std::uint64_t name) const noexcept {
    const std::size_t windows = slots_in_stripe_ / window;
    const std::size_t first = (name % stripe_count) * slots_in_stripe_;
    return {slots_.get() + first + (name >> 4) % windows * window, window};
  }
  Slot* find(std::uint64_t name) const noexcept {
    for (Slot& slot : window_of(name)) {
      if (slot.in_flight > 0 && slot.name == name) return &slot;
    }
    return nullptr;
  }
  Slot* empty_slot(std::uint64_t name) const noexcept {
    for (Slot& slot : window_of(name)) {
      if (slot.in_flight == 0) return &slot;
    }
    return nullptr;
  }
  /// A counter in each row.
  static std::array<std::int64_t*, 2> shared_of(Stripe& stripe, std::uint64_t name) noexcept {
    return {&stripe.first_row[(name >> 52) % shared_in_row],
            &stripe.second_row[(name >> 58) % shared_in_row]};
  }

  std::size_t slots_in_stripe_;
  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<Stripe[]> stripes_;
};

}  // namespace weir
