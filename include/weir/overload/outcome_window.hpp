// How the last calls ended, counted: the last so many, or those of the last so long.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

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
  constexpr void record(CallMark mark, std::int64_t size) noexcept {
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

  bool operator==(const CallCountWindow&) const = default;

 private:
  OutcomeCounts counts_;
  std::int64_t next_ = 0;  ///< where the next call goes; when full, the oldest lies there
  std::array<std::uint64_t, most_calls / 64> failed_{};
  std::array<std::uint64_t, most_calls / 64> slow_{};
};

/// The calls that ended in the last `parts` parts of time, the present one among them. Parts are
/// cut at multiples of their width.
///
/// Bound    a call is counted for at least parts - 1 widths, and for less than `parts` of them
/// Memory   1.5 kB
/// Cost     the same for each call; a part for each that passed since the last, `parts` at most
class TimeWindow {
 public:
  static constexpr std::int64_t most_parts = 60;

  struct Config {
    std::chrono::nanoseconds part{1};
    std::int64_t parts = 1;
    bool operator==(const Config&) const = default;
  };

  /// A time before the newest recorded counts as that one.
  constexpr void record(const Config& config, CallMark mark, SteadyInstant now) noexcept {
    advance(config, part_of(config, now));
    const OutcomeCounts one{1, mark.failed, mark.slow};
    counts_ += one;
    cell(config, newest_) += one;
  }

  /// What is still counted at `now`.
  constexpr OutcomeCounts counts(const Config& config, SteadyInstant now) const noexcept {
    OutcomeCounts left = counts_;
    const std::int64_t part = part_of(config, now);
    for (std::int64_t gone = newest_ - config.parts + 1;
         gone <= std::min(part - config.parts, newest_); ++gone) {
      left -= cells_[index(config, gone)];
    }
    return left;
  }

  /// As counts(), where `now` is the instant that was recorded last.
  constexpr const OutcomeCounts& counts() const noexcept { return counts_; }

  bool operator==(const TimeWindow&) const = default;

 private:
  /// Floor division: instants before the epoch are instants too.
  static constexpr std::int64_t part_of(const Config& config, SteadyInstant now) noexcept {
    const std::int64_t at = now.time_since_epoch().count();
    const std::int64_t width = config.part.count();
    return at / width - (at % width < 0 ? 1 : 0);
  }

  static constexpr std::size_t index(const Config& config, std::int64_t part) noexcept {
    const std::int64_t rest = part % config.parts;
    return static_cast<std::size_t>(rest < 0 ? rest + config.parts : rest);
  }

  constexpr OutcomeCounts& cell(const Config& config, std::int64_t part) noexcept {
    return cells_[index(config, part)];
  }

  /// Empties the cells of parts that begin, which are those of parts that end.
  constexpr void advance(const Config& config, std::int64_t part) noexcept {
    if (part <= newest_) return;
    for (std::int64_t begun = std::max(newest_, part - config.parts) + 1; begun <= part; ++begun) {
      counts_ -= cell(config, begun);
      cell(config, begun) = {};
    }
    newest_ = part;
  }

  OutcomeCounts counts_;
  /// The newest part that has counts. The first of all is earlier than any, by so much that no
  /// difference of two parts overflows.
  std::int64_t newest_ = -(std::int64_t{1} << 62);
  std::array<OutcomeCounts, most_parts> cells_{};
};

}  // namespace weir
