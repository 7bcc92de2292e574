// Chains of the gates that there are, and what they owe one another.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>
#include <vector>

#include "weir/local/chain.hpp"
#include "weir/local/concurrency.hpp"
#include "weir/local/keeping.hpp"
#include "weir/local/limiter.hpp"
#include "weir/overload_protection.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr SteadyInstant start{1h};

using Word = BasicLimiter<AtomicWord, ManualClock>;
using Concurrency = BasicConcurrencyLimit<ManualClock>;
static_assert(Gate<Concurrency>);
static_assert(Gate<BasicCircuitBreaker<ManualClock>>);
static_assert(Gate<LoadGate>);
static_assert(Gate<AcceptRatioGate>);
static_assert(Gate<LeasedConcurrencyLimit>);
static_assert(Gate<PartitionedConcurrencyLimit::Gate>);

struct Gates : testing::Test {
  ManualTime time{start};
  ManualClock clock{time};
  Word limiter{{.count = 1, .period = 1h, .burst = 3}, clock};
  Concurrency concurrency{{.limit = 2}, clock};
};

TEST_F(Gates, APlaceTakenBeforeALimiterThatRefusesIsFreeAtOnce) {
  auto guard = chain(concurrency, limiter);
  ASSERT_TRUE(limiter.try_acquire(3));
  EXPECT_EQ(guard.try_enter({.weight = 2}).refused_by(), 1u);
  EXPECT_EQ(concurrency.in_flight(), 0);
}

TEST_F(Gates, UnitsTakenBeforeAFullConcurrencyLimitAreThereAtOnce) {
  auto guard = chain(limiter, concurrency);
  auto running = guard.try_enter({.weight = 2});
  ASSERT_TRUE(running);
  for (int call = 0; call < 10; ++call) EXPECT_EQ(guard.try_enter().refused_by(), 1u);
  EXPECT_EQ(limiter.peek().remaining, 1);
  running.end(CallEnd::dropped);
  EXPECT_EQ(concurrency.in_flight(), 0);
  EXPECT_EQ(limiter.peek().remaining, 1);  // a rate does not ask how calls end
}

TEST_F(Gates, WhoWaitsForAPlaceGetsTheOneThatIsWithdrawn) {
  Concurrency narrow({.limit = 1, .queue = 1}, clock);
  auto held = chain(narrow).try_enter();
  struct Waits final : Waiter {
    void moved() noexcept override { told = true; }
    bool told = false;
  } waiter;
  waiter.entry = {};
  ASSERT_EQ(narrow.host().enter_or_join(waiter, start).verdict, Verdict::deferred);
  held.withdraw();
  EXPECT_TRUE(waiter.told);
  EXPECT_EQ(narrow.host().look(waiter, start).verdict, Verdict::granted);
}

/// A breaker that one failure opens, for a second.
struct GatesWithBreaker : Gates {
  GatesWithBreaker() {
    auto call = breaker.try_enter();
    call.end(CallEnd::failure);
  }

  BasicCircuitBreaker<ManualClock> breaker{{.error_count = 1, .minimum_calls = 1, .open_for = 1s},
                                           clock};
};

TEST_F(GatesWithBreaker, WhileItIsOpenNothingFurtherInIsAsked) {
  auto guard = chain(breaker, concurrency, limiter);
  auto refused = guard.try_enter({.weight = 2});
  EXPECT_EQ(refused.refused_by(), 0u);
  EXPECT_EQ(refused.ready_at(), start + 1s);
  EXPECT_EQ(refused.pass<0>()->refused().circuit, Circuit::open);
  EXPECT_EQ(limiter.peek().remaining, 3);
}

TEST_F(GatesWithBreaker, WhileItIsOpenTheLimiterBeforeItLosesNothing) {
  auto guard = chain(limiter, breaker);
  for (int call = 0; call < 10; ++call) EXPECT_EQ(guard.try_enter().refused_by(), 1u);
  EXPECT_EQ(limiter.peek().remaining, 3);
}

