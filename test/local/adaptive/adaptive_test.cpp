// A limit that an estimator sets, in a time that the test tells.
#include "weir/local/adaptive.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "weir/overload/aimd.hpp"
#include "weir/overload/auto_concurrency.hpp"
#include "weir/overload/gradient2.hpp"
#include "weir/overload/vegas.hpp"
#include "weir/overload/windowed.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

class Adaptive : public testing::Test {
 protected:
  using Limit = AdaptiveLimit<Aimd, ManualClock>;

  ManualTime time_{SteadyInstant{1h}};
  Limit limit_{{.estimator = {.minimum = 1, .initial = 4, .maximum = 6}}, ManualClock(time_)};
};

TEST_F(Adaptive, BeginsWithTheEstimatorsInitialLimit) {
  EXPECT_EQ(limit_.limit(), 4);
  std::vector<Limit::Permit> held;
  for (int call = 0; call < 4; ++call) {
    held.push_back(limit_.try_enter());
    EXPECT_TRUE(held.back());
  }
  EXPECT_FALSE(limit_.try_enter());
}

TEST_F(Adaptive, TheLimitInForceFollowsTheCallsThatEnd) {
  auto one = limit_.try_enter();
  auto two = limit_.try_enter();
  time_.advance(1ms);
  one.end(CallEnd::success);  // alone in flight: less than half of 4
  EXPECT_EQ(limit_.limit(), 4);
  two.end(CallEnd::success);
  EXPECT_EQ(limit_.limit(), 5);
  limit_.try_enter().end(CallEnd::dropped);
  EXPECT_EQ(limit_.limit(), 4);
  const Limit::Permit held[] = {limit_.try_enter(), limit_.try_enter(), limit_.try_enter(),
                                limit_.try_enter()};
  EXPECT_TRUE(held[3]);
  EXPECT_FALSE(limit_.try_enter());
}

TEST_F(Adaptive, IsNeverTooLowForTheHeaviestCall) {
  AdaptiveLimit<Aimd, ManualClock> limit(
      {.estimator = {.minimum = 1, .initial = 20, .maximum = 20}, .heaviest = 5},
      ManualClock(time_));
  const Entry heavy{.weight = 5};
  for (int call = 0; call < 40; ++call) limit.try_enter(heavy).end(CallEnd::dropped);
  EXPECT_EQ(limit.limit(), 5);
  EXPECT_TRUE(limit.try_enter(heavy));
}

TEST_F(Adaptive, AHeldBackWaiterIsLetInWhenTheLimitRises) {
  AdaptiveLimit<Aimd, ManualClock> limit(
      {.estimator = {.minimum = 1, .initial = 2, .maximum = 6}, .queue = 1}, ManualClock(time_));
  auto one = limit.try_enter();
  const auto two = limit.try_enter();
  const auto late = limit.enter_for({}, 0s);
  EXPECT_FALSE(late);
  one.end(CallEnd::success);
  EXPECT_EQ(limit.limit(), 3);
  EXPECT_EQ(limit.in_flight(), 1);
}

TEST_F(Adaptive, CallsThatTellNothingChangeNothing) {
  const Aimd::State before = limit_.state();
  auto held = limit_.try_enter();
  limit_.try_enter().end(CallEnd::failure);
  limit_.try_enter().end(CallEnd::ignored);
  limit_.try_enter().withdraw();
  { const auto forgotten = limit_.try_enter(); }
  EXPECT_EQ(limit_.state(), before);
  EXPECT_EQ(limit_.missed(), 0);
  EXPECT_EQ(limit_.in_flight(), 1);
}

TEST_F(Adaptive, LatenciesAreThoseOfItsClock) {
  AdaptiveLimit<Vegas, ManualClock> limit({}, ManualClock(time_));
  auto held = limit.try_enter();
  time_.advance(7ms);
  held.end(CallEnd::success);
  EXPECT_EQ(limit.state().no_load, 7e6);
  auto later = limit.try_enter({}, SteadyInstant{2h});
  later.end(CallEnd::success, SteadyInstant{2h} + 5ms);
  EXPECT_EQ(limit.state().no_load, 5e6);
}

TEST_F(Adaptive, WhileAProbeDrainsTheLimitInForceIsHalved) {
  using Drained = AdaptiveLimit<Gradient2, ManualClock>;
  Gradient2::State state{.limit = 10, .long_latency = 1e6, .highest_long = 1e6};
  state.probe.measured(20);
  state.probe.highest = 20;
  Drained limit({.estimator = {.minimum = 1}, .state = state}, ManualClock(time_));
  EXPECT_EQ(limit.limit(), 10);
  std::vector<Drained::Permit> held;
  for (int call = 0; call < 9; ++call) held.push_back(limit.try_enter());
  auto last = limit.try_enter();
  time_.advance(1ms);
  last.end(CallEnd::success);
  EXPECT_EQ(limit.limit(), 5);
  EXPECT_FALSE(limit.try_enter());
  held.clear();
  for (int call = 0; call < 10; ++call) {
    auto permit = limit.try_enter();
    time_.advance(3ms);
    permit.end(CallEnd::success);
  }
  EXPECT_EQ(limit.limit(), 10);
  EXPECT_EQ(limit.state().highest_long, 3e6);
}

TEST_F(Adaptive, NamesTheSettingThatIsNoGood) {
  const auto what = [](const Limit::Settings& settings) -> std::string {
    try {
      const ManualTime time;
      const Limit limit(settings, ManualClock(time));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(what({.estimator = {.minimum = 0}}), "adaptive limit: minimum: expected 1 or more");
  EXPECT_NE(what({.ceilings = {.normal = 2}}), "");
  EXPECT_EQ(what({.heaviest = 0}), "adaptive limit: heaviest: expected 1 or more");
  EXPECT_EQ(what({}), "");
}

}  // namespace
}  // namespace weir
