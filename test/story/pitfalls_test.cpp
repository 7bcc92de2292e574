// Faults that were seen in other limiters, each by the witness that showed it.
#include <algorithm>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "test/story/face.hpp"
#include "weir/algorithm/pacer.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

class Pitfalls : public FaceStory {
 protected:
  static ManualBucket::Settings a_second(Cost count, Cost burst) {
    return {.count = count, .period = 1s, .burst = burst};
  }
};

/// x/time/rate reads the clock before it takes its lock: 512 callers got 70 times the bound.
TEST_F(Pitfalls, ReadingsInAnyOrderMintNothing) {
  std::mt19937_64 random(1);
  for (const std::size_t callers : {2U, 8U, 64U, 512U}) {
    at(0s);
    ManualBucket bucket(a_second(100'000, 100'000), clock());
    EXPECT_TRUE(bucket.try_acquire(100'000));
    Cost granted = 0;
    Time newest{};
    std::vector<Time> readings(callers);
    for (Time begin = 0s; begin < 3s; begin += 2us * callers) {
      for (std::size_t caller = 0; caller < callers; ++caller) {
        readings[caller] = newest = begin + 2us * caller;
      }
      std::shuffle(readings.begin(), readings.end(), random);
      for (const Time reading : readings) {
        granted += bucket.try_acquire(1, instant(reading)) ? 1 : 0;
      }
    }
    EXPECT_LE(granted, newest / 10us + 1) << callers;
    EXPECT_GE(granted, newest / 10us * 99 / 100) << callers;
  }
}

/// Sentinel asks and then counts: 1.28 times as many with two threads.
TEST_F(Pitfalls, AskingIsTaking) {
  ManualBucket bucket(a_second(1, 10'000), clock());
  auto log = AnyLimiter::of("sliding-log 10000/1h", clock());
  Cost of_bucket[2] = {};
  Cost of_log[2] = {};
  const auto ask = [&](int thread) {
    of_bucket[thread] = grants(bucket, 10'000);
    of_log[thread] = grants(log, 10'000);
  };
  std::thread other(ask, 1);
  ask(0);
  other.join();
  EXPECT_EQ(of_bucket[0] + of_bucket[1], 10'000);
  EXPECT_EQ(of_log[0] + of_log[1], 10'000);
}

/// x/time/rate: at 10 and 13 a second the first call was refused for 0.9999999999997 of a token.
TEST_F(Pitfalls, AUnitIsWholeWhenItsTimeHasCome) {
  for (Cost rate = 1; rate <= 1'000; ++rate) {
    ManualBucket bucket(a_second(rate, 1), clock());
    EXPECT_TRUE(bucket.try_acquire());
    for (Cost unit = 1; unit <= 20; ++unit) {
      const Time due{(unit * 1'000'000'000 + rate - 1) / rate};
      auto turn = bucket.reserve();
      ASSERT_LE(since(turn.ready_at()), due) << rate;
      ASSERT_GE(since(turn.ready_at()), due - 1ns) << rate;
      turn.commit();
    }
  }
}

TEST_F(Pitfalls, WhoCallsAtThePaceItselfIsGrantedEachTime) {
  for (const Cost rate : {1, 2, 5, 10, 100, 1'000, 15'625, 1'000'000, 1'000'000'000}) {
    for (const Time start : {0ns, 1ns, 123'456'789ns}) {
      at(start);
      ManualBucket bucket(a_second(rate, 1), clock());
      for (int call = 0; call < 1'000; ++call) {
        ASSERT_TRUE(bucket.try_acquire()) << rate << ", call " << call;
        pass(Time{1s} / rate);
      }
    }
  }
}

/// governor: 6e8 a second were 1e9, 3e8 were 3.33e8. rigtorp: 1.5e9 were unlimited.
TEST_F(Pitfalls, NoRateIsBentToWholeNanoseconds) {
  for (const Cost rate : {900'000, 1'500'000, 14'000'000, 300'000'000, 600'000'000, 999'999'999}) {
    at(0s);
    ManualBucket bucket(a_second(rate, 10'000), clock());
    EXPECT_TRUE(bucket.try_acquire(10'000));
    Cost granted = 0;
    for (; now() < 1s; pass(10us - 3ns)) granted += bucket.drain(10'000);
    at(1s);
    granted += bucket.drain(10'000);
    EXPECT_EQ(granted, rate);
  }
  EXPECT_THROW(ManualBucket(a_second(1'500'000'000, 1), clock()), std::invalid_argument);
}

/// Guava counts whole microseconds: 9e5 a second were 1e6, and 1.5e6 unlimited. Sentinel counts
/// milliseconds.
TEST_F(Pitfalls, NoRateIsBentToWholeMicroseconds) {
  for (const Cost rate : {900'000, 1'500'000, 14'000'000, 1'000'000'000}) {
    at(0s);
    Typed<Pacer> pacer({.count = rate, .period = 1s, .slack = 0}, clock());
    const Cost calls = 1'000;
    const Cost cost = rate / calls;
    for (Cost call = 0; call < calls; ++call) acquire(pacer, cost);
    EXPECT_EQ(since(pacer.peek().outcome.ready_at), 1s) << rate;
  }
}

/// failsafe: a debt of 5, a second of rest, and 195 at once. bucket4j: 12 hours overflowed.
TEST_F(Pitfalls, ARestNeverFillsMoreThanTheBurst) {
  for (const Time rest : {Time{1s}, Time{12h}, Time{24h * 365 * 15}}) {
    at(0s);
    ManualBucket bucket({.count = 10, .period = 50ms, .burst = 10}, clock());
    auto taken = bucket.reserve(10);
    auto debt = bucket.reserve(5);
    debt.commit();
    taken.commit();
    pass(rest);
    EXPECT_EQ(bucket.drain(1'000'000), 10);
    auto log = AnyLimiter::of("10/1s", clock());
    EXPECT_TRUE(log.try_acquire(10));
    pass(rest);
    EXPECT_EQ(log.drain(1'000'000), 10);
  }
}

/// x/time/rate: a wait at 1e-10 a second overflowed, and the limiter stood open.
TEST_F(Pitfalls, ANumberThatCannotBeKeptIsRefused) {
  const auto error = [](const ManualBucket::Settings& settings) {
    return AtomicWord::configure(settings).error();
  };
  constexpr Cost most = std::numeric_limits<Cost>::max();
  EXPECT_EQ(error({.count = 1, .period = Time::max(), .burst = 1}), ConfigError::too_long);
  EXPECT_EQ(error({.count = 1, .period = 1s, .burst = most}), ConfigError::too_long);
  EXPECT_EQ(error({.count = most, .period = 1s, .burst = 1}), ConfigError::too_fast);
  EXPECT_EQ(error({.count = 1, .period = -1s, .burst = 1}), ConfigError::not_positive);
}

/// seastar: rate times rest overflowed. Ours has no such product, whatever the clock says.
TEST_F(Pitfalls, ALongRestAtTheHighestRateFillsTheBucket) {
  ManualBucket bucket(a_second(1'000'000'000, 1'000'000), clock());
  for (int rest = 0; rest < 5; ++rest) {
    EXPECT_EQ(bucket.drain(2'000'000), 1'000'000);
    pass(24h * 365 * 5);
  }
}

/// resilience4j: at a limit of 2e9 the third reservation of 1.5e9 was promised a second too early.
TEST_F(Pitfalls, LargeReservationsAddUp) {
  ManualBucket bucket(a_second(1'000'000'000, 2'000'000'000), clock());
  for (const Time wanted : {0ms, 1000ms, 2500ms, 4000ms}) {
    auto turn = bucket.reserve(1'500'000'000);
    EXPECT_EQ(since(turn.ready_at()), wanted);
    turn.commit();
  }
}

/// rocksdb: credit from times without a limit outlived the cut of the rate.
TEST_F(Pitfalls, NoCreditOutlivesACutOfTheRate) {
  ManualBucket bucket(ManualBucket::Settings::unlimited(), clock());
  EXPECT_TRUE(bucket.try_acquire(1'000'000'000'000));
  bucket.reconfigure(a_second(10, 5));
  EXPECT_EQ(bucket.drain(1'000'000), 5);
  ManualBucket rich(a_second(1'000'000'000, 1'000'000'000'000), clock());
  rich.reconfigure(a_second(10, 5));
  EXPECT_EQ(rich.drain(1'000'000'000'000), 5);
}

/// seastar: a wait that was cut off to none made callers spin, and the rate too high.
TEST_F(Pitfalls, AWaitIsNeverCutOffToNone) {
  for (const Cost rate : {3, 7, 999, 333'333'333, 999'999'999}) {
    at(0s);
    ManualBucket bucket(a_second(rate, 1), clock());
    for (int call = 0; call < 100; ++call) {
      EXPECT_TRUE(bucket.try_acquire());
      const Outcome refused = bucket.try_acquire();
      ASSERT_FALSE(refused);
      ASSERT_GT(refused.ready_at, instant(now()));
      pass(refused.wait(instant(now())));
    }
  }
}

/// Envoy's fill by a timer gave 2500 of 3000, bbeck's bucket 91 %.
TEST_F(Pitfalls, AllThatWasEarnedIsGranted) {
  ManualBucket bucket(a_second(3'000, 3'000), clock());
  auto text = AnyLimiter::of("3k/s", clock());
  EXPECT_EQ(bucket.drain(3'000) + text.drain(3'000), 6'000);
  Cost granted = 0;
  Cost of_text = 0;
  for (int look = 0; look < 7; ++look) {  // whenever somebody looks, and not by a timer
    pass(Time{1s} / 7);
    granted += bucket.drain(3'000);
    of_text += text.drain(3'000);
  }
  at(1s);
  EXPECT_EQ(granted + bucket.drain(3'000), 3'000);
  EXPECT_EQ(of_text + text.drain(3'000), 3'000);
}

/// Sentinel divided 0.2 a second by zero, Guava's warm-up of nothing was unlimited.
TEST_F(Pitfalls, ARateBelowOneIsARate) {
  ManualBucket bucket({.count = 1, .period = 5s, .burst = 1}, clock());
  EXPECT_EQ(grants(bucket, 9), 1);
  at(5s - 1ns);
  EXPECT_EQ(grants(bucket, 9), 0);
  at(5s);
  EXPECT_EQ(grants(bucket, 9), 1);
  auto text = AnyLimiter::of("1/5s", clock());
  EXPECT_EQ(grants(text, 9), 1);
  pass(5s);
  EXPECT_EQ(grants(text, 9), 1);
}

/// uber: one caller at 1e5 a second, always woken 70 us late, got 12 % of the rate. A burst that is
/// longer than the lateness makes up for it; without one a waiter wakes early (WakeUps) and yields.
TEST_F(Pitfalls, ABurstMakesUpForLateWakeUps) {
  ManualBucket bucket(a_second(100'000, 100), clock());
  EXPECT_EQ(bucket.drain(100), 100);
  Cost taken = 0;
  for (; now() < 1s; ++taken) {
    if (acquire(bucket) > 0ns) pass(70us);
  }
  EXPECT_GE(taken, 99'900);
  EXPECT_LE(taken, 100'000 + 1);
}

/// .NET counted milliseconds in 32 bits, which wrap after 49.7 days.
TEST_F(Pitfalls, NoClockWrapsWhileAnybodyCares) {
  ManualBucket bucket(a_second(1, 3), clock());
  const Time wraps_at = std::chrono::milliseconds{std::int64_t{1} << 32};
  EXPECT_EQ(grants(bucket, 9), 3);
  at(wraps_at - 1s);
  EXPECT_EQ(grants(bucket, 9), 3);
  at(wraps_at);
  EXPECT_EQ(grants(bucket, 9), 1);
  at(wraps_at + 1s);
  EXPECT_EQ(grants(bucket, 9), 1);
}

/// .NET refills one part for each tick of a timer, however late it rings.
TEST_F(Pitfalls, NoTimerRefills) {
  auto window = AnyLimiter::of("sliding-window 100/1s parts 10", clock());
  EXPECT_EQ(window.drain(100), 100);
  pass(1h);
  EXPECT_EQ(window.drain(100), 100);
}

/// leaky-bucket: a place given up wrote an old state back, and nobody was served any more.
TEST_F(Pitfalls, PlacesGivenUpLeaveTheLimiterUsable) {
  ManualBucket bucket(a_second(10, 1), clock());
  std::mt19937_64 random(1);
  for (int round = 0; round < 1'000; ++round) {
    std::vector<ManualBucket::Reservation> held;
    for (int place = 0; place < 5; ++place) held.push_back(bucket.reserve());
    std::shuffle(held.begin(), held.end(), random);
    static_cast<void>(bucket.try_acquire());
    while (!held.empty()) held.pop_back();
    pass(600ms);
    ASSERT_EQ(grants(bucket, 9), 1);
    pass(100ms);
    ASSERT_EQ(grants(bucket, 9), 1);
  }
}

// What an adversary gets of each algorithm in any window of the length of its period, 100 in each.

class Worst : public FaceStory {
 protected:
  /// All that is there just before `first`, and all that is there just before one period later.
  template <typename Limiter>
  Cost in_a_window(Limiter& limiter, Time first) {
    at(first - 1us);
    const Cost before = limiter.drain(1'000);
    Cost after = 0;
    for (at(first); now() < first + 1s - 1us; pass(1ms)) after += limiter.drain(1'000);
    at(first + 1s - 2us);
    return before + after + limiter.drain(1'000);
  }
};

TEST_F(Worst, OfAFixedWindowTwiceTheLimit) {
  auto limiter = AnyLimiter::of("fixed-window 100/s", clock());
  EXPECT_EQ(in_a_window(limiter, 10s), 200);
}

TEST_F(Worst, OfASlidingWindowTheLimit) {
  for (const char* text : {"sliding-window 100/s parts 1", "sliding-window 100/s parts 2",
                           "sliding-window 100/s parts 10"}) {
    for (Time first = 10s; first < 11s; first += 50ms) {
      auto limiter = AnyLimiter::of(text, clock());
      EXPECT_LE(in_a_window(limiter, first), 100) << text;
    }
  }
}

TEST_F(Worst, OfALogTheLimit) {
  auto limiter = AnyLimiter::of("sliding-log 100/s", clock());
  EXPECT_EQ(in_a_window(limiter, 10s), 100);
}

TEST_F(Worst, OfABucketItsBurstAndOnePeriodLessAUnit) {
  ManualBucket limiter({.count = 100, .period = 1s, .burst = 100}, clock());
  EXPECT_EQ(in_a_window(limiter, 10s), 199);
  auto text = AnyLimiter::of("100/s", clock());
  EXPECT_EQ(in_a_window(text, 20s), 199);
}

TEST_F(Worst, StrictlyNoMoreIsABucketOfHalfABurstAndHalfARate) {
  ManualBucket limiter({.count = 50, .period = 1s, .burst = 50}, clock());
  EXPECT_LE(in_a_window(limiter, 10s), 100);
}

TEST_F(Worst, OfAQueueOneMoreThanItsPace) {
  auto limiter = AnyLimiter::of("leaky-bucket 10/s queue 99", clock());
  int acting = 0;
  for (int place = 0; place < 100; ++place) {
    auto turn = limiter.reserve();
    acting += since(turn.ready_at()) <= 1s ? 1 : 0;
    turn.commit();
  }
  EXPECT_EQ(acting, 11);
}

TEST_F(Worst, OfAPacerItsSlackAndOneMore) {
  Typed<Pacer> limiter({.count = 100, .period = 1s, .slack = 10}, clock());
  at(10s);
  int acting = 0;
  for (int call = 0; call < 200; ++call) {
    auto turn = limiter.reserve();
    acting += since(turn.ready_at()) <= 11s ? 1 : 0;
    turn.commit();
  }
  EXPECT_EQ(acting, 100 + 10 + 1);
}

TEST_F(Worst, WhereTheNextCallerPaysOneArbitraryCost) {
  Typed<Pacer> limiter({.count = 100, .period = 1s, .slack = 100}, clock());
  at(10s);
  EXPECT_EQ(acquire(limiter, 100), 0s);
  at(11s - 1us);
  EXPECT_EQ(acquire(limiter, 99), 0s);
  EXPECT_TRUE(limiter.try_acquire(1'000'000));
  EXPECT_FALSE(limiter.try_acquire());
}

}  // namespace
}  // namespace weir
