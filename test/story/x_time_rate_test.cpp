// What golang.org/x/time/rate does, told by its own tests, and what we do. Where it grants more
// than its bound we hold ours: docs/parity.md lists each difference.
#include <thread>

#include "test/story/face.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

using Time = std::chrono::nanoseconds;
constexpr Time d = 100ms;
constexpr Time t0 = 0 * d;
constexpr Time t1 = 1 * d;
constexpr Time t2 = 2 * d;
constexpr Time t3 = 3 * d;
constexpr Time t4 = 4 * d;
constexpr Time t5 = 5 * d;
constexpr Time t9 = 9 * d;

class XTimeRate : public FaceStory {
 protected:
  /// 10/s: one unit each t.
  static ManualBucket::Settings ten(Cost burst) {
    return {.count = 10, .period = 1s, .burst = burst};
  }

  bool allow(ManualBucket& bucket, Time since, Cost cost = 1) {
    return static_cast<bool>(bucket.try_acquire(cost, instant(since)));
  }
  ManualBucket::Reservation reserve(ManualBucket& bucket, Time since, Cost cost) {
    return bucket.reserve(cost, ManualBucket::forever, instant(since));
  }
  Time acts_at(const ManualBucket::Reservation& reservation) const {
    return since(reservation.ready_at());
  }
};

TEST_F(XTimeRate, ABucketStartsFull) {
  ManualBucket bucket(ten(3), clock());
  EXPECT_EQ(left(bucket), 3);
  EXPECT_EQ(grants(bucket, 9), 3);
}

TEST_F(XTimeRate, EveryIsARate) {
  ManualBucket bucket(ManualBucket::Settings::every(d, 1), clock());
  EXPECT_TRUE(allow(bucket, t0));
  EXPECT_FALSE(allow(bucket, t1 - 1ns));
  EXPECT_TRUE(allow(bucket, t1));
}

TEST_F(XTimeRate, ABurstOfOneGrantsOneATick) {
  ManualBucket bucket(ten(1), clock());
  EXPECT_TRUE(allow(bucket, t0));
  EXPECT_FALSE(allow(bucket, t0));
  EXPECT_FALSE(allow(bucket, t0));
  EXPECT_TRUE(allow(bucket, t1));
  EXPECT_FALSE(allow(bucket, t1));
  EXPECT_FALSE(allow(bucket, t1));
  EXPECT_EQ(bucket.try_acquire(2, instant(t2)).verdict, impossible);
  EXPECT_TRUE(allow(bucket, t2));
  EXPECT_FALSE(allow(bucket, t2));
}

TEST_F(XTimeRate, ABurstOfThreeIsSpentAndEarnedAgain) {
  ManualBucket bucket(ten(3), clock());
  EXPECT_TRUE(allow(bucket, t0, 2));
  EXPECT_FALSE(allow(bucket, t0, 2));
  EXPECT_TRUE(allow(bucket, t0));
  EXPECT_FALSE(allow(bucket, t0));
  EXPECT_FALSE(allow(bucket, t1, 4));
  EXPECT_TRUE(allow(bucket, t2));
  EXPECT_TRUE(allow(bucket, t3));
  EXPECT_TRUE(allow(bucket, t4));
  EXPECT_TRUE(allow(bucket, t4));
  EXPECT_FALSE(allow(bucket, t4));
  EXPECT_FALSE(allow(bucket, t4));
  EXPECT_TRUE(allow(bucket, t9, 3));
}

/// Theirs gives four by t1, for the time at which they were counted goes back.
TEST_F(XTimeRate, AClockThatGoesBackMintsNothing) {
  ManualBucket bucket(ten(3), clock());
  EXPECT_TRUE(allow(bucket, t1));
  EXPECT_TRUE(allow(bucket, t0));
  EXPECT_FALSE(allow(bucket, t0));  // the third is for t1
  EXPECT_TRUE(allow(bucket, t1));
  EXPECT_FALSE(allow(bucket, t1));
  EXPECT_TRUE(allow(bucket, t2));
  EXPECT_FALSE(allow(bucket, t2));
}

