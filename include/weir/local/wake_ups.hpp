// Sleeping until an instant, though the system wakes late.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace weir {

/// How late this process is woken, as its waiters have seen it: some 70 us with the default timer
/// slack of Linux. Who waits sleeps for so much less and yields for the rest, so that it acts at
/// its instant and a rate of many thousand a second is reached by waiting.
///
/// Threads  safe from any thread; a lost update loses one observation
class WakeUps {
 public:
  /// How long to sleep for what is left; zero where only yielding is short enough.
  static std::chrono::nanoseconds nap(std::chrono::nanoseconds left) noexcept {
    const std::chrono::nanoseconds late{lateness.load(std::memory_order_relaxed)};
    return std::max(left - late, std::chrono::nanoseconds{0});
  }

  static void observe(std::chrono::nanoseconds late) noexcept {
    const std::int64_t seen = std::clamp(late.count(), std::int64_t{0}, most);
    const std::int64_t known = lateness.load(std::memory_order_relaxed);
    lateness.store(known + (seen - known) / 8, std::memory_order_relaxed);
  }

 private:
  static constexpr std::int64_t most = 200'000;
  static inline std::atomic<std::int64_t> lateness{80'000};
};

/// Whether waiting brings the clock forward. One that a test sets is looked at again and again.
template <typename Clock>
constexpr bool flows() noexcept {
  if constexpr (requires { Clock::flows; }) {
    return Clock::flows;
  } else {
    return true;
  }
}

/// How long to wait where `left` is left until the instant that is waited for.
template <typename Clock>
constexpr std::chrono::nanoseconds until_next_look(std::chrono::nanoseconds left) noexcept {
  return flows<Clock>() ? left
                        : std::min<std::chrono::nanoseconds>(left, std::chrono::microseconds{100});
}

}  // namespace weir
