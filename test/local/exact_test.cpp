// The token bucket in one word is exact: its rate, its burst and its instants.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <limits>
#include <random>

#include "weir/local/limiter.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

using Bucket = BasicLimiter<AtomicWord, ManualClock>;
using AnyLimit = BasicLimiter<LimitState, ManualClock>;

constexpr SteadyInstant start{1'000s};
constexpr auto century = 24h * 36'525;

/// Whole numbers of any size, small ones as often as large ones.
class Sizes {
 public:
  explicit Sizes(std::uint64_t seed) : random_(seed) {}
  std::int64_t up_to(std::int64_t most) {
    const auto bits =
        random_() % static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(most)));
    return std::min<std::int64_t>(1 + static_cast<std::int64_t>(random_() >> (63 - bits)), most);
  }

 private:
  std::mt19937_64 random_;
};

TEST(ABucketsRate, IsHeldToAMillionthOverAnHour) {
  struct Rate {
    Cost count;
    nanoseconds period;
  };
  for (const Rate rate : {Rate{1'000'000'000, 1s}, Rate{999'999'937, 1s}, Rate{333'333'333, 1s},
                          Rate{1'000'003, 1s}, Rate{7, 1us}, Rate{1, 1ns}, Rate{2'999'999'999, 3s},
                          Rate{1'000'000, 999'999'937ns}, Rate{123'456, 1s}, Rate{1'000, 1s}}) {
    // As much as comes in 20 ms, taken every 10 ms, so that none overflows.
    const long double in_ns =
        static_cast<long double>(rate.count) / static_cast<long double>(rate.period.count());
    const Cost burst = 1 + static_cast<Cost>(in_ns * 2e7L);
    constexpr nanoseconds step{10'000'019};
    ManualTime time(start);
    Bucket bucket({.count = rate.count, .period = rate.period, .burst = burst}, ManualClock(time));
    EXPECT_EQ(bucket.drain(burst), burst);
    Cost taken = 0;
    while (time.now() < start + 1h) {
      time.advance(step);
      taken += bucket.drain(std::numeric_limits<Cost>::max());
    }
    const long double due = in_ns * static_cast<long double>((time.now() - start).count());
    EXPECT_LE(static_cast<long double>(taken), due + 1) << rate.count;
    EXPECT_GE(static_cast<long double>(taken), due * (1 - 1e-6L) - 1) << rate.count;
  }
}

TEST(ABucketsRate, IsHeldOverAnHourByWhoAsksAtThePromisedInstants) {
  // Each asks at the instant that the refusal before it named.
  for (const Cost count : {1'000'000'000, 999'999'937, 750'000'000, 3'000'000, 999'983, 7}) {
    ManualTime time(start);
    const Cost cost = std::max<Cost>(1, count / 97);
    Bucket bucket({.count = count, .period = 1s, .burst = cost}, ManualClock(time));
    Cost granted = 0;
    for (;;) {
      const Outcome outcome = bucket.try_acquire(cost);
      if (outcome) {
        granted += cost;
        continue;
      }
      if (outcome.ready_at > start + 1h) break;
      time.set(outcome.ready_at);
    }
    const auto due = static_cast<long double>(count) * 3'600 + static_cast<long double>(cost);
    EXPECT_LE(static_cast<long double>(granted), due + 1) << count;
    EXPECT_GE(static_cast<long double>(granted), due * (1 - 1e-6L) - static_cast<long double>(cost))
        << count;
  }
}

/// A rate and a burst that make a bucket.
AtomicWord::Settings drawn(Sizes& sizes) {
  for (;;) {
    AtomicWord::Settings settings{.count = sizes.up_to(1'000'000'000),
                                  .period = nanoseconds{sizes.up_to(nanoseconds(24h).count())},
                                  .burst = sizes.up_to(std::int64_t{1} << 40)};
    if (AtomicWord::configure(settings).has_value()) return settings;
  }
}

TEST(AFullBucket, HandsOutExactlyItsBurst) {
  Sizes sizes(1);
  for (int bucket_at = 0; bucket_at < 20'000; ++bucket_at) {
    const AtomicWord::Settings settings = drawn(sizes);
    ManualTime time(SteadyInstant{nanoseconds{sizes.up_to(nanoseconds(24h * 365).count())}});
    Bucket bucket(settings, ManualClock(time));
    Cost left = settings.burst;
    for (int part = 0; part < 5 && left > 1; ++part) {
      const Cost cost = sizes.up_to(left - 1);
      ASSERT_TRUE(bucket.try_acquire(cost)) << settings.count << " " << settings.burst;
      left -= cost;
      ASSERT_EQ(bucket.peek().remaining, left);
    }
    ASSERT_FALSE(bucket.try_acquire(left + 1));
    ASSERT_TRUE(bucket.try_acquire(left)) << settings.count << " " << settings.burst;
    ASSERT_FALSE(bucket.try_acquire(1)) << settings.count << " " << settings.burst;
    // And again after a rest for as long as it takes to fill, to the nanosecond.
    const SteadyInstant full = bucket.try_acquire(settings.burst).ready_at;
    time.set(full - 1ns);
    ASSERT_FALSE(bucket.try_acquire(settings.burst));
    time.set(full);
    ASSERT_TRUE(bucket.try_acquire(settings.burst));
    ASSERT_FALSE(bucket.try_acquire(1));
  }
}

TEST(ABucketsPromise, IsKeptToTheNanosecond) {
  Sizes sizes(2);
  std::size_t promises = 0;
  while (promises < 200'000) {
    const AtomicWord::Settings settings = drawn(sizes);
    ManualTime time(SteadyInstant{nanoseconds{sizes.up_to(nanoseconds(24h * 365).count())}});
    Bucket bucket(settings, ManualClock(time));
    const Cost most = std::min<Cost>(settings.burst, 1'000'000'000);
    static_cast<void>(bucket.drain(std::numeric_limits<Cost>::max()));
    for (int call = 0; call < 20; ++call) {
      time.advance(nanoseconds{sizes.up_to(1'000)});
      const Cost cost = sizes.up_to(most);
      const Outcome told = bucket.try_acquire(cost);
      if (told) continue;
      if (told.ready_at > start + 24h * 365 * 30) break;  // no process runs for longer
      ++promises;
      ASSERT_EQ(bucket.peek(cost).outcome, told);
      ASSERT_GT(told.ready_at, time.now());
      ASSERT_EQ(bucket.try_acquire(cost, told.ready_at - 1ns).ready_at, told.ready_at)
          << settings.count << " in " << settings.period.count() << " burst " << settings.burst;
      time.set(told.ready_at);
      const Outcome kept{Verdict::granted, Refusal::none, told.ready_at};
      ASSERT_EQ(bucket.try_acquire(cost), kept)
          << settings.count << " in " << settings.period.count() << " burst " << settings.burst;
    }
  }
}

TEST(AnyLimitsPromise, IsKeptToTheNanosecond) {
  Sizes sizes(3);
  std::size_t promises = 0;
  for (const char* text :
       {"7/3ms burst 4", "1M/1s burst 3", "leaky-bucket 7/3ms queue 5", "fixed-window 3/7ms",
        "sliding-window 6/70ms parts 3", "sliding-log 3/7ms", "10/1s burst 3 & 20/1m"}) {
    ManualTime time(start + 333ns);
    AnyLimit limiter = AnyLimit::of(text, ManualClock(time));
    for (int call = 0; call < 3'000; ++call) {
      time.advance(nanoseconds{sizes.up_to(1'000'000)});
      const Outcome told = limiter.try_acquire(1);
      if (told) continue;
      ++promises;
      ASSERT_EQ(limiter.try_acquire(1, told.ready_at - 1ns).ready_at, told.ready_at) << text;
      time.set(told.ready_at);
      ASSERT_TRUE(limiter.try_acquire(1)) << text;
    }
  }
  EXPECT_GT(promises, 5'000u);
}

TEST(AReservationsInstant, IsTheOneAtWhichItsUnitsAreThere) {
  Sizes sizes(4);
  for (int at = 0; at < 20'000; ++at) {
    const AtomicWord::Settings settings = drawn(sizes);
    ManualTime time(start);
    Bucket bucket(settings, ManualClock(time));
    static_cast<void>(bucket.drain(std::numeric_limits<Cost>::max()));
    const Cost cost = sizes.up_to(settings.burst);
    const Outcome refused = bucket.try_acquire(cost);
    auto reservation = bucket.reserve(cost);
    ASSERT_EQ(reservation.ready_at(), refused.ready_at);
    ASSERT_FALSE(bucket.reserve(1, reservation.ready_at() - start - 1ns));
    ASSERT_EQ(reservation.cancel(), cost);
    ASSERT_EQ(bucket.try_acquire(cost).ready_at, refused.ready_at);
    ASSERT_EQ(bucket.waiting(), 0u);
  }
}

TEST(TheCorners, OfABucketAreExact) {
  constexpr Cost largest = TickScale::longest.count();
  const std::array corners{
      AtomicWord::Settings{.count = 1'000'000'000, .period = 1s, .burst = 1},
      AtomicWord::Settings{.count = 1'000'000'000, .period = 1s, .burst = largest},
      AtomicWord::Settings{.count = 1, .period = 24h * 365, .burst = 1},
      AtomicWord::Settings{.count = 1, .period = 24h * 365, .burst = 15},
      AtomicWord::Settings{.count = 3, .period = 24h * 365 * 15, .burst = 3},
      AtomicWord::Settings{.count = 999'999'999, .period = 1s, .burst = 5}};
  for (const AtomicWord::Settings& settings : corners) {
    for (const nanoseconds begin :
         {nanoseconds{0}, nanoseconds{1}, nanoseconds{1'000s}, nanoseconds(24h * 365 * 30)}) {
      ManualTime time{SteadyInstant{begin}};
      Bucket bucket(settings, ManualClock(time));
      EXPECT_EQ(bucket.peek().limit, settings.burst);
      EXPECT_EQ(bucket.peek().remaining, settings.burst);
      EXPECT_EQ(bucket.try_acquire(settings.burst + 1).verdict, Verdict::impossible);
      EXPECT_EQ(bucket.try_acquire(std::numeric_limits<Cost>::max()).verdict, Verdict::impossible);
      EXPECT_EQ(bucket.try_acquire(0).verdict, Verdict::granted);
      ASSERT_TRUE(bucket.try_acquire(settings.burst)) << settings.burst << " " << begin.count();
      const Outcome one = bucket.try_acquire(1);
      ASSERT_FALSE(one);
      EXPECT_FALSE(bucket.try_acquire(1, one.ready_at - 1ns));
      EXPECT_TRUE(bucket.try_acquire(1, one.ready_at));
    }
  }
}

TEST(TheCorners, OfTimeMintNothing) {
  ManualTime time(start);
  Bucket bucket({.count = 10, .period = 1s, .burst = 10}, ManualClock(time));
  EXPECT_EQ(bucket.drain(10), 10);
  for (const SteadyInstant now : {start, SteadyInstant{}, SteadyInstant{-5s}, start - 1s,
                                  SteadyInstant::min(), start + 99ms}) {
    time.set(now);
    EXPECT_FALSE(bucket.try_acquire(1)) << now.time_since_epoch().count();
    EXPECT_EQ(bucket.peek().remaining, 0);
    EXPECT_EQ(bucket.drain(10), 0);
  }
  time.set(start + 100ms);
  EXPECT_TRUE(bucket.try_acquire(1));
  EXPECT_FALSE(bucket.try_acquire(1));
}

TEST(TheCorners, OfAnyLimitsTimeMintNothing) {
  for (const char* text : {"10/1s", "leaky-bucket 10/1s", "fixed-window 10/1s",
                           "sliding-window 10/1s", "sliding-log 10/1s"}) {
    ManualTime time(start);
    AnyLimit limiter = AnyLimit::of(text, ManualClock(time));
    while (limiter.try_acquire(1)) {
    }
    for (const SteadyInstant now : {start, SteadyInstant{}, SteadyInstant{-5s}, start - 1s,
                                    SteadyInstant::min(), start + 50ms}) {
      time.set(now);
      EXPECT_FALSE(limiter.try_acquire(1)) << text << " " << now.time_since_epoch().count();
      EXPECT_EQ(limiter.drain(10), 0) << text;
    }
  }
}

TEST(ABucketNearACentury, KeepsItsPromises) {
  ManualTime time{SteadyInstant{nanoseconds(century) - 24h * 365}};
  Bucket bucket({.count = 1'000, .period = 1s, .burst = 1'000}, ManualClock(time));
  for (int day = 0; day < 364; ++day) {
    ASSERT_EQ(bucket.drain(5'000), 1'000) << day;
    const Outcome told = bucket.try_acquire(1'000);
    time.set(told.ready_at);
    ASSERT_TRUE(bucket.try_acquire(1'000)) << day;
    auto reservation = bucket.reserve(10);
    ASSERT_EQ(reservation.ready_at(), time.now() + 10ms);
    time.advance(24h);
  }
}

}  // namespace
}  // namespace weir
