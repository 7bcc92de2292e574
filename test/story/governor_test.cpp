// What the governor crate does, told by its own tests, of a bucket.
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "test/story/face.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

class Governor : public FaceStory {};

TEST_F(Governor, TheFirstCellOfAStateAtTheBeginningOfTimeIsGranted) {
  const ManualTime epoch{SteadyInstant{}};  // theirs keeps 0 for "never used"
  ManualBucket bucket({.count = 1, .period = 1s, .burst = 1}, ManualClock(epoch));
  EXPECT_TRUE(bucket.try_acquire());
  EXPECT_FALSE(bucket.try_acquire());
  EXPECT_EQ(bucket.peek().outcome.ready_at, SteadyInstant{1s});
}

TEST_F(Governor, ABurstIsGrantedAndThenACellEachInterval) {
  ManualBucket bucket({.count = 10, .period = 1s, .burst = 4}, clock());
  EXPECT_EQ(grants(bucket, 9), 4);  // theirs gave one more before 0.8.0
  for (int cell = 0; cell < 5; ++cell) {
    pass(100ms - 1ns);
    EXPECT_EQ(grants(bucket, 9), 0);
    pass(1ns);
    EXPECT_EQ(grants(bucket, 9), 1);
  }
}

/// Theirs told "not until" for one cell above the burst before 0.2.0.
TEST_F(Governor, MoreThanTheBurstIsImpossibleAndNoMoreThanItIsNot) {
  for (const Cost burst : {1, 2, 5, 1'000'000}) {
    ManualBucket bucket({.count = 10, .period = 1s, .burst = burst}, clock());
    EXPECT_EQ(bucket.peek(burst + 1).outcome.verdict, impossible);
    EXPECT_EQ(bucket.try_acquire(burst + 1).verdict, impossible);
    EXPECT_EQ(bucket.try_acquire(burst + 1).ready_at, SteadyInstant::max());
    EXPECT_TRUE(bucket.try_acquire(burst));
    EXPECT_EQ(bucket.try_acquire(burst).verdict, denied);
    EXPECT_EQ(bucket.try_acquire(burst + 1).verdict, impossible);
  }
}

TEST_F(Governor, ARefusalTellsWhenAndHowLong) {
  ManualBucket bucket({.count = 1, .period = 1s, .burst = 1}, clock());
  EXPECT_TRUE(bucket.try_acquire());
  pass(300ms);
  const Outcome refused = bucket.try_acquire();
  EXPECT_EQ(since(refused.ready_at), 1s);
  EXPECT_EQ(refused.wait(instant(300ms)), 700ms);
  EXPECT_EQ(refused.wait(instant(1s)), 0ns);
  EXPECT_EQ(refused.wait(instant(2s)), 0ns);  // not negative
}

TEST_F(Governor, APromisedInstantIsKeptAndNoneBeforeIt) {
  std::mt19937_64 random(1);
  const auto upto = [&](Cost most) { return std::uniform_int_distribution<Cost>(1, most)(random); };
  for (int trial = 0; trial < 20'000; ++trial) {
    at(Time{upto(1'000'000'000'000'000)});
    const Cost burst = upto(1'000);
    ManualBucket bucket(
        {.count = upto(1'000'000), .period = Time{upto(1'000'000'000)} + 1ms, .burst = burst},
        clock());
    EXPECT_TRUE(bucket.try_acquire(upto(burst)));
    const Cost cost = upto(burst);
    const Outcome refused = bucket.try_acquire(cost);
    if (refused) continue;
    ASSERT_GT(refused.ready_at, instant(now()));
    for (const int parts : {2, 3, 1'000}) {
      const Time before = now() + refused.wait(instant(now())) / parts;
      if (instant(before) == refused.ready_at) continue;
      ASSERT_FALSE(bucket.try_acquire(cost, instant(before)));
    }
    ASSERT_FALSE(bucket.try_acquire(cost, refused.ready_at - 1ns));
    ASSERT_TRUE(bucket.try_acquire(cost, refused.ready_at));
  }
}

TEST_F(Governor, WhatIsLeftIsTold) {
  ManualBucket bucket({.count = 1, .period = 1s, .burst = 4}, clock());
  for (const Cost wanted : {3, 2, 1, 0}) {
    EXPECT_TRUE(bucket.try_acquire());
    EXPECT_EQ(left(bucket), wanted);
  }
  EXPECT_FALSE(bucket.try_acquire());
  EXPECT_EQ(left(bucket), 0);
  EXPECT_EQ(bucket.peek().limit, 4);
}

/// Who waits for theirs has no place: it asks again, and so may anybody before it.
TEST_F(Governor, WhoWaitsKeepsItsPlace) {
  ManualBucket bucket({.count = 1, .period = 1s, .burst = 1}, clock());
  EXPECT_TRUE(bucket.try_acquire());
  Outcome outcome;
  std::thread waiter([&] { outcome = bucket.acquire(); });
  while (bucket.waiting() == 0) std::this_thread::yield();
  at(1s);
  EXPECT_FALSE(bucket.try_acquire());  // its second, whether it has woken or not
  waiter.join();
  EXPECT_TRUE(outcome);
  EXPECT_EQ(since(bucket.peek().outcome.ready_at), 2s);
}

/// A key may be dropped from the instant at which it is as one never seen; theirs drops it an
/// interval later.
TEST_F(Governor, AKeyMayBeDroppedOnceItIsAsNew) {
  std::map<std::string, std::unique_ptr<ManualBucket>> keys;
  const auto call = [&](const std::string& key) {
    auto& bucket = keys[key];
    const ManualBucket::Settings one{.count = 1, .period = 1s, .burst = 1};
    if (!bucket) bucket = std::make_unique<ManualBucket>(one, clock());
    EXPECT_TRUE(bucket->try_acquire());
  };
  const auto retained = [&] {
    std::string names;
    for (const auto& [name, bucket] : keys) {
      if (bucket->peek().reset_at > instant(now())) names += name + " ";
    }
    return names;
  };
  call("foo");
  at(200ms);
  call("bar");
  at(800ms);
  call("baz");
  EXPECT_EQ(retained(), "bar baz foo ");
  at(1000ms - 1ns);
  EXPECT_EQ(retained(), "bar baz foo ");
  at(1000ms);  // theirs at 2000, 2200 and 2800
  EXPECT_EQ(retained(), "bar baz ");
  at(1200ms);
  EXPECT_EQ(retained(), "baz ");
  at(1800ms);
  EXPECT_EQ(retained(), "");
}

}  // namespace
}  // namespace weir
