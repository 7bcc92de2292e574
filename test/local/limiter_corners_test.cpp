// Corners of the verbs that a first user would not think of.
#include <gtest/gtest.h>

#include <chrono>

#include "weir/local/limiter.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

template <typename Keeper>
using Manual = BasicLimiter<Keeper, ManualClock>;

TEST(LimiterCorners, ALimitThatGoesByDatesIsRefusedForTheSteadyClockKnowsNone) {
  EXPECT_THROW(BasicLimiter<LimitState>::of("calendar-window 1/month"), std::invalid_argument);
  EXPECT_THROW(BasicLimiter<LimitState>::of("5/s & calendar-window 1/day"), std::invalid_argument);
  EXPECT_NO_THROW(BasicLimiter<LimitState>::of("5/s & fixed-window 9/1d"));
}

TEST(LimiterCorners, ANegativeCostIsImpossibleAndMintsNothing) {
  ManualTime time(SteadyInstant{1h});
  Manual<AtomicWord> word({.count = 1, .period = 1h, .burst = 2}, ManualClock(time));
  auto locked = Manual<LimitState>::of("1/h burst 2", ManualClock(time));
  const auto check = [](auto& limiter) {
    EXPECT_EQ(limiter.try_acquire(2).verdict, Verdict::granted);
    EXPECT_EQ(limiter.try_acquire(-1).verdict, Verdict::impossible);
    EXPECT_EQ(limiter.try_acquire_for(-1, 1s).verdict, Verdict::impossible);
    EXPECT_EQ(limiter.acquire(-1).verdict, Verdict::impossible);
    EXPECT_EQ(limiter.reserve(-1).outcome().verdict, Verdict::impossible);
    EXPECT_EQ(limiter.peek(-1).outcome.verdict, Verdict::impossible);
    EXPECT_EQ(limiter.try_acquire(1).verdict, Verdict::denied);
  };
  check(word);
  check(locked);
}

TEST(LimiterCorners, WhoWaitsIsNotShutOutForHavingToWait) {
  ManualTime time(SteadyInstant{1h});
  auto limiter = Manual<LimitState>::of("10/s burst 1 block 1h", ManualClock(time));
  ASSERT_TRUE(limiter.try_acquire());
  // Taken for its turn in 100 ms; a penalty would make that hopeless.
  std::stop_source stop;
  auto waits = limiter.async_acquire_for(1, 1s, stop.get_token());
  struct Ends {
    struct promise_type {
      Ends get_return_object() { return {}; }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_never final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() { std::terminate(); }
    };
  };
  Outcome outcome;
  std::atomic<bool> ended = false;
  [](auto& awaited, Outcome& into, std::atomic<bool>& done) -> Ends {
    into = co_await awaited;
    done = true;
    done.notify_one();
  }(waits, outcome, ended);
  EXPECT_EQ(limiter.waiting(), 1u);
  time.advance(100ms);
  ended.wait(false);
  EXPECT_EQ(outcome.verdict, Verdict::granted);
}

TEST(LimiterCorners, AGrantForALateReadingTellsTheInstantThatItCountsAt) {
  const SteadyInstant start{1h};
  ManualTime time(start);
  Manual<AtomicWord> word({.count = 1, .period = 1s, .burst = 1}, ManualClock(time));
  auto locked = Manual<LimitState>::of("1/s burst 1", ManualClock(time));
  const auto check = [&](auto& limiter) {
    EXPECT_TRUE(limiter.try_acquire(1, start));
    EXPECT_TRUE(limiter.peek(1, start + 1s).outcome);
    // Somebody has read a later time by now. Told as of `start`, two would act there.
    auto reservation = limiter.reserve(1, 0s, start);
    EXPECT_TRUE(reservation);
    EXPECT_EQ(reservation.ready_at(), start + 1s);
    reservation.commit();
    EXPECT_FALSE(limiter.try_acquire(1, start));
  };
  check(word);
  check(locked);
}

TEST(LimiterCorners, AReservationForNowLeavesTheRestOfTheBurstToOthers) {
  const SteadyInstant start{1h};
  ManualTime time(start);
  Manual<AtomicWord> word({.count = 1, .period = 1s, .burst = 3}, ManualClock(time));
  auto locked = Manual<LimitState>::of("1/s burst 3", ManualClock(time));
  const auto check = [&](auto& limiter) {
    time.set(start);
    auto reservation = limiter.reserve(1);
    EXPECT_EQ(limiter.try_acquire(1).verdict, Verdict::granted);
    EXPECT_EQ(limiter.peek().remaining, 1);
    auto later = limiter.reserve(3);
    EXPECT_EQ(later.ready_at(), start + 2s);
    EXPECT_EQ(limiter.try_acquire(1).verdict, Verdict::denied);
    time.advance(2s);
    EXPECT_EQ(limiter.try_acquire(1).verdict, Verdict::denied);
    time.advance(1s);
    EXPECT_EQ(limiter.try_acquire(1).verdict, Verdict::granted);
  };
  check(word);
  check(locked);
}

TEST(LimiterCorners, WhoIsStoppedBeforeItAsksTakesNothing) {
  ManualTime time(SteadyInstant{1h});
  Manual<AtomicWord> word({.count = 1, .period = 1h, .burst = 2}, ManualClock(time));
  auto locked = Manual<LimitState>::of("1/h burst 2", ManualClock(time));
  std::stop_source stop;
  stop.request_stop();
  const auto check = [&](auto& limiter) {
    EXPECT_EQ(limiter.acquire(1, stop.get_token()).refusal, Refusal::stopped);
    EXPECT_EQ(limiter.peek().remaining, 2);
  };
  check(word);
  check(locked);
}

/// What is given back late must leave room for what was granted since.
template <typename AnyLimiter>
void commit_less_after_others(AnyLimiter& limiter, ManualTime& time) {
  auto early = limiter.reserve(20);
  time.advance(19ms);
  ASSERT_TRUE(limiter.try_acquire(20));
  early.commit(5);
  EXPECT_LE(limiter.drain(100) + 20, 50);
}

TEST(LimiterCorners, CommittingLessAfterOthersWereGrantedBreaksNoBound) {
  ManualTime time;
  BasicLimiter<AtomicWord, ManualClock> bucket({.count = 1000, .period = 1s, .burst = 50},
                                               ManualClock(time));
  commit_less_after_others(bucket, time);
  for (const char* text : {"1000/1s burst 50", "sliding-log 50/50ms", "sliding-window 50/50ms"}) {
    SCOPED_TRACE(text);
    auto limiter = BasicLimiter<LimitState, ManualClock>::of(text, ManualClock(time));
    commit_less_after_others(limiter, time);
  }
}

TEST(LimiterCorners, CommittingLessGivesBackAllWhereNobodyCameSince) {
  ManualTime time;
  BasicLimiter<AtomicWord, ManualClock> bucket({.count = 1, .period = 1s, .burst = 50},
                                               ManualClock(time));
  auto place = bucket.reserve(20);
  time.advance(10ms);
  place.commit(5);
  EXPECT_EQ(bucket.peek().remaining, 45);
}

}  // namespace
}  // namespace weir
