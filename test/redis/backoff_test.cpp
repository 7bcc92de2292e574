#include "redis/backoff.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace weir::redis {
namespace {

using namespace std::chrono_literals;

TEST(RedisBackoff, AWaitIsNeverShorterThanThePlainOneAndAtMostHalfAgainAsLong) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Backoff backoff({.first_for = 10ms, .longest_for = 100ms, .seed = seed});
    for (const auto plain : {10ms, 20ms, 40ms, 80ms, 100ms, 100ms, 100ms}) {
      const auto wait = backoff.next();
      EXPECT_GE(wait, plain) << "seed " << seed;
      EXPECT_LE(wait, plain + plain / 2) << "seed " << seed;
    }
  }
}

TEST(RedisBackoff, ClientsWithOtherSeedsComeBackAtOtherTimes) {
  std::set<std::chrono::nanoseconds> waits;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    waits.insert(Backoff({.first_for = 10ms, .longest_for = 10ms, .seed = seed}).next());
  }
  EXPECT_GT(waits.size(), 990u);
  EXPECT_LT(*waits.begin(), 10ms + 100us) << "the whole width is used";
  EXPECT_GT(*waits.rbegin(), 15ms - 100us);
}

TEST(RedisBackoff, OneSeedGivesOneSequence) {
  Backoff one({.seed = 7});
  Backoff other({.seed = 7});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(one.next(), other.next());
}

TEST(RedisBackoff, AnAnswerMakesTheNextFailureTheFirst) {
  Backoff backoff({.first_for = 10ms, .longest_for = 1s});
  for (int i = 0; i < 8; ++i) static_cast<void>(backoff.next());
  EXPECT_GE(backoff.next(), 1s);
  backoff.succeeded();
  EXPECT_LE(backoff.next(), 15ms);
}

TEST(RedisBackoff, SpansThatMakeNoSenseAreRefused) {
  EXPECT_THROW(Backoff({.first_for = 0ms}), std::invalid_argument);
  EXPECT_THROW(Backoff({.first_for = 2s, .longest_for = 1s}), std::invalid_argument);
  EXPECT_THROW(Backoff({.longest_for = 25h}), std::invalid_argument);
}

}  // namespace
}  // namespace weir::redis
