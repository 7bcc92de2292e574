#include "weir/overload/vegas.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "test/overload/closed_loop.hpp"
#include "test/overload/samples.hpp"
#include "weir/overload/windowed.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

class VegasLimit : public testing::Test {
 protected:
  void begin_at(std::int64_t initial) {
    config_ = configured<Vegas>({.initial = initial});
    state_ = {.no_load = 1e6, .met_a_queue = true};
  }
  std::int64_t after(const CallSample& sample) {
    Vegas::observe(config_, state_, sample);
    return Vegas::limit(config_, state_);
  }
  /// A call under full use of the limit; 1 ms is what it takes with no queue.
  std::int64_t after(std::chrono::nanoseconds latency) {
    return after(success({latency, Vegas::limit(config_, state_)}));
  }

  static constexpr Taking as_it_is{1087us, 100};  ///< 8 of 100 queue, and may

  Vegas::Config config_ = configured<Vegas>({});
  Vegas::State state_;
};

TEST_F(VegasLimit, TheFirstLatencyIsTheOneToCompareWith) {
  EXPECT_EQ(after(success({7ms, 20})), 20);
  EXPECT_EQ(state_.no_load, 7e6);
  EXPECT_EQ(after(success({6ms, 20})), 20);
  EXPECT_EQ(state_.no_load, 6e6);
}

// The queue is ceil(limit * (1 - 1 ms / latency)); the step of 50 is 1, of 500 is 2.
TEST_F(VegasLimit, AQueueOfAStepOrLessLetsItGrowBySix) {
  begin_at(50);
  EXPECT_EQ(after(1020us), 56);  // 0.98: 1
  begin_at(500);
  EXPECT_EQ(after(1ms), 512);     // 0
  EXPECT_EQ(after(1003us), 524);  // 1.53: 2
}

TEST_F(VegasLimit, AQueueBelowThreeStepsLetsItGrowByOne) {
  begin_at(50);
  EXPECT_EQ(after(1030us), 51);  // 1.46: 2
  begin_at(50);
  EXPECT_EQ(after(1050us), 50);  // 2.38: 3
  begin_at(500);
  EXPECT_EQ(after(1010us), 502);  // 4.95: 5
}

TEST_F(VegasLimit, AQueueAboveSixStepsLowersItByOne) {
  begin_at(50);
  EXPECT_EQ(after(1130us), 50);  // 5.75: 6
  EXPECT_EQ(after(1140us), 49);  // 6.14: 7
  begin_at(500);
  EXPECT_EQ(after(2ms), 498);
}

TEST_F(VegasLimit, ADropLowersItByAStepWhateverItsLatency) {
  begin_at(1000);
  EXPECT_EQ(after(dropped()), 997);
  EXPECT_EQ(state_.no_load, 1e6);
  begin_at(1);
  EXPECT_EQ(after(dropped()), 1);
}

TEST_F(VegasLimit, StaysWhileLessThanHalfIsInUse) {
  begin_at(50);
  EXPECT_EQ(after(success({1ms, 24})), 50);
  EXPECT_EQ(after(success({2ms, 24})), 50);
  EXPECT_EQ(after(success({1ms, 25})), 56);
}

TEST_F(VegasLimit, FollowsThePublishedLawBetweenProbes) {
  std::mt19937 random(11);
  begin_at(40);
  double limit = 40;
  double least = 1e6;
  config_.settings.minimum = 30;  // below half of 58 it would probe,
  config_.settings.maximum = 58;
  for (int call = 0; call < 400; ++call) {  // and after 15 limits
    const std::int64_t us = 900 + static_cast<std::int64_t>(random() % 500);
    const auto in_flight = static_cast<std::int64_t>(random() % 60);
    const auto latency = static_cast<double>(us) * 1e3;
    const double root = std::fmax(1, std::floor(std::log10(limit)));
    const double queue = std::ceil(limit * (1 - least / latency));
    if (latency < least) {
      least = latency;
    } else if (static_cast<double>(in_flight) * 2 >= limit) {
      if (queue <= root) {
        limit += 6 * root;
      } else if (queue < 3 * root) {
        limit += root;
      } else if (queue > 6 * root) {
        limit -= root;
      }
    }
    limit = std::fmin(58, std::fmax(30, limit));
    ASSERT_EQ(static_cast<double>(after(success({us * 1us, in_flight}))), limit) << call;
  }
}

