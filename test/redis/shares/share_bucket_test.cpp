// What a bucket has when its share of the limit changes.
#include "weir/redis/share_bucket.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "redis/share_registry.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;

const SharedRateSettings limit{.name = "limit", .count = 100, .period = 1s, .burst = 60};
const SteadyInstant start{1'000s};

Cost take_all(ShareBucket& bucket, SteadyInstant now) {
  Cost taken = 0;
  while (bucket.try_acquire(1, now)) ++taken;
  return taken;
}

void put(ShareBucket& bucket, std::int64_t share, SteadyInstant now) {
  bucket.put_in_force({share, SteadyInstant::max()}, now);
}

TEST(AShareBucket, BeginsClosedAndThenWithNoUnits) {
  ShareBucket bucket(limit);
  EXPECT_EQ(take_all(bucket, start), 0);
  put(bucket, whole_share, start + 10s);
  EXPECT_EQ(take_all(bucket, start + 10s), 0);
  EXPECT_EQ(take_all(bucket, start + 10s + 90ms), 9);
  EXPECT_EQ(take_all(bucket, start + 20s), 60);
}

TEST(AShareBucket, GrowsByRateAndRoomAndNotByUnits) {
  ShareBucket bucket(limit);
  put(bucket, whole_share / 10, start);
  put(bucket, whole_share, start + 10s);
  EXPECT_EQ(take_all(bucket, start + 10s), 6);
  EXPECT_EQ(take_all(bucket, start + 10s + 100ms), 10);
}

TEST(AShareBucket, LosesTheUnitsThatALesserShareHasNoRoomFor) {
  ShareBucket bucket(limit);
  put(bucket, whole_share, start);
  put(bucket, whole_share / 10, start + 10s);
  put(bucket, whole_share, start + 10s);
  EXPECT_EQ(take_all(bucket, start + 10s), 6);
}

TEST(AShareBucket, LosesAllUnitsWithItsShare) {
  ShareBucket bucket(limit);
  put(bucket, whole_share, start);
  put(bucket, 0, start + 10s);
  EXPECT_EQ(take_all(bucket, start + 10s), 0);
  put(bucket, whole_share, start + 15s);
  EXPECT_EQ(take_all(bucket, start + 15s), 0);
}

TEST(AShareBucket, HasRoomForOneUnitAtLeast) {
  ShareBucket bucket(limit);
  put(bucket, 1'000, start);
  EXPECT_EQ(take_all(bucket, start + 9'999ms), 0) << "a thousandth of 100/s";
  EXPECT_EQ(take_all(bucket, start + 10s), 1);
  EXPECT_EQ(take_all(bucket, start + 100s), 1);
}

TEST(AShareBucket, KeepsRatesThatNoWordHolds) {
  SharedRateSettings slow = limit;
  slow.count = 1;
  slow.period = 24h;
  ShareBucket bucket(slow);
  put(bucket, 300'000, start);
  EXPECT_EQ(take_all(bucket, start + 80h - 1ns), 0);
  EXPECT_EQ(take_all(bucket, start + 80h), 1);
}

TEST(AShareBucket, IsRefusedWhereNoBucketCanKeepTheLimit) {
  SharedRateSettings fast = limit;
  fast.count = 2'000'000'000;
  EXPECT_THROW(ShareBucket::require_possible(fast), std::invalid_argument);
  EXPECT_NO_THROW(ShareBucket::require_possible(limit));
}

/// Shares move between buckets at random, and each takes what it can whenever it likes.
TEST(ShareBuckets, WhoseSharesMoveNeverAdmitMoreThanTheLimitInAnySpan) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::unique_ptr<ShareBucket>> buckets;
    std::vector<std::int64_t> shares(2 + random() % 5);
    for (std::size_t at = 0; at < shares.size(); ++at) {
      buckets.push_back(std::make_unique<ShareBucket>(limit));
    }
    std::int64_t left = whole_share;
    SteadyInstant now = start;
    std::int64_t admitted = 0;
    std::int64_t least = 0;  // of what was admitted less what flowed, in units
    std::int64_t most = 0;
    for (int event = 0; event < 3'000; ++event) {
      now += std::chrono::milliseconds{random() % 8 == 0 ? random() % 2'000 : random() % 20};
      const std::size_t at = random() % shares.size();
      if (random() % 2 == 0) {
        left += shares[at];
        const auto most_parts = static_cast<std::uint64_t>(left) + 1;
        shares[at] = random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % most_parts);
        if (random() % 3 == 0) shares[at] = left;
        left -= shares[at];
        put(*buckets[at], shares[at], now);
      }
      const std::int64_t flowed = (now - start) / 10ms;  // of which the last may be a part
      least = std::min(least, admitted - flowed - 1);
      if (random() % 3 != 0) admitted += take_all(*buckets[at], now);
      most = std::max(most, admitted - flowed - least);
    }
    EXPECT_LE(most, limit.burst + static_cast<std::int64_t>(shares.size()) + 2) << seed;
    EXPECT_GT(most, limit.burst / 2) << seed;
  }
}

}  // namespace
}  // namespace weir::redis
