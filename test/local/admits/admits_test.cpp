// Never above the bound, whatever many threads' clocks tell: each reads a clock of its own, off by
// an offset that jumps, and uses the reading late.
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <latch>
#include <random>
#include <thread>
#include <vector>

#include "test/local/admits/crowd.hpp"
#include "weir/local/limiter.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// What one thread, or all of them, used and got.
struct Used {
  SteadyInstant least = SteadyInstant::max();
  SteadyInstant greatest = SteadyInstant::min();
  Cost admitted = 0;
  std::size_t asked = 0;

  void add(const Used& other) {
    least = std::min(least, other.least);
    greatest = std::max(greatest, other.greatest);
    admitted += other.admitted;
    asked += other.asked;
  }
};

/// Asks with readings of `clock` that are off by up to 3 ms, until `until` by its true time.
template <typename Limited, typename Clock>
Used hammer(Limited& limiter, const Clock& clock, std::uint64_t seed, SteadyInstant until) {
  std::mt19937_64 random(seed);
  const auto any = [&](std::int64_t most) {
    return nanoseconds{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most))};
  };
  Used used;
  nanoseconds offset = any(6'000'000) - 3ms;
  for (;;) {
    const SteadyInstant now = clock.now();
    if (now >= until) return used;
    if (random() % 16 == 0) offset = any(6'000'000) - 3ms;
    const SteadyInstant reading = now + offset - any(random() % 4 == 0 ? 1'000'000 : 1'000);
    if (random() % 8 == 0) std::this_thread::yield();  // the reading grows old meanwhile
    used.least = std::min(used.least, reading);
    used.greatest = std::max(used.greatest, reading);
    ++used.asked;
    const Cost cost = static_cast<Cost>(random() % 3);
    if (limiter.try_acquire(cost, reading)) used.admitted += cost;
    if (random() % 256 == 0) static_cast<void>(limiter.peek(1, reading));
    if (random() % 512 == 0) {
      auto reservation = limiter.reserve(1, nanoseconds{0}, reading);
      if (reservation) {
        used.admitted += reservation.cost();
        reservation.commit(1, reading);
      }
    }
  }
}

template <typename Limited, typename Clock>
Used hammer_all(Limited& limiter, const Clock& clock) {
  std::vector<Used> of_threads(crowd.threads);
  std::latch ready(static_cast<std::ptrdiff_t>(crowd.threads));
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < crowd.threads; ++at) {
    threads.emplace_back([&, at] {
      ready.arrive_and_wait();
      of_threads[at] = hammer(limiter, clock, at + 1, clock.now() + crowd.length);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Used all;
  for (const Used& used : of_threads) all.add(used);
  std::cout << crowd.threads << " threads, " << all.asked << " requests, " << all.admitted
            << " units in " << (all.greatest - all.least).count() / 1'000 << " us\n";
  return all;
}

class AnyLimitUnderManyThreads : public testing::TestWithParam<const char*> {};

TEST_P(AnyLimitUnderManyThreads, AdmitsNoMoreThanItsBound) {
  const Limit limit = Limit::parse(GetParam()).value();
  BasicLimiter<LimitState, SteadyClock> limiter(limit);
  const Used used = hammer_all(limiter, SteadyClock());
  const Span length = std::chrono::ceil<Span>(used.greatest - used.least) + Span{1};
  EXPECT_LE(used.admitted, Limit::Machine::bound(limit.config(), length, 2));
  EXPECT_GE(used.admitted, Limit::Machine::capacity(limit.config()));
}

INSTANTIATE_TEST_SUITE_P(Of, AnyLimitUnderManyThreads,
                         testing::Values("100/1ms burst 50", "leaky-bucket 70/3ms queue 20",
                                         "fixed-window 300/2ms", "sliding-window 400/4ms",
                                         "sliding-log 500/3ms",
                                         "1000/10ms burst 50 & sliding-log 800/8ms"));

template <typename Clock>
class ATokenBucketUnderManyThreadsBy : public testing::Test {};
using Clocks = testing::Types<SteadyClock, TscClock, CoarseClock>;
TYPED_TEST_SUITE(ATokenBucketUnderManyThreadsBy, Clocks);

TYPED_TEST(ATokenBucketUnderManyThreadsBy, AdmitsExactlyWhatOneThreadWouldGet) {
  const AtomicWord::Settings settings{.count = 1'000'003, .period = 1s, .burst = 5'000'000};
  const TypeParam clock;
  const SteadyInstant begin = clock.now() - 1s;
  BasicLimiter<AtomicWord, TypeParam> bucket(settings, clock);
  ASSERT_EQ(bucket.drain(settings.burst, begin), settings.burst);
  Used used;
  used.admitted += bucket.drain(settings.burst, begin + 1ms);
  BasicLimiter<AtomicWord, TypeParam> alone(settings, clock);
  ASSERT_EQ(alone.drain(settings.burst, begin), settings.burst);
  Cost expected = alone.drain(settings.burst, begin + 1ms);

  // Never full from here on, 5 s being long: all that comes is handed out, once.
  std::vector<Used> parts;
  SteadyInstant now = begin + 1ms;
  for (; now < clock.now() - 4ms; now += 1ms) {
    used.admitted += bucket.drain(settings.burst, now);
    expected += alone.drain(settings.burst, now);
  }
  used.add(hammer_all(bucket, clock));
  const SteadyInstant last = used.greatest;
  used.admitted += bucket.drain(settings.burst, last);
  for (; now < last; now += 1ms) expected += alone.drain(settings.burst, now);
  expected += alone.drain(settings.burst, last);
  EXPECT_EQ(used.admitted, expected);
  EXPECT_GT(expected, 1'000);
}

TYPED_TEST(ATokenBucketUnderManyThreadsBy, AdmitsNoMoreThanItsBoundThroughChanges) {
  const AtomicWord::Settings settings{.count = 1'000'003, .period = 1s, .burst = 500};
  BasicLimiter<AtomicWord, TypeParam> bucket(settings);
  const TypeParam clock;
  std::atomic<bool> ended{false};
  std::thread changing([&] {
    for (std::size_t change = 0; !ended; ++change) {
      AtomicWord::Settings other = settings;
      if (change % 2 == 0) other.count = 999'983;
      bucket.reconfigure(other, change % 3 == 0 ? Inherit::proportional : Inherit::as_is);
      std::this_thread::yield();
    }
  });
  const Used used = hammer_all(bucket, clock);
  ended = true;
  changing.join();
  const auto length = static_cast<double>((used.greatest - used.least).count());
  EXPECT_LE(static_cast<double>(used.admitted), 500 + length * 1'000'003 / 1e9 + 1);
  EXPECT_GE(used.admitted, settings.burst);
}

}  // namespace
}  // namespace weir
