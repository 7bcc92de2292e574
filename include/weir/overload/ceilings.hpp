// How much of a limit each priority may fill.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "weir/overload/call.hpp"
#include "weir/vocabulary.hpp"

namespace weir {

/// How much of a limit each priority may fill, as a share of it from 0 (none) to 1, rounded up;
/// critical calls may fill all, and none may fill more than what is more urgent.
struct Ceilings {
  double normal = 1;
  double sheddable = 1;
  double background = 1;
};

/// The ceilings of any limit up to 2^31 - 1.
class PriorityShares {
 public:
  /// The largest limit.
  static constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;

  static Expected<PriorityShares, SettingsError> configure(const Ceilings& ceilings) noexcept {
    const std::array<double, priorities> wanted{1, ceilings.normal, ceilings.sheddable,
                                                ceilings.background};
    constexpr std::array names{"", "ceilings.normal", "ceilings.sheddable", "ceilings.background"};
    PriorityShares shares;
    for (std::size_t at = 1; at < priorities; ++at) {
      if (!(wanted[at] >= 0 && wanted[at] <= 1)) return SettingsError{names[at], "from 0 to 1"};
      // Rounded down, so that a share of 0.9 is not above nine tenths.
      const auto share = static_cast<std::uint64_t>(wanted[at] * static_cast<double>(whole));
      shares.of_whole_[at] = std::min(share, shares.of_whole_[at - 1]);
    }
    return shares;
  }

  /// Requires a limit from 0 to `most`.
  constexpr std::uint64_t ceiling(std::uint64_t limit, Priority priority) const noexcept {
    // Below 2^31 times 2^32, plus 2^32.
    return (limit * of_whole_[static_cast<std::size_t>(priority)] + (whole - 1)) >> 32;
  }

 private:
  static constexpr std::uint64_t whole = std::uint64_t{1} << 32;

  std::array<std::uint64_t, priorities> of_whole_{whole, whole, whole, whole};
};

}  // namespace weir
