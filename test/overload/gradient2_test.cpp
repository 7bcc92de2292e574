#include "weir/overload/gradient2.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "test/overload/samples.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

class Gradient2Limit : public testing::Test {
 protected:
  /// Ten calls of 1 ms have been measured.
  void begin_at(std::int64_t initial) {
    config_ = configured<Gradient2>({.minimum = 1, .initial = initial, .maximum = 1000});
    state_ = {.limit = static_cast<double>(initial), .long_latency = 1e6, .highest_long = 1e6};
    state_.probe.measured(initial);
  }
  double after(const CallSample& sample) {
    Gradient2::observe(config_, state_, sample);
    return state_.limit;
  }
  std::int64_t limit() const { return Gradient2::limit(config_, state_); }

  Gradient2::Config config_ = configured<Gradient2>({});
  Gradient2::State state_;
};

TEST_F(Gradient2Limit, GrowsByAFifthOfTheQueueWhileNothingIsSlower) {
  EXPECT_EQ(limit(), 20);
  EXPECT_DOUBLE_EQ(after(success({1ms, 20})), 20.8);
  EXPECT_DOUBLE_EQ(after(success({1ms, 20})), 21.6);
  EXPECT_EQ(limit(), 21);
}

TEST_F(Gradient2Limit, FollowsTheGradientBeyondTheTolerance) {
  begin_at(100);
  // The average of long stays at the 1 ms measured; 1.5 / 2 = 0.75: 80 + 0.2 * (75 + 4).
  EXPECT_DOUBLE_EQ(after(success({2ms, 100})), 95.8);
  // 0.5 is the least: 76.64 + 0.2 * (47.9 + 4).
  EXPECT_DOUBLE_EQ(after(success({9ms, 100})), 87.02);
}

TEST_F(Gradient2Limit, StaysWhileLessThanHalfIsInUse) {
  begin_at(100);
  EXPECT_EQ(after(success({1ms, 49})), 100);
  EXPECT_EQ(after(success({3ms, 49})), 100);
  EXPECT_GT(after(success({1ms, 50})), 100);
}

TEST_F(Gradient2Limit, ADropIsTheLeastGradientWithoutAQueue) {
  begin_at(100);
  EXPECT_DOUBLE_EQ(after(dropped()), 90);
  EXPECT_EQ(state_.long_latency, 1e6);
}

TEST_F(Gradient2Limit, FollowsThePublishedLawWhileTheAverageOfLongFalls) {
  std::mt19937 random(5);
  config_ = configured<Gradient2>({.minimum = 60, .initial = 60, .maximum = 110});
  double limit = 60;
  double average = 0;
  double sum = 0;
  double us = 2'000;
  for (int call = 1; call <= 800; ++call) {
    us *= 0.999;  // falls as fast as it follows, so that no measured latency holds it back
    const double latency = std::floor(us + static_cast<double>(random() % 3)) * 1e3;
    const auto in_flight = 25 + static_cast<std::int64_t>(random() % 50);
    sum += latency;
    average = call <= 10 ? sum / call : average + (latency - average) * 2 / 601;
    if (average / latency > 2) average *= 0.95;
    if (static_cast<double>(in_flight) >= limit / 2) {
      const double gradient = std::fmax(0.5, std::fmin(1, 1.5 * average / latency));
      limit = std::fmin(110, std::fmax(60, limit * 0.8 + (limit * gradient + 4) * 0.2));
    }
    const auto ns = static_cast<std::int64_t>(latency);
    ASSERT_NEAR(after(success({ns * 1ns, in_flight})), limit, 1e-6) << call;
    ASSERT_NEAR(state_.long_latency, average, 1e-3) << call;
  }
}

TEST_F(Gradient2Limit, AnAverageAboveTwiceTheNewestFallsByATwentiethMore) {
  begin_at(100);
  after(success({400us, 1}));
  EXPECT_DOUBLE_EQ(state_.long_latency, (1e6 * 599 / 601 + 4e5 * 2 / 601) * 0.95);
  EXPECT_EQ(state_.highest_long, state_.long_latency);
}

