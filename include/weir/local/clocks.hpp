// The clocks that a limiter in this process can go by. Each is a small value with one function,
// now(), and all tell the time line of std::chrono::steady_clock, so that an instant of one can be
// compared with an instant of another. They differ in cost and in error: docs/clocks.md.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

#include "weir/local/tsc_timeline.hpp"
#include "weir/steady_instant.hpp"

namespace weir {

/// std::chrono::steady_clock itself.
///
/// Threads  now() from any thread, as in all clocks
/// Error    none: the other clocks' errors are against this one
struct SteadyClock {
  SteadyInstant now() const noexcept { return std::chrono::steady_clock::now(); }
};

/// The processor's time stamp counter, held to the steady clock once a second.
///
/// Time never goes back for a thread. The first reading in a process calibrates, for 0.4 ms (1.2 ms
/// where readings disagree); whoever comes meanwhile is answered 1 ms late. This is SteadyClock
/// where the processor does not promise a counter of one rate, where the system has chosen another
/// for itself, where calibration finds no steady rate, after the counter has jumped 10 times, and
/// on processors other than x86-64.
///
/// Error    below 1 us as a rule; 25 times the width of a reading of both clocks, refused above
///          1 us, and what the system slews its clock in a second (500 us at most, mostly
///          none). Threads on different cores differ by what their counters do: some nanoseconds.
/// Jumps    of the counter (a suspended machine, one moved to another host) are mended within 1 s:
///          what is behind steps forward, what is ahead runs at half speed, by at most 1 s
/// Fork     in a child that was forked while another thread held the clock to the steady one, time
///          is 1 ms late for good; nothing waits
class TscClock {
 public:
  SteadyInstant now() const noexcept {
#ifdef __x86_64__
    return timeline.at(__builtin_ia32_rdtsc());
#else
    return std::chrono::steady_clock::now();
#endif
  }

  /// Whether the counter tells the time here. The first call calibrates if no reading has.
  static bool uses_tsc() noexcept;

 private:
  static TscTimeline timeline;
};

/// The time of the kernel's last tick, 1 to 4 ms apart. Where the system has no such clock
/// (Linux has) this is SteadyClock.
///
/// Error    late by up to a tick, never early
struct CoarseClock {
  SteadyInstant now() const noexcept {
#ifdef CLOCK_MONOTONIC_COARSE
    std::timespec time{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return SteadyInstant{std::chrono::seconds{time.tv_sec} +
                         std::chrono::nanoseconds{time.tv_nsec}};
#else
    return std::chrono::steady_clock::now();
#endif
  }
};

/// The time that somebody last published, for a TickClock to read. One that owns an event loop can
/// publish in each round; PublishedTick has a thread that does.
class PublishedTime {
 public:
  PublishedTime() { publish(); }

  PublishedTime(const PublishedTime&) = delete;
  PublishedTime& operator=(const PublishedTime&) = delete;

  /// Reads the steady clock for all. From any thread; the latest reading stays.
  void publish() noexcept;

  SteadyInstant last() const noexcept {
    return SteadyInstant{std::chrono::nanoseconds{ns_.load(std::memory_order_relaxed)}};
  }

 private:
  alignas(64) std::atomic<std::int64_t> ns_{0};
};

/// A thread that publishes the time once in each period.
///
/// Errors   the constructor throws std::system_error where no thread can be had
/// Cost     some 2 us of processor for each period; the destructor takes up to one
class PublishedTick {
 public:
  /// A period below 50 us or above 10 ms is taken as the nearer of these.
  explicit PublishedTick(std::chrono::microseconds period = std::chrono::microseconds{500});
  ~PublishedTick();

  PublishedTick(const PublishedTick&) = delete;
  PublishedTick& operator=(const PublishedTick&) = delete;

  const PublishedTime& time() const noexcept { return time_; }

 private:
  struct Beat;

  PublishedTime time_;
  Beat* beat_;  ///< owned; kept out of the header for what <thread> costs each who includes it
};

/// The time last published: one load. While nobody publishes, time stands still, and limits refuse.
///
/// Error    late by a period and however late the publishing thread is woken; never early
/// Requires the PublishedTime or PublishedTick to outlive the clock
class TickClock {
 public:
  explicit TickClock(const PublishedTime& time) noexcept : time_(&time) {}
  explicit TickClock(const PublishedTick& tick) noexcept : time_(&tick.time()) {}
  explicit TickClock(const PublishedTime&&) = delete;
  explicit TickClock(const PublishedTick&&) = delete;

  SteadyInstant now() const noexcept { return time_->last(); }

 private:
  const PublishedTime* time_;
};

/// A time that a test sets, for ManualClocks to tell. It may go back.
class ManualTime {
 public:
  explicit ManualTime(SteadyInstant start = {}) noexcept { set(start); }

  ManualTime(const ManualTime&) = delete;
  ManualTime& operator=(const ManualTime&) = delete;

  void set(SteadyInstant now) noexcept {
    ticks_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  void advance(SteadyInstant::duration by) noexcept {
    ticks_.fetch_add(by.count(), std::memory_order_relaxed);
  }
  SteadyInstant now() const noexcept {
    return SteadyInstant{SteadyInstant::duration{ticks_.load(std::memory_order_relaxed)}};
  }

 private:
  std::atomic<SteadyInstant::rep> ticks_{0};
};

/// Tells a ManualTime.
///
/// Requires the ManualTime to outlive the clock
class ManualClock {
 public:
  static constexpr bool flows = false;  ///< waiting does not bring it forward

  explicit ManualClock(const ManualTime& time) noexcept : time_(&time) {}
  explicit ManualClock(const ManualTime&&) = delete;

  SteadyInstant now() const noexcept { return time_->now(); }

 private:
  const ManualTime* time_;
};

/// What limiters go by unless told otherwise.
using DefaultClock = TscClock;

}  // namespace weir
