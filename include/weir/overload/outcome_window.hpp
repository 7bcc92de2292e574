// How the last calls ended, counted: the last so many, or those of the last so long.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weir/overload/recent_parts.hpp"
#include "weir/steady_instant.hpp"

namespace weir {

/// What a window holds. A call may be both failed and slow.
struct OutcomeCounts {
  std::int64_t calls = 0;
  std::int64_t failures = 0;
  std::int64_t slow = 0;

  constexpr OutcomeCounts& operator+=(const OutcomeCounts& other) noexcept {
    calls += other.calls;
    failures += other.failures;
    slow += other.slow;
    return *this;
  }
  constexpr OutcomeCounts& operator-=(const OutcomeCounts& other) noexcept {
    calls -= other.calls;
    failures -= other.failures;
    slow -= other.slow;
    return *this;
  }
  bool operator==(const OutcomeCounts&) const = default;
};

/// One call that ended, in a window's eyes.
struct CallMark {
  bool failed = false;
  bool slow = false;
};

/// The last so many calls, exactly.
///
/// Memory   288 bytes: two bits a call, and the counts
/// Cost     the same whatever the size
class CallCountWindow {
 public:
  static constexpr std::int64_t most_calls = 1024;

  const OutcomeCounts& counts() const noexcept { return counts_; }

  /// Requires 1 <= size <= most_calls, always the same.
  void record(CallMark mark, std::int64_t size) noexcept {
    const auto word = static_cast<std::size_t>(next_ / 64);
    const auto bit = static_cast<std::uint32_t>(next_ % 64);
    if (counts_.calls == size) {
      counts_ -= {1, static_cast<std::int64_t>(failed_[word] >> bit & 1),
                  static_cast<std::int64_t>(slow_[word] >> bit & 1)};
    }
    counts_ += {1, mark.failed, mark.slow};
    const std::uint64_t others = ~(std::uint64_t{1} << bit);
    failed_[word] = (failed_[word] & others) | std::uint64_t{mark.failed} << bit;
    slow_[word] = (slow_[word] & others) | std::uint64_t{mark.slow} << bit;
    next_ = next_ + 1 < size ? next_ + 1 : 0;
  }

 private:
  OutcomeCounts counts_;
  std::int64_t next_ = 0;  ///< where the next call goes; when full, the oldest lies there
  std::array<std::uint64_t, most_calls / 64> failed_{};
  std::array<std::uint64_t, most_calls / 64> slow_{};
};

/// The calls that ended in the last so many parts of time, the present one among them. Parts are
/// cut at multiples of their width. A time before the newest that was recorded counts as that one.
///
/// Bound    with p parts, a call is counted for at least p - 1 widths, and for less than p of them
/// Memory   1.5 kB
/// Cost     the same for each call; a part for each that passed since the last, all at most
class TimeWindow {
 public:
  static constexpr std::int64_t most_parts = 60;
  using Parts = RecentParts<OutcomeCounts, most_parts>;
  using Shape = Parts::Shape;

  void record(const Shape& shape, CallMark mark, SteadyInstant now) noexcept {
    advance(shape, now);
    const OutcomeCounts one{1, mark.failed, mark.slow};
    counts_ += one;
    parts_.current() += one;
  }

  /// What is still counted at `now`.
  OutcomeCounts counts(const Shape& shape, SteadyInstant now) const noexcept {
    TimeWindow later = *this;
    later.advance(shape, now);
    return later.counts_;
  }

  /// As counts(), where `now` is the instant that was recorded last.
  const OutcomeCounts& counts() const noexcept { return counts_; }

 private:
  void advance(const Shape& shape, SteadyInstant now) noexcept {
    parts_.advance(shape, now, [this](const OutcomeCounts& gone) { counts_ -= gone; });
  }

  OutcomeCounts counts_;
  Parts parts_;
};

}  // namespace weir
