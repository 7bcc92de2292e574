// How full the fullest key of a rule has been lately.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "weir/vocabulary.hpp"

namespace weir::server {

/// The highest share of its limit that any key had used, of this minute and the one before.
///
/// Threads  one writes; any read
/// Cost     one relaxed load where the share is not the minute's highest
class FullestKey {
 public:
  /// A key has used so much of its limit. Requires limit > 0.
  void saw(Cost used, Cost limit, Instant now) noexcept {
    const double share = static_cast<double>(used) / static_cast<double>(limit);
    const auto parts = static_cast<std::uint64_t>(std::clamp(share, 0.0, 1.0) * whole);
    const std::uint64_t minute = minute_of(now);
    std::atomic<std::uint64_t>& kept = minutes_[minute % minutes_.size()];
    const std::uint64_t before = kept.load(std::memory_order_relaxed);
    if (before >> share_bits == minute && (before & share_mask) >= parts) return;
    kept.store(minute << share_bits | parts, std::memory_order_relaxed);
  }

  /// From 0 to 1; 0 where no key was seen.
  double share(Instant now) const noexcept {
    const std::uint64_t minute = minute_of(now);
    std::uint64_t highest = 0;
    for (const auto& kept : minutes_) {
      const std::uint64_t seen = kept.load(std::memory_order_relaxed);
      if (minute - (seen >> share_bits) < minutes_.size()) {
        highest = std::max(highest, seen & share_mask);
      }
    }
    return static_cast<double>(highest) / whole;
  }

 private:
  static constexpr unsigned share_bits = 20;
  static constexpr std::uint64_t share_mask = (std::uint64_t{1} << share_bits) - 1;
  static constexpr double whole = 1e6;

  static std::uint64_t minute_of(Instant now) noexcept {
    return static_cast<std::uint64_t>(
        std::chrono::floor<std::chrono::minutes>(now.time_since_epoch()).count());
  }

  std::array<std::atomic<std::uint64_t>, 2> minutes_{};  ///< a minute, and a share of `whole`
};

}  // namespace weir::server
