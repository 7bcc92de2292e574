// A limiter's own ticks on the steady time line.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>

#include "weir/algorithm/gcra.hpp"
#include "weir/steady_instant.hpp"

namespace weir {

/// Scales the clock instead of the rate: a tick is the interval of a rate divided by the power of
/// two that makes it 0.5 to 1 ns. An interval is then a whole number of ticks, and what is rounded
/// is the time alone, by less than a tick; the rate is the one asked for but for 2^-63 of it.
struct TickScale {
  /// In 2^-63, rounded up: whole intervals that are whole nanoseconds then have all their ticks. A
  /// caller at the pace itself, as in a test with manual time, would miss each one by a tick else.
  std::uint64_t ticks_in_ns = 0;
  std::uint64_t ns_in_tick = 0;  ///< in 2^-63, rounded down
  std::uint32_t shift = 0;       ///< an interval is 2^shift ticks

  struct Rate {
    Cost count;  ///< units in each period
    std::chrono::nanoseconds period;
  };

  /// No capacity, interval or patience may be longer: 2^60 ticks, 18 years or more. A capacity, a
  /// patience and their instant, in half ticks, are then less than half of 2^64 apart.
  static constexpr Span longest{std::int64_t{1} << 60};

  /// Errors  not_positive, too_fast (above 10^9 units a second), too_long
  static constexpr Expected<TickScale, ConfigError> of(Rate rate) noexcept {
    __extension__ using Product = unsigned __int128;
    if (rate.count <= 0 || rate.period.count() <= 0) return ConfigError::not_positive;
    if (rate.count > rate.period.count()) return ConfigError::too_fast;
    const auto count = static_cast<std::uint64_t>(rate.count);
    const auto period = static_cast<std::uint64_t>(rate.period.count());
    // 2^shift is the least that is not below the interval in nanoseconds.
    const auto shift = static_cast<std::uint32_t>(std::bit_width((period - 1) / count));
    if (shift > 59) return ConfigError::too_long;
    const auto ticks_in_ns =
        static_cast<std::uint64_t>(((Product{count} << (shift + 63)) + period - 1) / period);
    return TickScale{ticks_in_ns, static_cast<std::uint64_t>((Product{1} << 126) / ticks_in_ns),
                     shift};
  }

  constexpr Interval interval() const noexcept {
    return Interval(Interval::Rate{1, Span{std::int64_t{1} << shift}});
  }

  /// The last tick that is not after so many nanoseconds; 0 where there are none.
  static constexpr std::uint64_t ticks(std::int64_t ns, std::uint64_t ticks_in_ns) noexcept {
    __extension__ using Product = unsigned __int128;
    const std::uint64_t halves = ns > 0 ? 2 * static_cast<std::uint64_t>(ns) : 0;
    return static_cast<std::uint64_t>(Product{halves} * ticks_in_ns >> 64);
  }
  constexpr std::uint64_t ticks(std::chrono::nanoseconds length) const noexcept {
    return ticks(length.count(), ticks_in_ns);
  }

  /// The least number of nanoseconds at which that tick has begun.
  constexpr std::chrono::nanoseconds nanoseconds(std::int64_t tick) const noexcept {
    __extension__ using Product = unsigned __int128;
    if (tick <= 0) return std::chrono::nanoseconds{0};
    const auto wanted = static_cast<std::uint64_t>(tick);
    auto ns = static_cast<std::int64_t>(Product{wanted} * ns_in_tick >> 63);  // or one or two less
    ns += ticks(ns, ticks_in_ns) < wanted ? 1 : 0;
    ns += ticks(ns, ticks_in_ns) < wanted ? 1 : 0;
    return std::chrono::nanoseconds{ns};
  }
};

}  // namespace weir