TEST_F(VegasLimit, DoublesARoundUntilItMeetsAQueueAndGivesItBack) {
  EXPECT_EQ(after(success({1ms, 20})), 20);
  EXPECT_EQ(after(success({1ms, 20})), 40);
  EXPECT_EQ(after(success({1ms, 20})), 40);  // let in before it doubled
  EXPECT_EQ(after(success({1ms, 21})), 80);
  EXPECT_EQ(after(success({1050us, 41})), 160);  // 3.8: 4 may queue
  EXPECT_EQ(after(success({2ms, 160})), 86);     // 80 queue; 6 may
  EXPECT_EQ(after(success({2ms, 86})), 85);
  EXPECT_EQ(after(success({1ms, 85})), 91);  // it doubles no more
}

TEST_F(VegasLimit, AProbeHalvesItAndTakesTheFirstLatencyThatDidNotQueue) {
  begin_at(100);
  int calls = 0;
  while (after(success(as_it_is)) == 100 && calls < 10'000) ++calls;
  EXPECT_GE(calls, 30 * 100 / 2 - 1);
  EXPECT_LT(calls, 30 * 100);
  EXPECT_EQ(Vegas::limit(config_, state_), 50);
  EXPECT_EQ(after(success({5ms, 100})), 50);  // let in before, so it may have queued
  EXPECT_EQ(after(success({5ms, 51})), 50);
  EXPECT_EQ(after(success({3ms, 50})), 100);
  EXPECT_EQ(state_.no_load, 3e6);
}

TEST_F(VegasLimit, ProbesTooOnceItHasFallenToHalf) {
  begin_at(100);
  after(success(as_it_is));
  for (int drop = 0; drop < 100 && after(dropped()) > 50;) ++drop;
  EXPECT_EQ(after(success({3ms, 51})), 25);
  EXPECT_EQ(after(success({3ms, 25})), 50);
  EXPECT_EQ(state_.no_load, 3e6);
}

TEST_F(VegasLimit, ADrainThatNobodyEnforcesEnds) {
  begin_at(100);
  int calls = 0;
  while (after(success(as_it_is)) == 100 && calls < 10'000) ++calls;
  calls = 0;
  while (after(success({2ms, 100})) == 50 && calls < 10'000) ++calls;
  EXPECT_NEAR(calls, 4 * 100 + 64, 1);
}

TEST_F(VegasLimit, ProbesOfTwoSeedsDoNotCoincide) {
  int calls[2] = {};
  for (const std::uint64_t seed : {1, 2}) {
    begin_at(100);
    state_.probe.seed = seed;
    int& count = calls[seed - 1];
    while (after(success(as_it_is)) == 100 && count < 10'000) ++count;
  }
  EXPECT_NE(calls[0], calls[1]);
}

/// What the source does, as one formula a call: a probe takes whatever latency comes.
struct PublishedProbe {
  double limit = 20;
  double least = 0;
  double seen = 0;

  void observe(double latency, double in_flight) {
    if (++seen >= 22.5 * limit) {
      seen = 0;
      least = latency;
    } else if (least == 0 || latency < least) {
      least = latency;
    } else if (in_flight * 2 >= limit) {
      const double root = std::fmax(1, std::floor(std::log10(limit)));
      const double queue = std::ceil(limit * (1 - least / latency));
      limit += queue <= root ? 6 * root : queue < 3 * root ? root : queue > 6 * root ? -root : 0;
      limit = std::fmin(1000, std::fmax(1, limit));
    }
  }
};

/// A service that does 100 at once in 10 ms, and queues the rest: each sample is a settled one.
double settled_latency(double in_flight) { return 10e6 * std::fmax(1, in_flight / 100); }

TEST(VegasDrift, EachPublishedProbeAddsToTheQueueAndOursNone) {
  PublishedProbe published;
  const auto config = configured<Vegas>({});
  Vegas::State ours;
  for (int sample = 0; sample < 200'000; ++sample) {
    published.observe(settled_latency(published.limit), published.limit);
    const std::int64_t limit = Vegas::limit(config, ours);
    const double latency = settled_latency(static_cast<double>(limit));
    Vegas::observe(config, ours, success({static_cast<std::int64_t>(latency) * 1ns, limit}));
  }
  EXPECT_GT(published.limit, 250);
  EXPECT_LE(Vegas::limit(config, ours), 115);
  EXPECT_NEAR(ours.no_load, 10e6, 0.1e6);
}

TEST(VegasRamp, ReachesFiveHundredInTenWindowsInsteadOfFifty) {
  using Law = Windowed<Vegas>;
  const auto config = configured<Law>({});
  Law::State state;
  ClosedLoop loop({.at_once = 500, .takes = 10ms});
  loop.run<Law>(config, state, 11s);
  EXPECT_NEAR(static_cast<double>(Law::limit(config, state)), 500, 25);
}

}  // namespace
}  // namespace weir
