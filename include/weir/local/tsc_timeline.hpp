// The lines of a TscScale, shared by all threads: what stands behind TscClock.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "weir/local/tsc_scale.hpp"
#include "weir/steady_instant.hpp"

namespace weir {

/// Where a timeline reads its two clocks; tests make their own.
struct TscSource {
  std::uint64_t (*tsc)() noexcept;
  std::int64_t (*steady_ns)() noexcept;
  bool (*tsc_is_usable)() noexcept;  ///< asked once, before the counter is first read
};

/// Time by the line that is published. Whoever finds that it has ended makes the next one; nobody
/// waits for anybody: while one thread does, others are answered by the steady clock, up to
/// 1 ms late.
///
/// Threads  all of it from any thread
/// Cost     six loads, a multiplication and two branches; every second one call measures, 0.3 us
class TscTimeline {
 public:
  explicit constexpr TscTimeline(const TscSource& source) noexcept : source_(source) {}

  TscTimeline(const TscTimeline&) = delete;
  TscTimeline& operator=(const TscTimeline&) = delete;

  SteadyInstant at(std::uint64_t tsc) noexcept {
    const Seen seen = look();
    if (seen.line.covers(tsc) && seen.whole) [[likely]]
      return instant(seen.line.at(tsc));
    return at_no_line();
  }

  /// Whether the counter tells the time: decided at the first reading, and changed to no by a
  /// counter that jumps too often. False also while another thread still decides.
  bool follows_tsc() noexcept;

 private:
  enum class Mode : std::uint8_t { undecided, tsc, steady };

  struct Seen {
    TscLine line;
    bool whole;  ///< not mixed from two lines
  };

  static SteadyInstant instant(std::int64_t ns) noexcept {
    return SteadyInstant{std::chrono::nanoseconds{ns}};
  }

  /// A sequence lock without fences, which thread sanitizers do not know. publish() counts
  /// `opened_` up, writes the line, and then counts `closed_` up. Acquire keeps each load before
  /// the next and pairs with the releases there: whoever sees a part of a new line sees it opened.
  Seen look() const noexcept {
    const std::uint64_t closed = closed_.load(std::memory_order_acquire);
    const TscLine line{.begin = begin_.load(std::memory_order_acquire),
                       .length = length_.load(std::memory_order_acquire),
                       .slope = slope_.load(std::memory_order_acquire),
                       .base_ns = base_ns_.load(std::memory_order_acquire)};
    return {line, closed == opened_.load(std::memory_order_acquire)};
  }

  SteadyInstant at_no_line() noexcept;
  std::optional<SteadyInstant> told_by(const Seen& seen) const noexcept;
  SteadyInstant between_lines() const noexcept;
  void renew() noexcept;
  void publish(const TscLine& line) noexcept;
  TscReading read_both() const noexcept;
  std::optional<TscScale> calibrate() const noexcept;

  alignas(64) std::atomic<std::uint64_t> closed_{0};
  std::atomic<std::uint64_t> begin_{0};
  std::atomic<std::uint64_t> length_{0};
  std::atomic<std::uint64_t> slope_{0};
  std::atomic<std::int64_t> base_ns_{0};
  std::atomic<std::uint64_t> opened_{0};
  /// The base of the line last opened: no less than anything told by the lines before it, no more
  /// than anything that will be told by it.
  std::atomic<std::int64_t> floor_ns_{0};
  std::atomic<Mode> mode_{Mode::undecided};
  std::atomic_flag renewing_;

  TscSource source_;
  std::optional<TscScale> scale_;  ///< of the thread that set renewing_
};

}  // namespace weir
