// Clocks read by more threads than cores while their lines are renewed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "weir/local/clocks.hpp"

namespace weir {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t thread_count = 8;

/// A machine's time that the readers themselves push on, so that lines end all the time.
std::atomic<std::int64_t> true_ns{1'000'000'000'000};

std::int64_t steady_ns() noexcept { return true_ns.fetch_add(20); }
std::uint64_t tsc() noexcept { return static_cast<std::uint64_t>(true_ns.fetch_add(20)) * 3; }

template <typename Work>
void on_all_threads(Work&& work) {
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < thread_count; ++at) threads.emplace_back([&work, at] { work(at); });
  for (std::thread& thread : threads) thread.join();
}

TEST(TscTimelineOnThreads, NeverGoesBackForAnyAndStaysWithTheSteadyClock) {
  TscTimeline timeline({tsc, steady_ns, []() noexcept { return true; }});
  timeline.at(tsc());  // calibrates while nobody pushes
  std::array<std::int64_t, thread_count> worst_late{};
  std::array<std::int64_t, thread_count> worst_early{};
  on_all_threads([&](std::size_t thread) {
    std::int64_t last = 0;
    for (int at = 0; at < 100'000; ++at) {
      true_ns.fetch_add(at % 100 == 0 ? 400'000 : 500);
      const std::int64_t before = true_ns.load();
      const std::int64_t told = nanoseconds{timeline.at(tsc()).time_since_epoch()}.count();
      const std::int64_t after = true_ns.load();
      ASSERT_GE(told, last);
      last = told;
      worst_late[thread] = std::max(worst_late[thread], before - told);
      worst_early[thread] = std::max(worst_early[thread], told - after);
    }
  });
  for (std::size_t at = 0; at < thread_count; ++at) {
    EXPECT_LE(worst_late[at], 1'001'000);
    EXPECT_LE(worst_early[at], 50'000);
  }
  EXPECT_TRUE(timeline.follows_tsc());
}

TEST(TscClockOnThreads, NeverGoesBackForAny) {
  on_all_threads([](std::size_t) {
    const TscClock clock;
    const SteadyInstant end = SteadyClock{}.now() + std::chrono::milliseconds{300};
    SteadyInstant last{};
    while (last < end) {
      const SteadyInstant now = clock.now();
      ASSERT_GE(now, last);
      last = now;
    }
  });
}

TEST(PublishedTimeOnThreads, NeverGoesBackWhoeverPublishes) {
  PublishedTime time;
  on_all_threads([&time](std::size_t thread) {
    const TickClock clock(time);
    // Long enough for threads to be interrupted between reading the time and publishing it.
    const SteadyInstant end = SteadyClock{}.now() + std::chrono::milliseconds{200};
    SteadyInstant last{};
    while (SteadyClock{}.now() < end) {
      if (thread % 2 == 0) time.publish();
      const SteadyInstant now = clock.now();
      ASSERT_GE(now, last);
      last = now;
    }
  });
}

}  // namespace
}  // namespace weir
