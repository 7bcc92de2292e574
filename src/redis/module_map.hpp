// Which servers have weir's module, as calls have found them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "redis/handshake.hpp"
#include "redis/slots.hpp"

namespace weir::redis {

/// For each slot whether the server that last answered for it has the module. Servers are told
/// apart by their answers alone: one that takes another's place is known by its first. Where nobody
/// has answered yet it is guessed: that they have it, if all do that were connected to.
///
/// Threads  one notes, any ask
/// Memory   4 kB
class ModuleMap {
 public:
  /// A server was connected to.
  void connected(const ServerFacts& facts) noexcept {
    const Seen seen = seen_.load(std::memory_order_relaxed);
    const bool all = facts.module && seen != Seen::some_without;
    seen_.store(all ? Seen::all_with : Seen::some_without, std::memory_order_relaxed);
  }

  /// An answer for the slot came from a server that told so at its connect.
  void answered(std::uint16_t slot, const ServerFacts& facts) noexcept {
    const std::uint64_t bit = bit_of(slot);
    const std::uint64_t before = with_[slot / 64].load(std::memory_order_relaxed);
    const std::uint64_t after = facts.module ? before | bit : before & ~bit;
    if (after != before) with_[slot / 64].store(after, std::memory_order_relaxed);
    const std::uint64_t known = known_[slot / 64].load(std::memory_order_relaxed);
    if ((known & bit) == 0) known_[slot / 64].store(known | bit, std::memory_order_relaxed);
  }

  bool has_module(std::uint16_t slot) const noexcept {
    const std::uint64_t bit = bit_of(slot);
    if ((known_[slot / 64].load(std::memory_order_relaxed) & bit) == 0) {
      return seen_.load(std::memory_order_relaxed) == Seen::all_with;
    }
    return (with_[slot / 64].load(std::memory_order_relaxed) & bit) != 0;
  }

 private:
  enum class Seen : std::uint8_t { nobody, all_with, some_without };
  using Bits = std::array<std::atomic<std::uint64_t>, slot_count / 64>;

  static constexpr std::uint64_t bit_of(std::uint16_t slot) noexcept {
    return std::uint64_t{1} << slot % 64;
  }

  Bits known_{};
  Bits with_{};
  std::atomic<Seen> seen_{Seen::nobody};
};

}  // namespace weir::redis
