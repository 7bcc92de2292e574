// Leases: what they spend by themselves, and what they hold.
#include "weir/local/lease.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "weir/local/limiter.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

using Bucket = BasicLimiter<AtomicWord, ManualClock>;

class LeaseTest : public testing::Test {
 protected:
  ManualTime time_{SteadyInstant{1h}};
  Bucket bucket_{{.count = 10, .period = 1s, .burst = 10}, ManualClock(time_)};
};

TEST_F(LeaseTest, ABatchIsTakenAtOnceAndSpentUnitByUnit) {
  Lease lease(bucket_, 4);
  EXPECT_TRUE(lease.try_acquire());
  EXPECT_EQ(lease.held(), 3);
  EXPECT_EQ(bucket_.peek().remaining, 6);
  for (int spent = 0; spent < 3; ++spent) EXPECT_TRUE(lease.try_acquire());
  EXPECT_EQ(bucket_.peek().remaining, 6);
  EXPECT_EQ(lease.held(), 0);
}

TEST_F(LeaseTest, TheLastUnitsAreTakenThoughTheyFillNoBatch) {
  Lease lease(bucket_, 4);
  int granted = 0;
  while (lease.try_acquire()) ++granted;
  EXPECT_EQ(granted, 10);
  const Outcome refused = lease.try_acquire();
  EXPECT_EQ(refused.verdict, Verdict::denied);
  EXPECT_EQ(refused.ready_at, time_.now() + 100ms);
  time_.set(refused.ready_at);
  EXPECT_TRUE(lease.try_acquire());
}

TEST_F(LeaseTest, ACostAboveTheBatchCountsWhatIsHeld) {
  Lease lease(bucket_, 4);
  EXPECT_TRUE(lease.try_acquire(1));  // holds 3 of 6 left
  EXPECT_TRUE(lease.try_acquire(9));
  EXPECT_EQ(lease.held(), 0);
  EXPECT_EQ(bucket_.peek().remaining, 0);
}

TEST_F(LeaseTest, ARefusedCostAboveTheBatchLosesNothing) {
  Lease lease(bucket_, 4);
  EXPECT_TRUE(lease.try_acquire(1));
  EXPECT_FALSE(lease.try_acquire(10));
  EXPECT_EQ(lease.held() + bucket_.peek().remaining, 9);
  EXPECT_EQ(lease.try_acquire(11 + 3).verdict, Verdict::impossible);
  EXPECT_EQ(lease.try_acquire(-1).verdict, Verdict::impossible);
  EXPECT_EQ(lease.held() + bucket_.peek().remaining, 9);
}

TEST_F(LeaseTest, WhatIsLeftIsRefunded) {
  {
    Lease lease(bucket_, 8);
    EXPECT_TRUE(lease.try_acquire());
    EXPECT_EQ(bucket_.peek().remaining, 2);
  }
  EXPECT_EQ(bucket_.peek().remaining, 9);
}

TEST_F(LeaseTest, UnitsHeldActLaterAndAreTheWholeExcess) {
  // The worst that eight leases can do: hold all that they may, then spend it beside a full bucket.
  constexpr int leases = 2;
  constexpr Cost batch = 5;
  std::vector<std::unique_ptr<Lease<Bucket>>> held;
  Cost before = 0;
  for (int lease = 0; lease < leases; ++lease) {
    held.push_back(std::make_unique<Lease<Bucket>>(bucket_, batch));
    if (held.back()->try_acquire()) ++before;
  }
  EXPECT_EQ(before, leases);
  time_.advance(1s);  // the bucket is full again
  Cost at_once = 0;
  for (auto& lease : held) {
    while (lease->try_acquire()) ++at_once;
  }
  EXPECT_EQ(at_once, 10 + leases * (batch - 1));
}

TEST_F(LeaseTest, LessThanABatchIsHeldWhateverTheCosts) {
  Lease lease(bucket_, 5);
  for (int round = 0; round < 1'000; ++round) {
    static_cast<void>(lease.try_acquire(round % 7));
    ASSERT_LT(lease.held(), 5) << round;
    time_.advance(310ms);
  }
}

TEST(LeaseThreadsTest, ManyLeasesTogetherGrantNoMoreThanTheBoundAndWhatTheyHold) {
  constexpr int threads = 16;
  constexpr Cost batch = 32;
  constexpr Cost burst = 10'000;
  TokenBucket bucket({.count = 1, .period = 1h, .burst = burst});
  std::atomic<Cost> granted{0};
  {
    std::vector<std::jthread> all;
    for (int thread = 0; thread < threads; ++thread) {
      all.emplace_back([&] {
        Lease lease(bucket, batch);
        Cost own = 0;
        for (int asked = 0; asked < 5'000; ++asked) own += lease.try_acquire() ? 1 : 0;
        granted += own;
      });
    }
  }
  EXPECT_LE(granted, burst);
  EXPECT_GE(granted + bucket.peek().remaining, burst);
}

}  // namespace
}  // namespace weir
