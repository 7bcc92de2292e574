// What folly's TokenBucket does, told by its own tests: a balance that may be below nothing.
#include <random>

#include "test/story/face.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

class Folly : public FaceStory {
 protected:
  static ManualBucket::Settings ten() { return {.count = 10, .period = 1s, .burst = 10}; }
};

TEST_F(Folly, ItGrantsAllOrNothing) {
  ManualBucket bucket(ten(), clock());
  EXPECT_TRUE(bucket.try_acquire(6));
  EXPECT_FALSE(bucket.try_acquire(5));
  EXPECT_TRUE(bucket.try_acquire(4));
  EXPECT_EQ(bucket.try_acquire(11).verdict, impossible);  // theirs: refused, as if for now
}

TEST_F(Folly, NothingIsGrantedUnlessSomethingIsOwed) {
  ManualBucket bucket(ten(), clock());
  EXPECT_TRUE(bucket.try_acquire(10));
  EXPECT_TRUE(bucket.try_acquire(0));
  auto borrowed = bucket.reserve(1);
  EXPECT_FALSE(bucket.try_acquire(0));
}

TEST_F(Folly, ItDrains) {
  ManualBucket bucket(ten(), clock());
  EXPECT_EQ(bucket.drain(4), 4);
  EXPECT_EQ(bucket.drain(10), 6);
  EXPECT_EQ(bucket.drain(10), 0);
  EXPECT_EQ(bucket.drain(-1), 0);
  at(350ms);
  EXPECT_EQ(bucket.drain(10), 3);
  auto borrowed = bucket.reserve(2);
  EXPECT_EQ(bucket.drain(10), 0);
}

TEST_F(Folly, ReturnedUnitsFillTheBucketAndNoMore) {
  ManualBucket bucket(ten(), clock());
  EXPECT_EQ(bucket.refund(50), 0);
  EXPECT_EQ(bucket.drain(100), 10);
  EXPECT_EQ(bucket.refund(50), 10);
  EXPECT_EQ(bucket.drain(100), 10);
}

TEST_F(Folly, TenBorrowTenUnitsEach) {
  ManualBucket bucket(ten(), clock());
  EXPECT_TRUE(bucket.try_acquire(10));
  for (int second = 1; second <= 10; ++second) {
    auto turn = bucket.reserve(10);
    EXPECT_EQ(since(turn.ready_at()), second * 1s);
    turn.commit();
  }
  EXPECT_FALSE(bucket.reserve(11));
  EXPECT_FALSE(bucket.try_acquire());
  at(10s);
  EXPECT_FALSE(bucket.try_acquire());
  at(10s + 100ms);
  EXPECT_TRUE(bucket.try_acquire());
}

TEST_F(Folly, WhatIsThereIsUsedBeforeBorrowing) {
  ManualBucket bucket(ten(), clock());
  EXPECT_TRUE(bucket.try_acquire(4));
  auto turn = bucket.reserve(10);
  EXPECT_EQ(since(turn.ready_at()), 400ms);
}

/// Its default start is documented as empty, and is as many tokens as the machine has been up.
TEST_F(Folly, ItStartsWithWhatItIsTold) {
  auto empty = ten();
  empty.withheld = 10;
  at(240h);
  ManualBucket bucket(empty, clock());
  EXPECT_EQ(left(bucket), 0);
  EXPECT_FALSE(bucket.try_acquire());
  pass(100ms);
  EXPECT_TRUE(bucket.try_acquire());
}

TEST_F(Folly, TimeThatGoesBackHasNoEffect) {
  at(10s);
  ManualBucket bucket(ten(), clock());
  EXPECT_TRUE(bucket.try_acquire(10));
  at(0s);
  EXPECT_FALSE(bucket.try_acquire());
  EXPECT_EQ(bucket.drain(10), 0);
  EXPECT_EQ(left(bucket), 0);
  at(10s);
  EXPECT_FALSE(bucket.try_acquire());
  at(11s);
  EXPECT_EQ(bucket.drain(100), 10);
}

/// Its own simulation: any rate, burst and pace of asking, for ten seconds.
TEST_F(Folly, TenSecondsGrantTheBurstAndTheRate) {
  struct Run {
    Cost rate;
    Cost burst;
    Cost cost;
  };
  for (const Run& run : {Run{100, 1, 1}, Run{1'000, 1, 1}, Run{10, 10, 1}, Run{10, 10, 5}}) {
    at(0s);
    ManualBucket bucket({.count = run.rate, .period = 1s, .burst = run.burst}, clock());
    EXPECT_EQ(bucket.drain(run.burst), run.burst);
    Cost taken = 0;
    for (; now() <= 10s; pass(1ms)) taken += bucket.try_acquire(run.cost) ? run.cost : 0;
    EXPECT_EQ(taken, 10 * run.rate) << run.rate << " " << run.burst;
  }
}

/// Theirs does for 10584 of 20000 such pairs.
TEST_F(Folly, AFullBucketHandsOutExactlyItsBurst) {
  std::mt19937_64 random(1);
  const auto upto = [&](Cost most) { return std::uniform_int_distribution<Cost>(1, most)(random); };
  for (int trial = 0; trial < 20'000; ++trial) {
    at(Time{upto(1'000'000'000'000)});
    const Cost burst = upto(trial % 2 == 0 ? 100 : 1'000'000);
    ManualBucket bucket({.count = upto(1'000'000), .period = 1s, .burst = burst}, clock());
    EXPECT_TRUE(bucket.try_acquire());
    pass(1h * 300);
    ASSERT_EQ(bucket.drain(2 * burst), burst);
    ASSERT_FALSE(bucket.try_acquire());
  }
}

/// Theirs refuses at the promised instant for 1070 of 2000 rates.
TEST_F(Folly, WhatWasBorrowedAndGivenBackIsThereAtThePromisedInstant) {
  for (Cost rate = 1; rate <= 2'000; ++rate) {
    at(0s);
    ManualBucket bucket({.count = rate, .period = 1s, .burst = 10}, clock());
    EXPECT_TRUE(bucket.try_acquire(10));
    auto turn = bucket.reserve(1);
    const SteadyInstant promised = turn.ready_at();
    EXPECT_EQ(turn.cancel(), 1);
    EXPECT_FALSE(bucket.try_acquire(1, promised - 1ns));
    ASSERT_TRUE(bucket.try_acquire(1, promised)) << rate;
  }
}

}  // namespace
}  // namespace weir
