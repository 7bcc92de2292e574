#include "weir/local/tsc_timeline.hpp"

#include <algorithm>
#include <limits>

namespace weir {
namespace {

/// Readings of the steady clock around one of the counter lie so far apart at most; the thread was
/// interrupted otherwise, and knows nothing.
constexpr std::int64_t widest_ns = 1'000;
constexpr std::int64_t narrow_ns = 64;
constexpr int tries_to_read = 8;

constexpr std::int64_t calibration_step_ns = 200'000;
constexpr int tries_to_calibrate = 3;

/// A line is never so far behind the steady clock: it begins no more than half a reading's width
/// behind, lasts a second, and the steady clock gains 500 us in a second at most.
constexpr std::int64_t margin_ns = 1'000'000;

/// A reading so little before its line is of a core whose counter is behind, not of one that
/// jumped. 0.3 ms at 3 GHz.
constexpr std::uint64_t skew_ticks = std::uint64_t{1} << 20;

}  // namespace

bool TscTimeline::follows_tsc() noexcept {
  if (mode_.load(std::memory_order_acquire) == Mode::undecided) at_no_line();
  return mode_.load(std::memory_order_acquire) == Mode::tsc;
}

SteadyInstant TscTimeline::at_no_line() noexcept {
  for (bool renewed = false;; renewed = true) {
    // Acquire pairs with the release in renew(): the floor is the last one.
    if (mode_.load(std::memory_order_acquire) == Mode::steady) {
      const std::int64_t floor_ns = floor_ns_.load(std::memory_order_relaxed);
      return instant(std::max(floor_ns, source_.steady_ns()));
    }
    const Seen seen = look();
    if (const auto told = told_by(seen)) return *told;
    if (renewed || renewing_.test_and_set(std::memory_order_acquire)) return between_lines();
    renew();
    renewing_.clear(std::memory_order_release);
  }
}

std::optional<SteadyInstant> TscTimeline::told_by(const Seen& seen) const noexcept {
  const TscLine& line = seen.line;
  const std::uint64_t tsc = source_.tsc();
  if (!seen.whole || line.length == 0) return std::nullopt;
  if (line.covers(tsc)) return instant(line.at(tsc));
  if (line.begin - tsc <= skew_ticks) return instant(line.base_ns);
  return std::nullopt;
}

/// The next line begins no earlier than the last one ends, and nowhere tells less than the steady
/// clock less the margin. So the later of the two is neither before what was told nor after what
/// will be.
SteadyInstant TscTimeline::between_lines() const noexcept {
  const Seen seen = look();
  if (const auto told = told_by(seen)) return *told;
  const std::int64_t late_ns = source_.steady_ns() - margin_ns;
  const std::int64_t floor_ns =
      seen.whole ? seen.line.end_ns() : floor_ns_.load(std::memory_order_relaxed);
  return instant(std::max(floor_ns, late_ns));
}

/// Requires renewing_.
void TscTimeline::renew() noexcept {
  const Mode mode = mode_.load(std::memory_order_relaxed);
  if (mode == Mode::steady) return;
  if (mode == Mode::undecided) {
    if (source_.tsc_is_usable()) scale_ = calibrate();
  } else {
    if (look().line.covers(source_.tsc())) return;
    const TscReading reading = read_both();
    if (reading.width_ns > widest_ns) return;
    scale_->follow(reading);
  }

  const bool trusted = scale_ && scale_->trusts_counter();
  TscLine line = scale_ ? scale_->line() : TscLine{};
  if (!trusted) line.length = 0;
  publish(line);
  mode_.store(trusted ? Mode::tsc : Mode::steady, std::memory_order_release);
}

void TscTimeline::publish(const TscLine& line) noexcept {
  const std::uint64_t count = closed_.load(std::memory_order_relaxed) + 1;
  floor_ns_.store(line.base_ns, std::memory_order_relaxed);
  // Release: who finds the line open knows its floor.
  opened_.store(count, std::memory_order_release);
  begin_.store(line.begin, std::memory_order_release);
  length_.store(line.length, std::memory_order_release);
  slope_.store(line.slope, std::memory_order_release);
  base_ns_.store(line.base_ns, std::memory_order_release);
  closed_.store(count, std::memory_order_release);
}

TscReading TscTimeline::read_both() const noexcept {
  TscReading best{.width_ns = std::numeric_limits<std::int64_t>::max()};
  for (int tries = 0; tries < tries_to_read && best.width_ns > narrow_ns; ++tries) {
    const std::int64_t before = source_.steady_ns();
    const std::uint64_t tsc = source_.tsc();
    const std::int64_t width = source_.steady_ns() - before;
    if (width < best.width_ns) best = {tsc, before + width / 2, width};
  }
  return best;
}

std::optional<TscScale> TscTimeline::calibrate() const noexcept {
  const auto read_after_a_step = [this](const TscReading& last) {
    while (source_.steady_ns() < last.steady_ns + calibration_step_ns) {
    }
    return read_both();
  };
  for (int tries = 0; tries < tries_to_calibrate; ++tries) {
    TscScale::Calibration readings;
    readings.first = read_both();
    readings.middle = read_after_a_step(readings.first);
    readings.last = read_after_a_step(readings.middle);
    const auto& [first, middle, last] = readings;
    if (std::max({first.width_ns, middle.width_ns, last.width_ns}) > widest_ns) continue;
    if (const auto scale = TscScale::calibrate(readings)) return scale;
  }
  return std::nullopt;
}

}  // namespace weir
