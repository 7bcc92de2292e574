#include "weir/local/tsc_scale.hpp"

#include <algorithm>
#include <limits>

namespace weir {
namespace {

__extension__ using UnsignedWide = unsigned __int128;

/// The steady clock is itself slewed by up to 500 ppm, and a slope may be off by as much.
constexpr std::int64_t drift_part = 500;
constexpr std::int64_t jitter_ns = 10'000;

/// A rate measured over less is worse than the one that is known.
constexpr std::int64_t shortest_base_ns = TscScale::first_length_ns / 2;

/// 0 where there is none: time or counter stood still or went back, or the counter is too slow.
std::uint64_t rate_between(const TscReading& from, const TscReading& to) noexcept {
  const std::uint64_t ticks = to.tsc - from.tsc;
  if (ticks == 0 || to.steady_ns <= from.steady_ns) return 0;
  const auto elapsed = static_cast<std::uint64_t>(to.steady_ns - from.steady_ns);
  const UnsignedWide rate = (UnsignedWide{elapsed} << TscLine::fraction_bits) / ticks;
  return rate > std::numeric_limits<std::uint64_t>::max() ? 0 : static_cast<std::uint64_t>(rate);
}

}  // namespace

std::optional<TscScale> TscScale::calibrate(const Calibration& readings) noexcept {
  const auto& [first, middle, last] = readings;
  const std::uint64_t early = rate_between(first, middle);
  const std::uint64_t late = rate_between(middle, last);
  const std::uint64_t apart = std::max(early, late) - std::min(early, late);
  if (early == 0 || late == 0 || apart > late / 1'000) return std::nullopt;

  TscScale scale;
  scale.rate_ = rate_between(first, last);
  scale.begin_line(last);
  return scale;
}

void TscScale::follow(const TscReading& reading) noexcept {
  if (jumped_before(reading)) {
    ++jumps_;
    length_ns_ = first_length_ns;
  } else {
    length_ns_ = std::min(length_ns_ * 10, longest_length_ns);
    const std::uint64_t rate = rate_between(last_, reading);
    if (rate != 0 && reading.steady_ns - last_.steady_ns >= shortest_base_ns) rate_ = rate;
  }
  begin_line(reading);
}

void TscScale::begin_line(const TscReading& reading) noexcept {
  const std::int64_t base_ns = std::max(line_.end_ns(), reading.steady_ns);
  const std::int64_t ahead = std::min(base_ns - reading.steady_ns, length_ns_ / 2);
  const auto part = [&](std::int64_t ns) {
    return static_cast<std::uint64_t>(UnsignedWide{rate_} * static_cast<std::uint64_t>(ns) /
                                      static_cast<std::uint64_t>(length_ns_));
  };
  // In ticks at the counter's own rate: the line's end is an instant of the steady clock.
  const UnsignedWide length =
      (UnsignedWide{static_cast<std::uint64_t>(length_ns_)} << TscLine::fraction_bits) / rate_;
  line_ = {.begin = reading.tsc,
           .length = static_cast<std::uint64_t>(length),
           .slope = rate_ - part(ahead),
           .base_ns = base_ns};
  last_ = reading;
}

bool TscScale::jumped_before(const TscReading& reading) const noexcept {
  // A counter that went back makes a difference near 2^64, which is a jump as well.
  const UnsignedWide expected =
      (UnsignedWide{reading.tsc - last_.tsc} * rate_) >> TscLine::fraction_bits;
  const std::int64_t elapsed = std::max<std::int64_t>(reading.steady_ns - last_.steady_ns, 0);
  const std::int64_t allowed = elapsed / drift_part + jitter_ns;
  const auto most = static_cast<std::uint64_t>(elapsed + allowed);
  const auto least = static_cast<std::uint64_t>(std::max<std::int64_t>(elapsed - allowed, 0));
  return expected > most || expected < least;
}

}  // namespace weir
