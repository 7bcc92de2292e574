#include "weir/overload/auto_concurrency.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "test/overload/closed_loop.hpp"
#include "test/overload/samples.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Law = AutoConcurrency;

class AutoLimit : public testing::Test {
 protected:
  std::int64_t limit() const { return Law::limit(config_, state_); }

  /// A window: 200 calls in a row, beside as many that succeeded unseen as make it `calls`. The
  /// first begins with its first call, and so is 1 ms shorter.
  struct Calls {
    std::chrono::nanoseconds latency;
    std::int64_t calls = 200;
    std::int64_t in_flight = largest_limit;
  };
  std::int64_t after(const Calls& window) {
    Law::count_unseen(config_, state_, window.calls - 200);
    for (int call = 0; call < 200; ++call) {
      now_ += 1ms;
      Law::observe(config_, state_, success({window.latency, window.in_flight}, now_));
    }
    return limit();
  }

  Law::Config config_ = configured<Law>({});
  Law::State state_;
  SteadyInstant now_{10'000s};
};

TEST(AutoConcurrencyAfterARest, DoesNotTakeItForAServiceThatDoesLittle) {
  const auto config = configured<AutoConcurrency>({});
  AutoConcurrency::State state;
  SteadyInstant now{1h};
  AutoConcurrency::observe(config, state, {now, 10ms, 1, CallEnd::success});
  now += 1min;
  AutoConcurrency::observe(config, state, {now + 10ms, 10ms, 1, CallEnd::success});
  now += 10ms;
  for (int call = 0; call < 1'000; ++call) {
    const std::int64_t limit = AutoConcurrency::limit(config, state);
    ASSERT_GT(limit, 20);
    now += std::chrono::nanoseconds(10ms) / limit;
    AutoConcurrency::observe(config, state, {now, 10ms, limit, CallEnd::success});
  }
}

TEST_F(AutoLimit, IsTheNoLoadLatencyTimesTheRateAndAThird) {
  for (int call = 0; call < 200; ++call) {
    EXPECT_EQ(limit(), 40);
    if (call == 100) Law::count_unseen(config_, state_, 1'800);
    Law::observe(config_, state_, success({5ms, 40}, now_ + call * 1ms));
  }
  // 2000 in 199 ms, at 5 ms each: 50.25; and 0.3 of that more, as the source begins.
  EXPECT_EQ(limit(), 66);
}

/// The law in plain numbers, a window at a time.
struct Published {
  double least = 0;
  double most = 0;
  double explore = 0.3;

  double after(double latency, double rate) {
    least = least == 0 ? latency : latency < least ? 0.1 * latency + 0.9 * least : least;
    most = rate >= most ? rate : 0.01 * rate + 0.99 * most;
    const bool idle = latency <= least * 1.06 || rate <= most / 1.06;
    explore = idle ? std::fmin(0.3, explore + 0.02) : std::fmax(0.06, explore - 0.02);
    return std::fmax(1, std::fmin(1000, std::ceil(least * most * (1 + explore))));
  }
};

TEST_F(AutoLimit, FollowsThePublishedLawWindowByWindow) {
  std::mt19937 random(3);
  Published published;
  config_ = configured<Law>({.remeasure_after = 24h});
  for (int window = 0; window < 300; ++window) {
    const std::int64_t us = 4'000 + static_cast<std::int64_t>(random() % 1'000);
    const std::int64_t calls = 2'000 + static_cast<std::int64_t>(random() % 400);
    const double expected = published.after(
        static_cast<double>(us) * 1e3, static_cast<double>(calls) / (window == 0 ? 199e6 : 200e6));
    ASSERT_NEAR(static_cast<double>(after({us * 1us, calls})), expected, 1) << window;
    ASSERT_NEAR(state_.least, published.least, 1e-3);
    ASSERT_NEAR(state_.most, published.most, 1e-12);
  }
}

TEST_F(AutoLimit, TakesASampleEachTenthOfAMillisecond) {
  for (int call = 0; call < 1'000; ++call) {
    Law::observe(config_, state_, success({5ms, 40}, now_ + call * 10us));
  }
  EXPECT_EQ(state_.window.sampled, 100);
  EXPECT_EQ(state_.window.successes, 1'000);
}

TEST_F(AutoLimit, AWindowOfASecondNeedsAHundredSamplesAndElseGoesOn) {
  for (int call = 0; call < 99; ++call) {
    now_ += 20ms;
    Law::observe(config_, state_, success({100ms, 40}, now_));
  }
  EXPECT_EQ(limit(), 40);
  EXPECT_EQ(state_.window.sampled, 99);
  Law::observe(config_, state_, success({100ms, 40}, now_ + 20ms));
  EXPECT_EQ(limit(), 7);  // 100 in 1.98 s, at 0.1 s each: 5.05, and 0.3 of that
}

TEST_F(AutoLimit, DroppedCallsPutTheirLatencyOnTheOthers) {
  for (int call = 0; call < 200; ++call) {
    CallSample sample = success({5ms, 40}, now_ + call * 1ms);
    if (call % 4 == 0) sample.end = CallEnd::dropped;
    Law::observe(config_, state_, sample);
  }
  EXPECT_DOUBLE_EQ(state_.least, 5e6 * 4 / 3);
}

TEST_F(AutoLimit, AWindowOfDropsHalvesIt) {
  for (const std::int64_t expected : {20, 10, 5, 3, 2, 1, 1}) {
    for (int call = 0; call < 200; ++call) {
      now_ += 1ms;
      Law::observe(config_, state_, dropped(now_));
    }
    EXPECT_EQ(limit(), expected);
  }
}

TEST_F(AutoLimit, MeasuresAnewBetweenHalfOfTheTimeAndAll) {
  for (int window = 0; window < 1'000 && !state_.draining; ++window) after({5ms, 4'000});
  EXPECT_GE(now_ - SteadyInstant{10'000s}, 25s);
  EXPECT_LE(now_ - SteadyInstant{10'000s}, 50s + 200ms);
  EXPECT_EQ(limit(), 91);  // 0.9 * 5 ms * 20 / ms, and a little of the first window's rate
  now_ += 9ms;
  Law::observe(config_, state_, success({20ms, 40}, now_));
  EXPECT_TRUE(state_.draining);
  now_ += 1ms;  // twice 5 ms
  Law::observe(config_, state_, success({15ms, 40}, now_));
  EXPECT_FALSE(state_.draining);
  EXPECT_EQ(state_.least, 0);
  after({15ms, 1'000});
  EXPECT_NEAR(state_.least, 15e6, 1e3);
}

TEST_F(AutoLimit, WhileLessThanHalfIsInUseItStaysAndIsMeasuredWithoutADrain) {
  after({5ms, 4'000});
  after({5ms, 4'000});
  const std::int64_t before = limit();
  for (int window = 0; window < 250; ++window) {
    EXPECT_EQ(after({15ms, 200, 5}), before);
    EXPECT_FALSE(state_.draining);
  }
  EXPECT_NEAR(state_.least, 15e6, 1e3);
}

// brpc#1006: 25 us and 10 000 calls a second make a quarter of a call, and the source's 0 is final.
TEST_F(AutoLimit, AQuarterOfACallLetsOneIn) {
  config_ = configured<Law>({.initial = 1});
  for (int window = 0; window < 500; ++window) {
    EXPECT_GE(after({25us, 2'000, 1}), 1);
  }
  for (int window = 0; window < 20; ++window) after({25us, 40'000, limit()});
  EXPECT_GE(limit(), 6);  // 0.025 ms * 200 / ms, and what it explores
}

TEST_F(AutoLimit, AClockSetBackAnHourBeginsTheWindowAnewAndStillMeasures) {
  for (int window = 0; window < 10; ++window) after({5ms, 4'000});
  const double most = state_.most;
  now_ -= 1h;
  for (int window = 0; window < 100; ++window) {
    after({5ms, 4'000});
    EXPECT_LE(state_.most, most * 1.01);
  }
  int windows = 0;
  while (!state_.draining && windows < 1'000) {
    after({5ms, 4'000});
    ++windows;
  }
  EXPECT_LE(windows, 250);
}

// From 40 where 3 fit, all that is known of the latency holds a queue of 37.
TEST(AutoDrift, AQueueInTheNoLoadLatencyIsGoneAfterOneMeasureAnew) {
  const auto config = configured<Law>({});
  Law::State state;
  ClosedLoop loop({.at_once = 3, .takes = 10ms});
  loop.run<Law>(config, state, 20s);
  EXPECT_GE(Law::limit(config, state), 36);
  loop.run<Law>(config, state, 50s);
  EXPECT_LE(Law::limit(config, state), 8);
  EXPECT_GE(Law::limit(config, state), 3);
}

TEST(AutoDrift, TheLimitDoesNotFollowADemandThatFell) {
  const auto config = configured<Law>({});
  Law::State state;
  ClosedLoop loop({.at_once = 100, .takes = 10ms});
  loop.run<Law>(config, state, 20s);
  loop.now_calls(5);
  loop.run<Law>(config, state, 100s);
  EXPECT_GE(Law::limit(config, state), 90);
  loop.now_calls(100);
  EXPECT_GE(loop.run<Law>(config, state, 1s).rate, 8'500);
}

TEST(AutoSettings, AreRefusedByName) {
  EXPECT_EQ(refused<Law>({.minimum = 0}), "minimum");
  EXPECT_EQ(refused<Law>({.window_for = 999us}), "window_for");
  EXPECT_EQ(refused<Law>({.window_for = 1h + 1ns}), "window_for");
  EXPECT_EQ(refused<Law>({.window_at_least = 1}), "window_at_least");
  EXPECT_EQ(refused<Law>({.window_at_most = 99}), "window_at_most");
  EXPECT_EQ(refused<Law>({.remeasure_after = 999ms}), "remeasure_after");
  EXPECT_EQ(refused<Law>({.remeasure_after = 24h + 1ns}), "remeasure_after");
  EXPECT_EQ(refused<Law>({}), "");
}

}  // namespace
}  // namespace weir
