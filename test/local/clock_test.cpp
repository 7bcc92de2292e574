#include "weir/local/clock.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weir {
namespace {

/// The two clocks of a machine, set by hand.
struct Machine {
  Span steady{5'000'000};
  Span system{1'750'000'000'000'000};

  UnixClock clock() {
    return UnixClock([this] { return steady; }, [this] { return system; });
  }
  void pass(Span time) {
    steady += time;
    system += time;
  }
};

constexpr Span second{1'000'000};

TEST(UnixClock, StartsAtTheSystemsTime) {
  Machine machine;
  const UnixClock clock = machine.clock();
  EXPECT_EQ(clock.now(), Instant{machine.system});
}

TEST(UnixClock, GoesWithTheSteadyClockBetweenAdjustments) {
  Machine machine;
  const UnixClock clock = machine.clock();
  const Instant before = clock.now();
  machine.steady += Span{1'234};
  machine.system -= 3'600 * second;
  EXPECT_EQ(clock.now(), before + Span{1'234});
}

TEST(UnixClock, FollowsASystemClockThatIsAheadAtOnce) {
  Machine machine;
  UnixClock clock = machine.clock();
  machine.pass(second);
  machine.system += 30 * second;
  clock.adjust();
  EXPECT_EQ(clock.now(), Instant{machine.system});
}

TEST(UnixClock, TakesNoDelayBetweenItsReadingsForASystemClockThatIsAhead) {
  Machine machine;
  Span held_up{0};
  UnixClock clock([&] { return machine.steady; },
                  [&] {
                    machine.pass(held_up);
                    return machine.system;
                  });
  EXPECT_EQ(clock.now(), Instant{machine.system});
  held_up = Span{50'000};
  clock.adjust();
  EXPECT_EQ(clock.now(), Instant{machine.system});
  held_up = Span{0};
  clock.adjust();
  EXPECT_EQ(clock.now(), Instant{machine.system});
}

TEST(UnixClock, StartsAtTheSystemsTimeEvenIfItIsHeldUp) {
  Machine machine;
  int readings = 0;
  const UnixClock clock([&] { return machine.steady; },
                        [&] {
                          if (++readings < 4) machine.pass(Span{50'000});
                          return machine.system;
                        });
  EXPECT_EQ(clock.now(), Instant{machine.system});
}

TEST(UnixClock, DoesNotStepBackWhenItIsAdjusted) {
  Machine machine;
  UnixClock clock = machine.clock();
  machine.pass(second);
  machine.system -= 30 * second;
  const Instant before = clock.now();
  clock.adjust();
  EXPECT_EQ(clock.now(), before);
}

TEST(UnixClock, SlewsByAThousandthToASystemClockThatIsBehind) {
  Machine machine;
  UnixClock clock = machine.clock();
  machine.system -= Span{2'500};
  clock.adjust();
  const Instant begin = clock.now();
  machine.pass(second);
  EXPECT_EQ(clock.now(), begin + second - Span{1'000});
  clock.adjust();
  machine.pass(second);
  EXPECT_EQ(clock.now(), begin + 2 * second - Span{2'000});
  machine.pass(second);  // reached after two and a half seconds, without another adjustment
  EXPECT_EQ(clock.now(), Instant{machine.system});
  machine.pass(60 * second);
  clock.adjust();
  EXPECT_EQ(clock.now(), Instant{machine.system});
}

TEST(UnixClock, ALateAdjustmentOnlySlewsLater) {
  Machine machine;
  UnixClock clock = machine.clock();
  machine.system -= second;
  machine.pass(3'600 * second);
  const Instant before = clock.now();
  clock.adjust();
  EXPECT_EQ(clock.now(), before);
  machine.pass(second);
  EXPECT_EQ(clock.now(), before + second - Span{1'000});
}

TEST(UnixClock, NeverGoesBackHoweverTheSystemClockIsSet) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::int64_t end) {
      return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random);
    };
    Machine machine;
    UnixClock clock = machine.clock();
    Instant before = clock.now();
    for (int event = 0; event < 2'000; ++event) {
      const std::int64_t kind = below(10);
      if (kind < 4) machine.pass(Span{below(3'000)});
      if (kind == 4) machine.pass(Span{below(5'000'000)});
      if (kind == 5) machine.system += Span{below(10'000) - 5'000};
      if (kind == 6 && below(10) == 0) machine.system += Span{below(7'200'000'000) - 3'600'000'000};
      if (kind > 6) clock.adjust();
      const Instant now = clock.now();
      ASSERT_GE(now, before) << "seed " << seed << ", event " << event;
      before = now;
    }
  }
}

TEST(UnixClock, OfTheMachineIsNearItsSystemClock) {
  UnixClock clock;
  clock.adjust();
  const auto system =
      std::chrono::duration_cast<Span>(std::chrono::system_clock::now().time_since_epoch());
  EXPECT_LT(std::chrono::abs(clock.now() - Instant{system}), std::chrono::seconds{10});
}

}  // namespace
}  // namespace weir
