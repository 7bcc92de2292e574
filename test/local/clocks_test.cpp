#include "weir/local/clocks.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <type_traits>

namespace weir {
namespace {

using namespace std::chrono_literals;

static_assert(std::is_trivially_copyable_v<TscClock> && std::is_empty_v<TscClock>);
static_assert(std::is_trivially_copyable_v<TickClock> && sizeof(TickClock) == sizeof(void*));

constexpr SteadyInstant start{1h};

template <typename Clock>
class RealClock : public testing::Test {};
using RealClocks = testing::Types<SteadyClock, TscClock, CoarseClock>;
TYPED_TEST_SUITE(RealClock, RealClocks);

TYPED_TEST(RealClock, NeverGoesBackOverTenMillionReadings) {
  const TypeParam clock;
  SteadyInstant last{};
  for (int at = 0; at < 10'000'000; ++at) {
    const SteadyInstant now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
}

/// What the machine does between two readings cannot put one out of the bracket of its neighbours.
TYPED_TEST(RealClock, TellsTheTimeOfTheSteadyClock) {
  constexpr bool coarse = std::is_same_v<TypeParam, CoarseClock>;
  constexpr auto late = coarse ? 100ms : 1ms;
  constexpr auto early = coarse ? 0us : 50us;
  const TypeParam clock;
  constexpr bool in_lines = std::is_same_v<TypeParam, TscClock>;  // three of them
  const SteadyInstant end = SteadyClock{}.now() + (in_lines ? 1'300ms : 20ms);
  SteadyInstant before{};
  while (before < end) {
    before = SteadyClock{}.now();
    const SteadyInstant now = clock.now();
    const SteadyInstant after = SteadyClock{}.now();
    ASSERT_GE(now, before - late);
    ASSERT_LE(now, after + early);
  }
}

TEST(PublishedTime, StandsStillUntilItIsPublishedAgain) {
  const SteadyInstant before = SteadyClock{}.now();
  PublishedTime time;
  const TickClock clock(time);
  const SteadyInstant first = clock.now();
  EXPECT_GE(first, before);
  while (SteadyClock{}.now() < first + 1ms) EXPECT_EQ(clock.now(), first);
  time.publish();
  EXPECT_GE(clock.now(), first + 1ms);
  EXPECT_LE(clock.now(), SteadyClock{}.now());
}

TEST(PublishedTick, PublishesTheTimeUntilItEnds) {
  for (const auto period : {0us, 500us, 1'000'000us}) {
    const PublishedTick tick(period);
    const TickClock clock(tick);
    const SteadyInstant first = clock.now();
    const SteadyInstant deadline = first + 60s;
    SteadyInstant now = first;
    for (int seen = 0; seen < 3 && SteadyClock{}.now() < deadline;) {
      std::this_thread::yield();
      const SteadyInstant next = clock.now();
      ASSERT_GE(next, now);
      ASSERT_LE(next, SteadyClock{}.now());
      if (next != now) ++seen;
      now = next;
    }
    EXPECT_GT(now, first) << period.count();
  }
}

TEST(ManualClock, TellsWhatWasSet) {
  ManualTime time(start);
  const ManualClock clock(time);
  const ManualClock copy = clock;
  EXPECT_EQ(clock.now(), start);
  time.advance(1'500ns);
  EXPECT_EQ(copy.now(), start + 1'500ns);
  time.set(start - 1s);
  EXPECT_EQ(clock.now(), start - 1s);
}

}  // namespace
}  // namespace weir