TEST_F(XTimeRate, UnderALockAnOldReadingIsTheNewest) {
  Typed<Gcra> bucket({10, 1s, 3}, clock());
  const auto allowed = [&](Time since) {
    return static_cast<bool>(bucket.try_acquire(1, instant(since)));
  };
  EXPECT_TRUE(allowed(t1));
  EXPECT_TRUE(allowed(t0));
  EXPECT_TRUE(allowed(t0));
  EXPECT_FALSE(allowed(t0));
  EXPECT_FALSE(allowed(t1));
  EXPECT_TRUE(allowed(t2));
}

/// Theirs mints a hundred here.
TEST_F(XTimeRate, ReadingsThatFlipMintNothing) {
  ManualBucket bucket(ten(100), clock());
  EXPECT_TRUE(allow(bucket, t0, 100));
  for (int flip = 0; flip < 50; ++flip) {
    EXPECT_FALSE(allow(bucket, t0 - 10s, 0));
    EXPECT_TRUE(allow(bucket, t0, 0));
  }
  EXPECT_FALSE(allow(bucket, t0));
}

TEST_F(XTimeRate, ARefusalChangesNothing) {
  ManualBucket bucket(ten(5), clock());
  EXPECT_TRUE(allow(bucket, t0, 3));
  const Standing before = bucket.peek();
  EXPECT_FALSE(allow(bucket, t0, 3));
  EXPECT_FALSE(bucket.reserve(4, 199ms));
  EXPECT_FALSE(bucket.reserve(6));
  const Standing after = bucket.peek();
  EXPECT_EQ(after.outcome, before.outcome);
  EXPECT_EQ(after.remaining, 2);
  EXPECT_EQ(after.reset_at, before.reset_at);
}

TEST_F(XTimeRate, NothingIsAlwaysGrantedToWhoHasNoDebt) {
  ManualBucket bucket(ten(5), clock());
  EXPECT_TRUE(allow(bucket, t0, 5));
  EXPECT_TRUE(allow(bucket, t0, 0));
  auto debt = reserve(bucket, t0, 1);
  EXPECT_FALSE(allow(bucket, t0, 0));
  EXPECT_TRUE(allow(bucket, t1, 0));
}

/// Theirs moves the time of its last change.
TEST_F(XTimeRate, NothingMovesNothing) {
  ManualBucket bucket(ten(5), clock());
  EXPECT_TRUE(allow(bucket, t0, 5));
  EXPECT_TRUE(allow(bucket, t5, 0));
  EXPECT_EQ(bucket.peek(0, instant(t2)).remaining, 2);
}

/// Theirs takes a negative cost for a refund: five stay five, and none become three.
TEST_F(XTimeRate, ARefundIsAVerbOfItsOwn) {
  ManualBucket bucket(ten(5), clock());
  EXPECT_EQ(bucket.try_acquire(-3).verdict, impossible);
  EXPECT_EQ(bucket.reserve(-3).outcome().verdict, impossible);
  EXPECT_EQ(bucket.acquire(-3).verdict, impossible);
  EXPECT_EQ(bucket.refund(-3), 0);
  EXPECT_EQ(bucket.refund(3), 0);
  EXPECT_EQ(left(bucket), 5);
  EXPECT_EQ(grants(bucket, 9), 5);
  EXPECT_EQ(bucket.try_acquire(-3).verdict, impossible);
  EXPECT_EQ(bucket.try_acquire(std::numeric_limits<Cost>::min()).verdict, impossible);
  EXPECT_EQ(left(bucket), 0);
  EXPECT_EQ(bucket.refund(3), 3);
  EXPECT_EQ(grants(bucket, 9), 3);
}