TEST_F(GatesWithBreaker, AProbeThatIsRefusedFurtherInLeavesTheCircuitOpen) {
  auto guard = chain(breaker, concurrency);
  auto running = concurrency.try_enter({.weight = 2});
  time.advance(1s);
  for (int call = 0; call < 10; ++call) {
    EXPECT_EQ(guard.try_enter().refused_by(), 1u);
    EXPECT_EQ(breaker.state(), Circuit::open);
  }
  running.end(CallEnd::success);
  auto probe = guard.try_enter();  // and the next that finds room is the probe
  ASSERT_TRUE(probe);
  EXPECT_EQ(breaker.state(), Circuit::half_open);
  probe.end(CallEnd::success);
  EXPECT_EQ(breaker.state(), Circuit::closed);
}

TEST_F(GatesWithBreaker, TheEndOfACallIsHeardByTheBreakerAndFreesItsPlace) {
  auto guard = chain(breaker, concurrency, limiter);
  time.advance(1s);
  auto probe = guard.try_enter();
  ASSERT_TRUE(probe);
  EXPECT_EQ(guard.try_enter().refused_by(), 0u);
  probe.end(CallEnd::failure);
  EXPECT_EQ(breaker.state(), Circuit::open);
  EXPECT_EQ(concurrency.in_flight(), 0);
}

/// What became of the calls of each priority.
struct Served {
  std::array<int, priorities> asked{};
  std::array<int, priorities> let_in{};

  double share(Priority of) const {
    const auto at = static_cast<std::size_t>(of);
    return static_cast<double>(let_in[at]) / asked[at];
  }
};

/// Calls of mixed priority, each in flight for a while; every so many microseconds one asks.
template <typename Guard>
Served serve(Guard& guard, ManualTime& time, std::chrono::microseconds every) {
  using Passage = typename Guard::Passage;
  struct InFlight {
    SteadyInstant ends_at;
    Passage passage;
  };
  std::minstd_rand random(4);
  std::vector<InFlight> in_flight;
  Served served;
  for (int call = 0; call < 20'000; ++call) {
    time.advance(every);
    std::erase_if(in_flight, [&](InFlight& one) {
      if (one.ends_at > time.now()) return false;
      one.passage.end(CallEnd::success);
      return true;
    });
    const auto priority = static_cast<std::size_t>(random() % priorities);
    ++served.asked[priority];
    auto passage = guard.try_enter({.priority = static_cast<Priority>(priority)});
    if (!passage) continue;
    ++served.let_in[priority];
    const auto takes = std::chrono::microseconds{20'000 + random() % 20'000};
    in_flight.push_back({time.now() + takes, std::move(passage)});
  }
  return served;
}

TEST_F(Gates, WhatMattersMostIsUntouchedWhileThereIsLessToShed) {
  Word rate({.count = 400, .period = 1s, .burst = 40}, clock);
  Concurrency places(
      {.limit = 20, .ceilings = {.normal = 0.5, .sheddable = 0.35, .background = 0.2}}, clock);
  auto guard = chain(keeping(rate, {.normal = 15, .sheddable = 20, .background = 30}), places);
  // 1,000 a second come for a rate of 400. Of critical ones 7.5 are in flight on average, and what
  // the others must leave is above what they vary by.
  const Served served = serve(guard, time, 1ms);
  EXPECT_EQ(served.share(Priority::critical), 1.0);
  EXPECT_GT(served.share(Priority::normal), 0.3);
  EXPECT_LT(served.share(Priority::sheddable), 0.05);
  EXPECT_LT(served.share(Priority::background), 0.01);
}

TEST_F(Gates, WithoutOverloadNothingIsShed) {
  Word rate({.count = 400, .period = 1s, .burst = 40}, clock);
  Concurrency places(
      {.limit = 16, .ceilings = {.normal = 0.9, .sheddable = 0.8, .background = 0.7}}, clock);
  auto guard = chain(places, keeping(rate, {.normal = 5, .sheddable = 10, .background = 15}));
  const Served served = serve(guard, time, 5ms);
  EXPECT_EQ(served.asked, served.let_in);
}

}  // namespace
}  // namespace weir
