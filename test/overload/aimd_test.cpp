#include "weir/overload/aimd.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>

#include "test/overload/samples.hpp"
#include "weir/overload/windowed.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

class AimdLimit : public testing::Test {
 protected:
  std::int64_t after(const CallSample& sample) {
    Aimd::observe(config_, state_, sample);
    return Aimd::limit(config_, state_);
  }

  Aimd::Config config_ = configured<Aimd>({});
  Aimd::State state_;
};

TEST_F(AimdLimit, BeginsAtTheInitialOneAndGrowsByOneACall) {
  EXPECT_EQ(Aimd::limit(config_, state_), 20);
  EXPECT_EQ(after(success({1ms, 20})), 21);
  EXPECT_EQ(after(success({1ms, 21})), 22);
}

TEST_F(AimdLimit, GrowsFromHalfInUseOn) {
  config_ = configured<Aimd>({.initial = 21});
  EXPECT_EQ(after(success({1ms, 10})), 21);  // 20 of 21
  EXPECT_EQ(after(success({1ms, 11})), 22);
  EXPECT_EQ(after(success({1ms, 11})), 23);  // 22 of 22
  EXPECT_EQ(after(success({1ms, 11})), 23);
}

TEST_F(AimdLimit, ADropTakesATenthRoundedDown) {
  config_ = configured<Aimd>({.initial = 57});
  for (const std::int64_t expected : {51, 45, 40, 36, 32, 28, 25, 22, 20, 20}) {
    EXPECT_EQ(after(dropped()), expected);
  }
}

TEST_F(AimdLimit, SlowerThanTheTimeoutIsADrop) {
  config_ = configured<Aimd>({.initial = 100});
  EXPECT_EQ(after(success({5s, 100})), 101);
  EXPECT_EQ(after(success({5s + 1ns, 101})), 90);
}

TEST_F(AimdLimit, StopsAtTheMaximum) {
  config_ = configured<Aimd>({.initial = 199});
  EXPECT_EQ(after(success({1ms, 199})), 200);
  EXPECT_EQ(after(success({1ms, 200})), 200);
}

TEST_F(AimdLimit, FollowsThePublishedLawCallByCall) {
  std::mt19937 random(7);
  config_ = configured<Aimd>({.minimum = 1, .initial = 30, .maximum = 300, .backoff_ratio = 0.7});
  double expected = 30;
  for (int call = 0; call < 20'000; ++call) {
    const bool drop = random() % 50 == 0;
    const auto in_flight = static_cast<std::int64_t>(random() % 200);
    if (drop) {
      expected = std::floor(expected * 0.7);
    } else if (static_cast<double>(in_flight) * 2 >= expected) {
      expected += 1;
    }
    expected = std::fmin(300, std::fmax(1, expected));
    ASSERT_EQ(static_cast<double>(after(drop ? dropped() : success({1ms, in_flight}))), expected);
  }
}

/// Two limits before one service that drops whenever both together let in more than 100.
TEST(AimdFairness, TwoLimitsThatShareAServiceBecomeEqual) {
  using Each = Windowed<Aimd>;
  const auto config = configured<Each>(
      {.estimator = {.minimum = 1, .initial = 1, .maximum = 1000}, .at_least_for = 0ns});
  Each::State one;
  Each::State other;
  one.estimator.limit = 95;
  other.estimator.limit = 2;
  for (int round = 0; round < 400; ++round) {
    const bool full = Each::limit(config, one) + Each::limit(config, other) > 100;
    for (Each::State* state : {&one, &other}) {
      const std::int64_t in_flight = Each::limit(config, *state);
      for (int call = 0; call < 10; ++call) {
        const CallSample sample = success({1ms, in_flight});
        Each::observe(config, *state, full && call == 5 ? dropped() : sample);
      }
    }
  }
  EXPECT_NEAR(static_cast<double>(Each::limit(config, one)),
              static_cast<double>(Each::limit(config, other)), 5);
  EXPECT_GT(Each::limit(config, one), 35);
}

TEST(AimdDrops, ABurstOfThemTakesItToTheMinimumAndIsOneStepBehindWindows) {
  const auto bare = configured<Aimd>({.initial = 200});
  const auto windowed = configured<Windowed<Aimd>>({.estimator = {.initial = 200}, .at_least = 50});
  Aimd::State state;
  Windowed<Aimd>::State state_behind_windows;
  for (int call = 0; call < 50; ++call) {
    const CallSample sample = dropped(SteadyInstant{call * 100ms});
    Aimd::observe(bare, state, sample);
    Windowed<Aimd>::observe(windowed, state_behind_windows, sample);
  }
  EXPECT_EQ(Aimd::limit(bare, state), 20);
  EXPECT_EQ(Windowed<Aimd>::limit(windowed, state_behind_windows), 180);
}

TEST(AimdSettings, AreRefusedByName) {
  EXPECT_EQ(refused<Aimd>({.minimum = 0}), "minimum");
  EXPECT_EQ(refused<Aimd>({.maximum = 19}), "maximum");
  EXPECT_EQ(refused<Aimd>({.maximum = largest_limit + 1}), "maximum");
  EXPECT_EQ(refused<Aimd>({.initial = 19}), "initial");
  EXPECT_EQ(refused<Aimd>({.initial = 201}), "initial");
  EXPECT_EQ(refused<Aimd>({.backoff_ratio = 0.49}), "backoff_ratio");
  EXPECT_EQ(refused<Aimd>({.backoff_ratio = 1}), "backoff_ratio");
  EXPECT_EQ(refused<Aimd>({.backoff_ratio = std::nan("")}), "backoff_ratio");
  EXPECT_EQ(refused<Aimd>({.timeout = 0ns}), "timeout");
  EXPECT_EQ(refused<Aimd>({}), "");
}

}  // namespace
}  // namespace weir
