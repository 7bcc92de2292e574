// From readings of a processor's time stamp counter to the time of the steady clock: arithmetic
// alone, which knows neither of the two clocks.
#pragma once

#include <cstdint>
#include <optional>

namespace weir {

/// Where the steady clock stood when the counter stood at `tsc`.
struct TscReading {
  std::uint64_t tsc = 0;
  std::int64_t steady_ns = 0;
  std::int64_t width_ns = 0;  ///< steady_ns may be wrong by half of it
};

/// Time as a straight line over the counter, for a while. Differences are taken modulo 2^64, so a
/// counter may begin anywhere and run over its end.
struct TscLine {
  /// A slope is in units of 2^-32 ns a tick, rounded down: 1 ns in a second is lost at 4 GHz. A
  /// line lasts a second at most, so its ticks times its slope stay below 2^62.
  static constexpr int fraction_bits = 32;

  std::uint64_t begin = 0;   ///< the counter's value where the line begins
  std::uint64_t length = 0;  ///< so many ticks it is good for; 0: it says nothing
  std::uint64_t slope = 0;
  std::int64_t base_ns = 0;  ///< the time at `begin`

  bool covers(std::uint64_t tsc) const noexcept { return tsc - begin < length; }

  /// Requires covers(tsc).
  std::int64_t at(std::uint64_t tsc) const noexcept { return after(tsc - begin); }

  /// No time that the line tells is later.
  std::int64_t end_ns() const noexcept { return after(length); }

 private:
  std::int64_t after(std::uint64_t ticks) const noexcept {
    return base_ns + static_cast<std::int64_t>((ticks * slope) >> fraction_bits);
  }
};

/// Makes one line after the other from readings. Each line begins where the steady clock stands, or
/// where its forerunner ended if that is later, and then runs slower, so that it meets the steady
/// clock at its own end. Lines last 10 ms, 100 ms, then 1 s each.
///
/// Bound    time never goes back from one line to the next; a line that begins d ahead of the
///          steady clock runs slower by d / its length, at half speed if that is more
///
/// A reading that is nowhere near where the last line pointed means that the counter jumped or
/// stood: the next line keeps the slope that was known and lasts 10 ms again. After `jumps_max` of
/// them the counter is no clock.
class TscScale {
 public:
  static constexpr int jumps_max = 10;
  static constexpr std::int64_t first_length_ns = 10'000'000;
  static constexpr std::int64_t longest_length_ns = 1'000'000'000;

  /// Three readings, one after the other.
  struct Calibration {
    TscReading first, middle, last;
  };

  /// Nothing if the rates between the three differ by more than a thousandth, or fit no slope.
  static std::optional<TscScale> calibrate(const Calibration& readings) noexcept;

  /// Makes the next line. Requires a reading that the line does not cover.
  void follow(const TscReading& reading) noexcept;

  const TscLine& line() const noexcept { return line_; }
  bool trusts_counter() const noexcept { return jumps_ < jumps_max; }

 private:
  void begin_line(const TscReading& reading) noexcept;
  bool jumped_before(const TscReading& reading) const noexcept;

  TscLine line_;
  TscReading last_;
  std::uint64_t rate_ = 0;  ///< the slope at which the counter was seen to run
  std::int64_t length_ns_ = first_length_ns;
  int jumps_ = 0;
};

}  // namespace weir
