// What bucket4j does, told by its specifications and its documentation.
#include <random>

#include "test/story/face.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

class Bucket4j : public FaceStory {
 protected:
  static ManualBucket::Settings ten(Cost burst) {
    return {.count = 10, .period = 1s, .burst = burst};
  }
};

/// The remainder of a refill is carried: however often somebody looks, nothing is lost.
TEST_F(Bucket4j, NoPartOfAUnitIsLostByLooking) {
  for (const Cost count : {1, 3, 7, 13, 999}) {
    for (const Time period : {7ns * 1'000, 1'000'003ns}) {
      at(0s);
      ManualBucket bucket({.count = count, .period = period, .burst = 2 * count}, clock());
      EXPECT_EQ(bucket.drain(2 * count), 2 * count);
      Cost taken = 0;
      for (; now() < 100 * period; pass(1'009ns)) taken += bucket.drain(count);
      at(100 * period);
      taken += bucket.drain(count);
      EXPECT_EQ(taken, 100 * count) << count << " in " << period.count();
    }
  }
}

TEST_F(Bucket4j, NoRateAboveOneUnitANanosecond) {
  EXPECT_THROW(ManualBucket({.count = 2, .period = 1ns, .burst = 1}, clock()),
               std::invalid_argument);
  ManualBucket fastest({.count = 1, .period = 1ns, .burst = 1'000}, clock());
  EXPECT_TRUE(fastest.try_acquire(1'000));
  pass(500ns);
  EXPECT_EQ(fastest.drain(1'000), 500);
}

TEST_F(Bucket4j, SeveralLimitsAreTakenFromAllOrNone) {
  auto limiter = AnyLimiter::of("10/s & 15/1m & 1000/1h", clock());
  EXPECT_TRUE(limiter.try_acquire(10));
  EXPECT_EQ(left(limiter), 0);
  EXPECT_FALSE(limiter.try_acquire());
  at(1s);
  EXPECT_EQ(left(limiter), 5);
  const Outcome refused = limiter.try_acquire(10);  // ten are there by the second, not the minute
  EXPECT_EQ(refused.verdict, denied);
  EXPECT_EQ(since(refused.ready_at), 20s);  // the latest of all
  EXPECT_EQ(left(limiter), 5);
  EXPECT_TRUE(limiter.try_acquire(5));
  EXPECT_EQ(limiter.try_acquire(11).verdict, impossible);
}

/// Theirs says "in 2^63 ns".
TEST_F(Bucket4j, MoreThanTheCapacityIsNeverThere) {
  ManualBucket bucket(ten(10), clock());
  EXPECT_EQ(bucket.try_acquire(11).verdict, impossible);
  EXPECT_EQ(bucket.peek(11).outcome.verdict, impossible);
  EXPECT_EQ(bucket.try_acquire(-1).verdict, impossible);  // theirs throws
}

/// Theirs: consumeIgnoringRateLimits(25) waits for 1.5 s and leaves -15.
TEST_F(Bucket4j, MoreThanIsThereMayBeTakenByName) {
  auto settings = ten(10);
  settings.oversize = Oversize::pay_over_time;
  ManualBucket over_time(settings, clock());
  EXPECT_EQ(acquire(over_time, 25), 1500ms);
  EXPECT_EQ(grants(over_time, 9), 0);

  at(0s);
  ManualBucket afterwards(ten(10), clock());
  auto turn = afterwards.reserve(1);
  turn.commit(25);  // it has cost more
  EXPECT_EQ(left(afterwards), 0);
  EXPECT_EQ(since(afterwards.peek().outcome.ready_at), 1600ms);
  at(2500ms);
  EXPECT_EQ(left(afterwards), 10);
}

/// Theirs has forceAddTokens, which goes above the capacity: ours never does.
TEST_F(Bucket4j, GivingBackEndsAtTheCapacity) {
  ManualBucket bucket(ten(10), clock());
  EXPECT_TRUE(bucket.try_acquire(4));
  EXPECT_EQ(bucket.refund(100), 4);
  EXPECT_EQ(left(bucket), 10);
}

TEST_F(Bucket4j, UnitsComeOneByOneOrByThePeriod) {
  ManualBucket greedy(ten(10), clock());
  auto by_the_period = AnyLimiter::of("fixed-window 10/s", clock());
  EXPECT_TRUE(greedy.try_acquire(10));
  EXPECT_TRUE(by_the_period.try_acquire(10));
  pass(900ms);
  EXPECT_EQ(left(greedy), 9);
  EXPECT_EQ(left(by_the_period), 0);
  pass(100ms);
  EXPECT_EQ(left(greedy), 10);
  EXPECT_EQ(left(by_the_period), 10);
}

TEST_F(Bucket4j, SomeOfTheBurstMayBeMissingAtTheStart) {
  for (const Cost withheld : {0, 1, 7, 10}) {
    at(0s);
    auto settings = ten(10);
    settings.withheld = withheld;
    ManualBucket bucket(settings, clock());
    EXPECT_EQ(left(bucket), 10 - withheld);
    pass(100ms);
    EXPECT_EQ(left(bucket), std::min<Cost>(10, 11 - withheld));
  }
  EXPECT_EQ(AnyLimiter::of("10/s initial 3", clock()).peek().remaining, 3);
}

template <typename Limiter, typename Settings>
Cost left_of_ten(Limiter& limiter, const Settings& to, Inherit how) {
  EXPECT_TRUE(limiter.try_acquire(6));
  limiter.reconfigure(to, how);
  return limiter.peek().remaining;
}

TEST_F(Bucket4j, OtherNumbersInheritInFourWays) {
  struct Vector {
    Inherit how;
    Cost burst;
    Cost wanted;
  };
  for (const Vector& vector :
       {Vector{Inherit::reset, 20, 20}, Vector{Inherit::as_is, 20, 4},
        Vector{Inherit::as_is, 3, 3},  // clipped
        Vector{Inherit::proportional, 20, 8}, Vector{Inherit::proportional, 5, 2},
        Vector{Inherit::additive, 20, 14}, Vector{Inherit::additive, 5, 0}}) {
    ManualBucket bucket(ten(10), clock());
    EXPECT_EQ(left_of_ten(bucket, ten(vector.burst), vector.how), vector.wanted);
    auto any = AnyLimiter::of("10/s", clock());
    const Limit to = *Limit::parse("10/s burst " + std::to_string(vector.burst));
    EXPECT_EQ(left_of_ten(any, to, vector.how), vector.wanted);
  }
}

TEST_F(Bucket4j, NoInheritanceMintsByBeingRepeated) {
  for (const Inherit how : {Inherit::as_is, Inherit::proportional, Inherit::additive}) {
    ManualBucket bucket(ten(10), clock());
    EXPECT_TRUE(bucket.try_acquire(10));
    for (int change = 0; change < 100; ++change) {
      bucket.reconfigure({.count = 7, .period = 1s, .burst = 13}, how);
      bucket.reconfigure(ten(10), how);
    }
    EXPECT_EQ(left(bucket), 0) << static_cast<int>(how);
  }
}

TEST_F(Bucket4j, TheTimeOfTheLastRefillNeverMovesBack) {
  at(10s);
  Typed<Gcra> bucket({10, 1s, 10}, clock());
  EXPECT_TRUE(bucket.try_acquire(10));
  at(5s);
  EXPECT_FALSE(bucket.try_acquire());
  at(10s);
  EXPECT_FALSE(bucket.try_acquire());
  at(10s + 100ms);
  EXPECT_EQ(grants(bucket, 9), 1);
}

}  // namespace
}  // namespace weir
