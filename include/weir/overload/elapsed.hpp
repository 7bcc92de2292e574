// How long ago, without overflow.
#pragma once

#include <chrono>
#include <cstdint>

#include "weir/steady_instant.hpp"

namespace weir {

/// What passed from one instant to a later one, at most what nanoseconds can hold; 0 where the
/// clock was set back.
constexpr std::chrono::nanoseconds elapsed(SteadyInstant from, SteadyInstant until) noexcept {
  if (until <= from) return std::chrono::nanoseconds{0};
  std::int64_t passed = 0;
  const bool too_long = __builtin_sub_overflow(until.time_since_epoch().count(),
                                               from.time_since_epoch().count(), &passed);
  return too_long ? std::chrono::nanoseconds::max() : std::chrono::nanoseconds{passed};
}

}  // namespace weir
