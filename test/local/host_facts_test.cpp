// Facts about a limiter that one thread can see.
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "weir/local/limiter.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

using ManualBucket = BasicLimiter<AtomicWord, ManualClock>;
using ManualLimiter = BasicLimiter<LimitState, ManualClock>;

constexpr SteadyInstant start{1'000s};

struct Bench {
  ManualTime time{start};
  ManualBucket bucket{{.count = 10, .period = 1s, .burst = 10}, ManualClock(time)};
  ManualLimiter limiter = ManualLimiter::of("10/1s", ManualClock(time));
};

/// Both kinds are asked the same.
template <typename Ask>
void each(Ask&& ask) {
  Bench bench;
  {
    SCOPED_TRACE("one atomic word");
    ask(bench.bucket, bench.time);
  }
  bench.time.set(start);
  SCOPED_TRACE("under a lock");
  ask(bench.limiter, bench.time);
}

TEST(AnyLimiter, HoldsANegativeCostForImpossible) {
  each([](auto& limiter, auto&) {
    EXPECT_EQ(limiter.drain(100), 10);
    for (const Cost cost : {Cost{-1}, Cost{-5}, std::numeric_limits<Cost>::min()}) {
      EXPECT_EQ(limiter.try_acquire(cost).verdict, Verdict::impossible);
      EXPECT_EQ(limiter.try_acquire_for(cost, 1s).verdict, Verdict::impossible);
      EXPECT_EQ(limiter.acquire(cost).verdict, Verdict::impossible);
      EXPECT_EQ(limiter.reserve(cost).outcome().verdict, Verdict::impossible);
      EXPECT_EQ(limiter.peek(cost).outcome.verdict, Verdict::impossible);
      EXPECT_EQ(limiter.refund(cost), 0);
      EXPECT_EQ(limiter.drain(cost), 0);
    }
    EXPECT_EQ(limiter.peek().remaining, 0);
    EXPECT_EQ(limiter.waiting(), 0u);
  });
}

TEST(AnyLimiter, LeavesTheRestToOthersWhereAReservationActsAtOnce) {
  each([](auto& limiter, auto&) {
    const auto reservation = limiter.reserve(1);
    ASSERT_EQ(reservation.outcome().verdict, Verdict::granted);
    EXPECT_TRUE(limiter.try_acquire(9));
    EXPECT_FALSE(limiter.try_acquire(1));
  });
}

TEST(AnyLimiter, GivesWhatAReservationCostLessToThoseWhoComeAfterIt) {
  each([](auto& limiter, auto& time) {
    EXPECT_EQ(limiter.drain(100), 10);
    auto reservation = limiter.reserve(10);
    ASSERT_EQ(reservation.ready_at(), start + 1s);
    reservation.commit(1);
    EXPECT_EQ(limiter.try_acquire(1).ready_at, start + 1s);
    EXPECT_EQ(limiter.try_acquire(9).ready_at, start + 1s);
    EXPECT_EQ(limiter.peek(0).outcome.ready_at, start + 1s);
    EXPECT_EQ(limiter.try_acquire(0).ready_at, start + 1s);
    time.set(start + 1s - 1ns);
    EXPECT_FALSE(limiter.try_acquire(1));
    time.set(start + 1s);
    EXPECT_TRUE(limiter.try_acquire(9));
    EXPECT_FALSE(limiter.try_acquire(1));
  });
}

TEST(AnyLimiter, AnswersAProbeWithTheInstantItWasAsked) {
  each([](auto& limiter, auto&) {
    const Outcome here = {Verdict::granted, Refusal::none, start};
    EXPECT_EQ(limiter.try_acquire(0), here);
    EXPECT_EQ(limiter.acquire(0), here);
    EXPECT_EQ(limiter.reserve(0).outcome(), here);
    EXPECT_EQ(limiter.drain(100), 10);
    EXPECT_EQ(limiter.acquire(0), here);
  });
}

TEST(ALimiterWithAPenalty, DoesNotPunishWhoWaits) {
  ManualTime time(start);
  ManualLimiter limiter = ManualLimiter::of("1/1s block 10s", ManualClock(time));
  EXPECT_TRUE(limiter.acquire());
  EXPECT_FALSE(limiter.try_acquire_for(1, 1s - 1ms).verdict == Verdict::granted);
  auto reservation = limiter.reserve(1, 5s);
  // The refusal above punished; without it the reservation would be a second away.
  EXPECT_FALSE(reservation);

  ManualLimiter patient = ManualLimiter::of("1/1s block 10s", ManualClock(time));
  EXPECT_TRUE(patient.acquire());
  std::thread later([&] {
    while (patient.waiting() == 0) std::this_thread::yield();
    time.advance(1s);
  });
  const Outcome outcome = patient.acquire();
  later.join();
  EXPECT_EQ(outcome.verdict, Verdict::granted);
  EXPECT_EQ(outcome.ready_at, start + 1s);
}

TEST(ALimiterWithAPenalty, DoesNotPunishADrain) {
  ManualTime time(start);
  ManualLimiter limiter =
      ManualLimiter::of("leaky-bucket 10/1s queue 3 block 10s", ManualClock(time));
  EXPECT_TRUE(limiter.try_acquire(1));
  EXPECT_EQ(limiter.drain(1), 0);
  time.advance(100ms);
  EXPECT_TRUE(limiter.try_acquire(1));
}

TEST(AReservation, KeepsWhoWaitedBeforeItBehindItWhereTheLimitGetsSlower) {
  each([](auto& limiter, auto& time) {
    using Limited = std::remove_reference_t<decltype(limiter)>;
    EXPECT_EQ(limiter.drain(100), 10);
    Sleeper waiter;
    ASSERT_EQ(limiter.host().join(waiter, start, 1, 1h).ready_at, start + 100ms);
    auto reservation = limiter.reserve(1);
    ASSERT_EQ(reservation.ready_at(), start + 200ms);
    if constexpr (std::is_same_v<Limited, ManualBucket>) {
      limiter.reconfigure({.count = 1, .period = 1s, .burst = 10});
    } else {
      limiter.reconfigure(Limit::parse("1/1s burst 10").value());
    }
    time.advance(200ms);
    reservation.commit();
    const Outcome waits = limiter.host().look(waiter, time.now());
    EXPECT_EQ(waits.verdict, Verdict::deferred);
    EXPECT_GE(waits.ready_at, start + 1s);
    static_cast<void>(limiter.host().leave(waiter, time.now()));
  });
}

TEST(ABucket, OwesNoEndOfUnitsForAnHourAtLeast) {
  each([](auto& limiter, auto& time) {
    auto reservation = limiter.reserve(1);
    reservation.commit(std::numeric_limits<Cost>::max());
    EXPECT_FALSE(limiter.try_acquire(1));
    time.advance(1h);
    EXPECT_FALSE(limiter.try_acquire(1));
    EXPECT_EQ(limiter.peek().remaining, 0);
  });
}

}  // namespace
}  // namespace weir