TEST_F(Gradient2Limit, AProbeAveragesTenCallsThatDidNotQueue) {
  begin_at(100);
  for (int call = 0; call < 10'000 && limit() > 60; ++call) {
    after(success({1'562us, 200}));  // 1.5 / 1.562 * 100 + 4 is 100
  }
  EXPECT_EQ(limit(), 50);
  for (int call = 0; call < 20; ++call) after(success({9ms, 51}));
  for (int call = 0; call < 9; ++call) after(success({(call + 1) * 1ms, 50}));
  EXPECT_EQ(limit(), 50);
  after(success({10ms, 50}));
  EXPECT_EQ(limit(), 100);
  EXPECT_EQ(state_.highest_long, 5.5e6);
  EXPECT_EQ(state_.long_latency, 5.5e6);
}

TEST_F(Gradient2Limit, ProbesTooOnceItHasDoubledOrFallenToHalf) {
  begin_at(100);
  for (int call = 0; call < 1'000 && limit() < 199; ++call) after(success({1ms, 200}));
  after(success({1ms, 200}));
  after(success({1ms, 200}));
  EXPECT_EQ(limit(), 100);
  begin_at(100);
  for (int drop = 0; drop < 100 && state_.limit > 51; ++drop) after(dropped());
  after(success({1ms, 100}));
  EXPECT_EQ(limit(), 23);  // half of 47, the first below 50
}

/// The source: the average of long learns from every call.
struct PublishedGradient {
  double limit = 20;
  double average = 0;

  void observe(double latency) {
    average = average == 0 ? latency : average + (latency - average) * 2 / 601;
    const double gradient = std::fmax(0.5, std::fmin(1, 1.5 * average / latency));
    limit = std::fmin(1000, limit * 0.8 + (limit * gradient + 4) * 0.2);
  }
};

double settled_latency(double in_flight) { return 10e6 * std::fmax(1, in_flight / 100); }

TEST(Gradient2Climb, ThePublishedLawReachesItsMaximumAndOursTheTolerance) {
  PublishedGradient published;
  const auto config = configured<Gradient2>({.maximum = 1000});
  Gradient2::State ours;
  double longest = 0;
  for (int sample = 0; sample < 100'000; ++sample) {
    published.observe(settled_latency(published.limit));
    const std::int64_t limit = Gradient2::limit(config, ours);
    const double latency = settled_latency(static_cast<double>(limit));
    Gradient2::observe(config, ours, success({static_cast<std::int64_t>(latency) * 1ns, limit}));
    longest = std::fmax(longest, ours.limit);
  }
  EXPECT_EQ(published.limit, 1000);
  EXPECT_LE(longest, 1.5 * 100 + 4 + 1);
  EXPECT_GE(ours.limit, 150);
}

TEST(Gradient2Climb, AtAGradientOfFourFifthsItSettles) {
  const auto config = configured<Gradient2>({.minimum = 1, .initial = 100, .maximum = 1000});
  Gradient2::State state{.limit = 100, .long_latency = 1e6, .highest_long = 1e6};
  state.probe.measured(100);
  for (int sample = 0; sample < 20; ++sample) {
    Gradient2::observe(config, state, success({1'875us, 1'000}));
    EXPECT_EQ(state.long_latency, 1e6);  // so the gradient stays at 1.5 / 1.875
    if (state.probe.draining) break;
  }
  EXPECT_LT(state.limit, 60);  // on its way to 4 / (1 - 0.8) = 20
}

TEST(Gradient2, MeasuresThoughNobodyKeepsToItsLimit) {
  const auto config = configured<Gradient2>({});
  Gradient2::State state;
  for (int call = 0; call < 20'000; ++call) {
    Gradient2::observe(config, state, success({10ms, 300}));
  }
  EXPECT_EQ(state.limit, 200);
}

TEST(Gradient2Settings, AreRefusedByName) {
  EXPECT_EQ(refused<Gradient2>({.minimum = 0}), "minimum");
  EXPECT_EQ(refused<Gradient2>({.tolerance = 0.99}), "tolerance");
  EXPECT_EQ(refused<Gradient2>({.tolerance = std::nan("")}), "tolerance");
  EXPECT_EQ(refused<Gradient2>({.queue = -1}), "queue");
  EXPECT_EQ(refused<Gradient2>({.queue = 201}), "queue");
  EXPECT_EQ(refused<Gradient2>({.smoothing = 0}), "smoothing");
  EXPECT_EQ(refused<Gradient2>({.smoothing = 1.1}), "smoothing");
  EXPECT_EQ(refused<Gradient2>({}), "");
}

}  // namespace
}  // namespace weir