TEST_F(XTimeRate, UnderALockANegativeCostIsImpossibleToo) {
  Typed<Gcra> bucket({10, 1s, 5}, clock());
  EXPECT_EQ(grants(bucket, 5), 5);
  EXPECT_EQ(bucket.try_acquire(-3).verdict, impossible);
  EXPECT_EQ(bucket.reserve(-3).outcome().verdict, impossible);
  EXPECT_EQ(left(bucket), 0);
}

/// Under their infinite rate a cost may be above the burst, which may be none.
TEST_F(XTimeRate, AnOpenLimiterGrantsAnythingAndTouchesNoBalance) {
  ManualBucket bucket(ManualBucket::Settings::unlimited(), clock());
  EXPECT_TRUE(allow(bucket, t0, 1'000'000'000'000));
  EXPECT_EQ(acts_at(reserve(bucket, t0, 1'000'000'000'000)), t0);
  EXPECT_TRUE(bucket.acquire(Cost{1} << 59));
  EXPECT_TRUE(bucket.try_acquire_for(1, 0ns));

  ManualBucket limited(ten(5), clock());
  EXPECT_EQ(grants(limited, 3), 3);
  limited.reconfigure(ManualBucket::Settings::unlimited());
  EXPECT_EQ(grants(limited, 1'000), 1'000);
  EXPECT_TRUE(limited.try_acquire(1'000'000'000'000));
  limited.reconfigure(ten(5));
  EXPECT_EQ(grants(limited, 9), 2);
}

/// Theirs counts an infinite rate's whole period as idle: five by then.
TEST_F(XTimeRate, TheBalanceIsNeitherEarnedNorSpentBehindAGate) {
  for (const auto& gate : {ManualBucket::Settings::unlimited(), ManualBucket::Settings::closed()}) {
    at(0ns);
    ManualBucket bucket(ten(5), clock());
    EXPECT_EQ(grants(bucket, 4), 4);
    bucket.reconfigure(gate);
    at(1h);
    bucket.reconfigure(ten(5));
    EXPECT_EQ(grants(bucket, 9), 1);
    pass(d);
    EXPECT_EQ(grants(bucket, 9), 1);
  }
}

TEST_F(XTimeRate, TheNextNumbersInheritTheBalanceBehindAGateAsTheySay) {
  const auto left_of = [&](Inherit how) {
    at(0ns);
    ManualBucket bucket(ten(10), clock());
    EXPECT_EQ(grants(bucket, 6), 6);
    bucket.reconfigure(ManualBucket::Settings::unlimited());
    bucket.reconfigure(ManualBucket::Settings::closed());  // one gate after the other
    bucket.reconfigure(ten(20), how);
    return left(bucket);
  };
  EXPECT_EQ(left_of(Inherit::reset), 20);
  EXPECT_EQ(left_of(Inherit::as_is), 4);
  EXPECT_EQ(left_of(Inherit::proportional), 8);
  EXPECT_EQ(left_of(Inherit::additive), 14);
}

TEST_F(XTimeRate, AClosedLimiterGrantsNothing) {
  ManualBucket bucket(ten(5), clock());
  auto turn = reserve(bucket, t0, 5);
  auto later = reserve(bucket, t0, 1);
  bucket.reconfigure(ManualBucket::Settings::closed());
  EXPECT_EQ(bucket.try_acquire().verdict, impossible);
  EXPECT_EQ(bucket.try_acquire_for(1, 1h).verdict, impossible);
  EXPECT_EQ(bucket.acquire().verdict, impossible);
  EXPECT_EQ(bucket.reserve().outcome().verdict, impossible);
  EXPECT_EQ(bucket.peek().remaining, 0);
  EXPECT_EQ(bucket.peek().limit, 0);
  EXPECT_EQ(bucket.drain(9), 0);
  EXPECT_EQ(acts_at(later), t1);  // what was promised stays promised
  at(1h);
  bucket.reconfigure(ten(5));
  EXPECT_EQ(grants(bucket, 9), 0);
  pass(d);
  EXPECT_EQ(grants(bucket, 9), 0);  // the reservation's, which nobody gave back
  pass(d);
  EXPECT_EQ(grants(bucket, 9), 1);
}

TEST_F(XTimeRate, AResetOnTheWayIntoAGateLeavesAFullBucketBehindIt) {
  ManualBucket bucket(ten(5), clock());
  EXPECT_EQ(grants(bucket, 5), 5);
  bucket.reconfigure(ManualBucket::Settings::closed(), Inherit::reset);
  EXPECT_FALSE(bucket.try_acquire());
  bucket.reconfigure(ten(5));
  EXPECT_EQ(grants(bucket, 9), 5);
}

/// Their zero value rejects all, and starts empty where it gets numbers.
TEST_F(XTimeRate, WhatWasClosedFromTheBeginningStartsEmpty) {
  ManualBucket bucket(ManualBucket::Settings::closed(), clock());
  EXPECT_EQ(bucket.try_acquire().verdict, impossible);
  EXPECT_TRUE(bucket.try_acquire(0));
  bucket.reconfigure(ten(5));
  EXPECT_EQ(grants(bucket, 9), 0);
  pass(d);
  EXPECT_EQ(grants(bucket, 9), 1);

  ManualBucket open(ManualBucket::Settings::unlimited(), clock());
  open.reconfigure(ten(5));
  EXPECT_EQ(grants(open, 9), 5);
}

/// Theirs with rate 0 reserves for 292 years hence and owes it; so with 10^-10 a second.
TEST_F(XTimeRate, ARateOfZeroHasAName) {
  const auto refused = [&](const ManualBucket::Settings& settings) -> std::string {
    const auto config = AtomicWord::configure(settings);
    return config ? "accepted" : describe(config.error());
  };
  const std::string not_positive = describe(ConfigError::not_positive);
  EXPECT_EQ(refused({.count = 0, .period = 1s, .burst = 5}), not_positive);
  EXPECT_EQ(refused({.count = -1, .period = 1s, .burst = 5}), not_positive);
  EXPECT_EQ(refused({.count = 10, .period = 1s, .burst = 0}), not_positive);
  EXPECT_EQ(refused({.count = 1, .period = Time::max(), .burst = 1}),
            describe(ConfigError::too_long));
  EXPECT_THROW(ManualBucket({.count = 0, .period = 1s, .burst = 5}, clock()),
               std::invalid_argument);
}

TEST_F(XTimeRate, AtTheSlowestRateAPromiseIsHonest) {
  constexpr auto years = 18 * 365 * 24h;
  ManualBucket bucket(ManualBucket::Settings::every(years, 1), clock());
  EXPECT_TRUE(allow(bucket, t0));
  EXPECT_FALSE(bucket.reserve(1, years - 1ns));
  auto turn = bucket.reserve(1, years);
  EXPECT_EQ(acts_at(turn), years);
}

TEST_F(XTimeRate, WaitingLooksAtTheBurstThenAtTheStopThenAtTheDeadline) {
  ManualBucket bucket(ten(2), clock());
  std::stop_source stop;
  EXPECT_EQ(bucket.acquire(3, stop.get_token()).verdict, impossible);
  EXPECT_EQ(bucket.try_acquire_for(3, 1h).verdict, impossible);

  stop.request_stop();
  const Outcome stopped = bucket.acquire(1, stop.get_token());
  EXPECT_EQ(stopped.verdict, denied);
  EXPECT_EQ(stopped.refusal, Refusal::stopped);
  EXPECT_EQ(bucket.acquire(3, stop.get_token()).refusal, Refusal::stopped);  // theirs: the burst
  EXPECT_EQ(left(bucket), 2);

  EXPECT_EQ(grants(bucket, 2), 2);
  const Outcome hopeless = bucket.try_acquire_for(1, d - 1ns);  // at once: the clock stands still
  EXPECT_EQ(hopeless.verdict, denied);
  EXPECT_EQ(bucket.peek().outcome.ready_at, instant(t1));
}

/// Theirs refuses where the deadline has passed, though a token is there.
TEST_F(XTimeRate, WithNoTimeLeftATokenThatIsThereIsTaken) {
  ManualBucket bucket(ten(1), clock());
  EXPECT_TRUE(bucket.try_acquire_for(1, -1s));
  EXPECT_FALSE(bucket.try_acquire_for(1, 0s));
}

TEST_F(XTimeRate, WhoIsStoppedWhileItWaitsGivesItsPlaceBack) {
  ManualBucket bucket(ten(1), clock());
  EXPECT_TRUE(bucket.try_acquire());
  std::stop_source stop;
  Outcome outcome;
  std::thread waiter([&] { outcome = bucket.acquire(1, stop.get_token()); });
  while (bucket.waiting() == 0) std::this_thread::yield();
  EXPECT_EQ(bucket.peek().outcome.ready_at, instant(t2));
  stop.request_stop();
  waiter.join();
  EXPECT_EQ(outcome.refusal, Refusal::stopped);
  EXPECT_EQ(bucket.peek().outcome.ready_at, instant(t1));
}

TEST_F(XTimeRate, ACancelledReservationIsGivenToTheNext) {
  ManualBucket bucket(ten(2), clock());
  auto first = reserve(bucket, t0, 2);
  EXPECT_EQ(acts_at(first), t0);
  auto cancelled = reserve(bucket, t0, 2);
  EXPECT_EQ(acts_at(cancelled), t2);
  EXPECT_EQ(cancelled.cancel(instant(t1)), 2);
  EXPECT_EQ(acts_at(reserve(bucket, t1, 2)), t2);
}

/// Theirs counts the later one as if it stood at t1, gives 0 back, and the next acts at t3. Where
/// it stands, at t2, another may act beside it, within the burst.
TEST_F(XTimeRate, WhatIsGivenBackIsWhatTheLaterReservationsLeave) {
  ManualBucket bucket(ten(2), clock());
  auto first = reserve(bucket, t0, 2);
  auto cancelled = reserve(bucket, t0, 1);
  EXPECT_EQ(acts_at(cancelled), t1);
  auto since = reserve(bucket, t0, 1);
  EXPECT_EQ(acts_at(since), t2);
  EXPECT_EQ(cancelled.cancel(instant(t0)), 1);
  EXPECT_EQ(acts_at(reserve(bucket, t0, 1)), t2);
}

TEST_F(XTimeRate, AtItsInstantAReservationCanStillBeCancelled) {
  ManualBucket bucket(ten(2), clock());
  auto first = reserve(bucket, t0, 2);
  auto cancelled = reserve(bucket, t0, 2);
  EXPECT_EQ(acts_at(cancelled), t2);
  auto since = reserve(bucket, t1, 1);
  EXPECT_EQ(acts_at(since), t3);
  EXPECT_EQ(cancelled.cancel(instant(t2)), 2);  // theirs 1, and the same instant for the next
  EXPECT_EQ(acts_at(reserve(bucket, t2, 2)), t4);
}

/// Theirs gives 2 of the second back, and the next acts at t5.
TEST_F(XTimeRate, TheLastOfFourIsCancelledAndThenTheSecond) {
  ManualBucket bucket(ten(4), clock());
  auto first = reserve(bucket, t0, 4);
  auto second = reserve(bucket, t0, 3);
  auto third = reserve(bucket, t0, 1);
  auto fourth = reserve(bucket, t0, 1);
  EXPECT_EQ(acts_at(second), t3);
  EXPECT_EQ(acts_at(third), t4);
  EXPECT_EQ(acts_at(fourth), t5);
  EXPECT_EQ(fourth.cancel(instant(t1)), 1);
  EXPECT_EQ(second.cancel(instant(t1)), 3);
  EXPECT_EQ(acts_at(reserve(bucket, t1, 3)), t4);
}

/// Theirs acts at t2, for cancelling the first gave nothing back.
TEST_F(XTimeRate, WhereAllWhoCameAfterAreCancelledTooAllIsGivenBack) {
  ManualBucket bucket(ten(1), clock());
  auto first = reserve(bucket, t0, 1);
  auto second = reserve(bucket, t0, 1);
  auto third = reserve(bucket, t0, 1);
  EXPECT_EQ(second.cancel(instant(t0)), 1);
  EXPECT_EQ(third.cancel(instant(t0)), 1);
  EXPECT_EQ(acts_at(reserve(bucket, t0, 1)), t1);
}

TEST_F(XTimeRate, NothingIsCancelledThatWasNotTakenOrHasPassed) {
  ManualBucket bucket(ten(2), clock());
  auto over = bucket.reserve(3);
  EXPECT_EQ(over.cancel(), 0);
  auto nothing = reserve(bucket, t0, 0);
  EXPECT_EQ(nothing.cancel(instant(t0)), 0);
  EXPECT_EQ(left(bucket), 2);
  auto passed = reserve(bucket, t0, 2);
  EXPECT_EQ(passed.cancel(instant(t0 + 1ns)), 0);
  auto twice = reserve(bucket, t1, 2);
  EXPECT_EQ(twice.cancel(instant(t1)), 2);
  EXPECT_EQ(twice.cancel(instant(t1)), 0);

  ManualBucket open(ManualBucket::Settings::unlimited(), clock());
  EXPECT_TRUE(open.reserve(5));
  EXPECT_TRUE(open.reserve(5));
}

TEST_F(XTimeRate, AnotherBurstLeavesWhatIsLeft) {
  ManualBucket bucket(ten(5), clock());
  bucket.reconfigure(ten(10));
  EXPECT_EQ(left(bucket), 5);
  bucket.reconfigure(ten(5), Inherit::reset);
  bucket.reconfigure(ten(2));
  EXPECT_EQ(left(bucket), 2);
}

TEST_F(XTimeRate, UntilTheChangeUnitsAreEarnedAtTheOldRate) {
  ManualBucket bucket(ten(10), clock());
  EXPECT_TRUE(allow(bucket, t0, 7));
  EXPECT_EQ(left(bucket), 3);
  bucket.reconfigure(ten(10), Inherit::as_is, instant(t1));
  EXPECT_EQ(bucket.peek(1, instant(t1)).remaining, 4);
  bucket.reconfigure({.count = 20, .period = 1s, .burst = 10}, Inherit::as_is, instant(t2));
  EXPECT_EQ(bucket.peek(1, instant(t2)).remaining, 5);
  EXPECT_EQ(bucket.peek(1, instant(t3)).remaining, 7);
  bucket.reconfigure({.count = 20, .period = 1s, .burst = 20}, Inherit::as_is, instant(t3));
  EXPECT_EQ(bucket.peek(1, instant(t4)).remaining, 9);
}

TEST_F(XTimeRate, ReservationsKeepTheirInstantsUnderAnotherRate) {
  ManualBucket bucket(ten(2), clock());
  auto first = reserve(bucket, t0, 2);
  auto promised = reserve(bucket, t0, 2);
  bucket.reconfigure({.count = 5, .period = 1s, .burst = 2}, Inherit::as_is, instant(t0));
  EXPECT_EQ(acts_at(promised), t2);
  // Two units are owed from t2 on, at the new rate.
  EXPECT_EQ(acts_at(reserve(bucket, t2, 1)), t4);
}

/// Theirs sleep as long as they were told. Ours move: earlier or later, never past a reservation.
TEST_F(XTimeRate, WaitersGetNewInstantsUnderAnotherRate) {
  ManualBucket bucket(ten(1), clock());
  EXPECT_TRUE(bucket.try_acquire());
  Outcome outcome;
  std::thread waiter([&] { outcome = bucket.try_acquire_for(1, t1); });
  while (bucket.waiting() == 0) std::this_thread::yield();
  bucket.reconfigure({.count = 5, .period = 1s, .burst = 1});  // now at t2: in vain
  waiter.join();
  EXPECT_EQ(outcome.verdict, denied);
  EXPECT_EQ(since(outcome.ready_at), t2);
}

/// Theirs gives it the number that counted when it was made; what stays of ours is in units.
TEST_F(XTimeRate, AReservationIsCancelledUnderAnotherRate) {
  ManualBucket bucket(ten(2), clock());
  auto first = reserve(bucket, t0, 2);
  auto cancelled = reserve(bucket, t0, 2);
  bucket.reconfigure({.count = 20, .period = 1s, .burst = 2}, Inherit::as_is, instant(t0));
  EXPECT_EQ(cancelled.cancel(instant(t1)), 2);
  EXPECT_EQ(acts_at(reserve(bucket, t1, 2)), t1);
}

/// Theirs acts at t1, and their test says that it "should violate Limit,Burst".
TEST_F(XTimeRate, AReservationFromEarlierWaitsItsTurn) {
  ManualBucket bucket(ten(2), clock());
  auto first = reserve(bucket, t1, 2);
  EXPECT_EQ(acts_at(first), t1);
  auto earlier = reserve(bucket, t0, 1);
  EXPECT_EQ(acts_at(earlier), t2);
  EXPECT_EQ(acts_at(reserve(bucket, t2, 2)), t4);  // theirs at t3
}

TEST_F(XTimeRate, AReservationHasALongestWait) {
  ManualBucket bucket(ten(2), clock());
  EXPECT_TRUE(allow(bucket, t0, 2));
  EXPECT_FALSE(bucket.reserve(2, 199ms));
  auto turn = bucket.reserve(2, 200ms);
  EXPECT_EQ(acts_at(turn), t2);
}

/// Theirs has one way: never.
TEST_F(XTimeRate, ACostAboveTheBurstMayBePaidOverTime) {
  ManualBucket never(ten(3), clock());
  EXPECT_EQ(never.reserve(5).outcome().verdict, impossible);

  auto settings = ten(3);
  settings.oversize = Oversize::pay_over_time;
  ManualBucket bucket(settings, clock());
  EXPECT_EQ(bucket.try_acquire(5).verdict, impossible);  // not at once
  EXPECT_EQ(bucket.try_acquire_for(5, 199ms).verdict, impossible);
  auto turn = bucket.reserve(5);
  EXPECT_EQ(acts_at(turn), t2);
  EXPECT_FALSE(allow(bucket, t2));
  EXPECT_TRUE(allow(bucket, t3));
  EXPECT_EQ(acquire(bucket, 13), 16 * d);  // nineteen in all, of which three were there
}

TEST_F(XTimeRate, WhoPaysOverTimeWaitsInLine) {
  auto settings = ten(3);
  settings.oversize = Oversize::pay_over_time;
  ManualBucket bucket(settings, clock());
  Outcome outcome;
  std::thread waiter([&] { outcome = bucket.acquire(5); });
  while (bucket.waiting() == 0) std::this_thread::yield();
  EXPECT_FALSE(bucket.try_acquire());
  at(t2);
  waiter.join();
  EXPECT_EQ(outcome.verdict, granted);
  EXPECT_EQ(since(outcome.ready_at), t2);
}

TEST_F(XTimeRate, InTheLongRunTheRateIsTheRate) {
  ManualBucket bucket({.count = 100, .period = 1s, .burst = 100}, clock());
  Cost count = 0;
  for (Time since = 0ns; since <= 5s; since += 2ms) count += allow(bucket, since) ? 1 : 0;
  EXPECT_EQ(count, 600);
}

}  // namespace
}  // namespace weir
