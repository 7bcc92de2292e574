// The windows of a breaker count what a list of all calls would count.
#include "weir/overload/outcome_window.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

namespace weir {
namespace {

using namespace std::chrono_literals;

struct At {
  SteadyInstant at;
  CallMark mark;
};

/// Of the last so many.
OutcomeCounts count(const std::vector<At>& calls, std::int64_t last) {
  OutcomeCounts sum;
  const auto left_out = std::max<std::ptrdiff_t>(0, std::ssize(calls) - last);
  for (auto call = calls.begin() + left_out; call != calls.end(); ++call) {
    sum += {1, call->mark.failed, call->mark.slow};
  }
  return sum;
}

TEST(CallCountWindow, CountsTheLastCallsExactly) {
  for (const std::int64_t size : {1, 2, 63, 64, 65, 100, 1024}) {
    std::mt19937_64 random(static_cast<std::uint64_t>(size));
    CallCountWindow window;
    std::vector<At> calls;
    for (int call = 0; call < 2500; ++call) {
      calls.push_back({{}, {.failed = random() % 3 == 0, .slow = random() % 2 == 0}});
      window.record(calls.back().mark, size);
      if (call % 7 == 0 || call < 70) {
        ASSERT_EQ(window.counts(), count(calls, size)) << size;
      }
    }
  }
}

TEST(TimeWindow, ACallCountsForBetweenOnePartLessThanTheWindowAndTheWindow) {
  for (const std::int64_t parts : {1, 2, 10, 60}) {
    const TimeWindow::Shape shape{7ns, static_cast<std::size_t>(parts)};
    std::mt19937_64 random(static_cast<std::uint64_t>(parts));
    TimeWindow window;
    std::vector<At> calls;
    SteadyInstant now{-300ns};  // also before the epoch
    for (int call = 0; call < 1500; ++call) {
      now += std::chrono::nanoseconds(random() % 5 == 0 ? random() % 540 : random() % 3);
      const CallMark mark{.failed = random() % 3 == 0, .slow = random() % 4 == 0};
      window.record(shape, mark, now);
      calls.push_back({now, mark});
      const SteadyInstant later = now + std::chrono::nanoseconds(random() % 480);
      for (const SteadyInstant when : {now, later}) {
        std::int64_t at_least = 0;
        std::int64_t at_most = 0;
        for (const At& each : calls) {
          at_least += when - each.at < shape.part * (parts - 1) ? 1 : 0;
          at_most += when - each.at < shape.part * parts ? 1 : 0;
        }
        const OutcomeCounts counts = window.counts(shape, when);
        ASSERT_GE(counts.calls, at_least);
        ASSERT_LE(counts.calls, at_most);
        ASSERT_LE(counts.failures, counts.calls);
        ASSERT_LE(counts.slow, counts.calls);
        ASSERT_EQ(counts, count(calls, counts.calls));
      }
      ASSERT_EQ(window.counts(), window.counts(shape, now));
    }
  }
}

TEST(TimeWindow, PartsBeforeTheEpochAreAsWideAsOthers) {
  const TimeWindow::Shape shape{10ns, 2};
  TimeWindow window;
  window.record(shape, {}, SteadyInstant{-1ns});
  EXPECT_EQ(window.counts(shape, SteadyInstant{9ns}).calls, 1);
  EXPECT_EQ(window.counts(shape, SteadyInstant{10ns}).calls, 0);
}

TEST(TimeWindow, ATimeThatGoesBackCountsAsTheNewest) {
  const TimeWindow::Shape shape{1s, 2};
  TimeWindow window;
  window.record(shape, {.failed = true}, SteadyInstant{10s});
  window.record(shape, {.failed = true}, SteadyInstant{9s});
  window.record(shape, {}, SteadyInstant{10s});
  EXPECT_EQ(window.counts(shape, SteadyInstant{11s}).failures, 2);
  EXPECT_EQ(window.counts(shape, SteadyInstant{1s}).failures, 2);
  EXPECT_EQ(window.counts(shape, SteadyInstant{12s}).failures, 0);
}

}  // namespace
}  // namespace weir
