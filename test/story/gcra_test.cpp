#include "weir/algorithm/gcra.hpp"

#include "test/story/story.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

Gcra::Config bucket(Gcra::Settings settings) { return Gcra::configure(settings).value(); }

TEST(Gcra, GrantsTheBurstThenOneUnitEachInterval) {
  // clang-format off
  expect_story<Gcra>(bucket({100, 1s, 3}), {
      // at, cost, patience, verdict, ready_at, remaining
      {0us,     3, 0us,  granted,    0us,     0},
      {0us,     1, 0us,  denied,     10ms,    0},
      {9'999us, 1, 0us,  denied,     10ms,    0},  // ready_at is exact: early fails,
      {10ms,    1, 0us,  granted,    10ms,    0},  // on the tick it holds
      {10ms,    2, 20ms, deferred,   30ms,    0},  // patience takes now and acts later
      {5ms,     1, 0us,  denied,     40ms,    0},  // a clock set back mints nothing
      {70ms,    1, 0us,  granted,    70ms,    2},  // a long rest refills, and no further
      {70ms,    4, 1h,   impossible, forever, 2},  // over the burst: never
  });
  // clang-format on
}

TEST(Gcra, DeniedWithPatienceIsReadyEarlier) {
  // clang-format off
  expect_story<Gcra>(bucket({1, 10s, 1}), {
      {0s,       1, 0us,      granted,  0s,  0},
      {0s,       1, 4s,       denied,   6s,  0},  // with that patience
      {6s - 1us, 1, 4s,       denied,   6s,  0},
      {6s,       1, 4s,       deferred, 10s, 0},
      {6s,       1, unstated, denied,   20s, 0},  // a bucket has no queue of its own
  });
  // clang-format on
}

TEST(Gcra, AProbeTellsAndTakesNothing) {
  // clang-format off
  expect_story<Gcra>(bucket({1, 1s, 5}), {
      {0s,    0, 0us, granted,  0s,    5},
      {0s,    4, 0us, granted,  0s,    1},
      {0s,    0, 0us, granted,  0s,    1},
      {500ms, 0, 0us, granted,  500ms, 1},
      {1s,    0, 0us, granted,  1s,    2},
      {1s,    5, 9s,  deferred, 4s,    0},
      {1s,    0, 0us, denied,   4s,    0},  // nobody acts before a deferred grant
      {4s,    0, 0us, granted,  4s,    0},
  });
  // clang-format on
}

TEST(Gcra, HandsOutFractionsOfATickExactly) {
  // Three in seven ticks: the interval is 2 1/3 ticks, and no third is ever lost.
  // clang-format off
  expect_story<Gcra>(bucket({3, 7us, 3}), {
      {0us,  3, 0us, granted, 0us,  0},
      {0us,  1, 0us, denied,  3us,  0},
      {3us,  1, 0us, granted, 3us,  0},
      {3us,  1, 0us, denied,  5us,  0},
      {5us,  1, 0us, granted, 5us,  0},
      {5us,  1, 0us, denied,  7us,  0},
      {7us,  1, 0us, granted, 7us,  0},
      {14us, 3, 0us, granted, 14us, 0},
  });
  // clang-format on
}

TEST(Gcra, GrantsManyUnitsATickWhereTheRateIsThatHigh) {
  // clang-format off
  expect_story<Gcra>(bucket({1'000'000'000, 1s, 5'000}), {
      {0us, 5'000, 0us, granted, 0us, 0},
      {1us, 1'000, 0us, granted, 1us, 0},
      {1us, 1,     0us, denied,  2us, 0},
      {2us, 500,   0us, granted, 2us, 500},
      {9us, 1,     0us, granted, 9us, 4'999},
  });
  // clang-format on
}

TEST(Gcra, CancelGivesBackTheCostLessWhatCameSince) {
  const auto config = bucket({1, 1s, 4});
  Gcra::State state;
  const Instant now{};
  const Request three{now, 3, {}};
  const Decision decision = step<Gcra>(config, state, three);
  const Grant grant = grant_of<Gcra>(config, state, three, decision);
  (void)step<Gcra>(config, state, {now, 1, {}});
  EXPECT_EQ(cancel<Gcra>(config, state, now, grant), 2);
  EXPECT_EQ(Gcra::room(config, state, now).remaining, 2);
  EXPECT_EQ(cancel<Gcra>(config, state, now + 1us, grant), 0);  // its instant has passed
}

TEST(Gcra, AGrantThatWasRefundedHasNothingLeftToCancel) {
  const auto config = bucket({1, 1s, 4});
  Gcra::State state;
  const Instant now{};
  const Request two{now, 2, {}};
  const Decision decision = step<Gcra>(config, state, two);
  const Grant grant = grant_of<Gcra>(config, state, two, decision);
  EXPECT_EQ(Gcra::refund(config, state, now, 2), 2);
  EXPECT_EQ(cancel<Gcra>(config, state, now, grant), 0);
  EXPECT_EQ(Gcra::room(config, state, now).remaining, 4);
}

TEST(Gcra, RefundGivesBackNoMoreThanIsOwed) {
  const auto config = bucket({1, 1s, 4});
  Gcra::State state;
  (void)step<Gcra>(config, state, {Instant{}, 4, {}});
  EXPECT_EQ(Gcra::refund(config, state, Instant{} + 1s, 2), 2);
  EXPECT_EQ(Gcra::room(config, state, Instant{} + 1s).remaining, 3);
  EXPECT_EQ(Gcra::refund(config, state, Instant{} + 1s, 9), 1);
  EXPECT_EQ(Gcra::room(config, state, Instant{} + 1s).remaining, 4);
  EXPECT_EQ(Gcra::refund(config, state, Instant{} + 1s, 9), 0);
}

TEST(Gcra, ARefundOfAUnitHalfRepaidMintsNothingForALateReading) {
  const auto config = bucket({1, 1s, 4});
  Gcra::State state;
  (void)step<Gcra>(config, state, {Instant{}, 1, {}});
  EXPECT_EQ(Gcra::refund(config, state, Instant{} + 500ms, 1), 1);
  EXPECT_EQ(Gcra::room(config, state, Instant{} + 500ms).remaining, 4);
  EXPECT_EQ(Gcra::room(config, state, Instant{} + 200ms).remaining, 3);
}

TEST(Gcra, AStateThatManyKeysShareOwesNoMoreThanItsBurst) {
  const auto config = bucket({1, 1s, 4});
  Gcra::State state;
  for (int key = 0; key < 100; ++key) Gcra::charge(config, state, Instant{}, 3);
  EXPECT_EQ(Gcra::room(config, state, Instant{}).remaining, 0);
  EXPECT_EQ(Gcra::fresh_at(config, state), Instant{} + 4s);
}

TEST(Gcra, ThatStartsEmptyRefusesTheFirstBurst) {
  const auto config = bucket({10, 1s, 5});
  // clang-format off
  expect_story<Gcra>(config, {
      {0us,   1, 0us, denied,  100ms, 0},
      {100ms, 1, 0us, granted, 100ms, 0},
      {500ms, 5, 0us, denied,  600ms, 4},
      {600ms, 5, 0us, granted, 600ms, 0},
  }, Gcra::holding(config, Instant{}, 0));
  // clang-format on
}

Gcra::Config over_time(Gcra::Settings settings) {
  settings.oversize = Gcra::Oversize::pay_over_time;
  return bucket(settings);
}

TEST(Gcra, ACostAboveTheBurstActsWhenAllOfItIsPaid) {
  // clang-format off
  expect_story<Gcra>(over_time({1, 1s, 5}), {
      {0s,       12, 1h,      deferred,   7s,      0},
      {0s,       1,  1h,      deferred,   8s,      0},  // first come, first served
      {0s,       6,  7s,      denied,     7s,      0},
      {8s,       6,  1h,      deferred,   14s,     0},  // six behind nothing saved
      {1h,       5,  0s,      granted,    1h,      0},
      {1h,       6,  5s,      denied,     1h + 1s, 0},
      {1h + 1s,  6,  5s,      deferred,   1h + 6s, 0},
  });
  // clang-format on
}

TEST(Gcra, ACostAboveTheBurstIsImpossibleForWhoCannotWaitForIt) {
  // clang-format off
  expect_story<Gcra>(over_time({1, 1s, 5}), {
      {0s, 12, unstated,  impossible, forever, 5},  // a full bucket never holds twelve
      {0s, 12, 7s - 1us,  impossible, forever, 5},
      {0s, 5,  0s,        granted,    0s,      0},
      {0s, 12, 7s,        denied,     5s,      0},
      {5s, 12, 7s,        deferred,   12s,     0},
  });
  // clang-format on
}

TEST(Gcra, TheLargestCostPaidOverTimeIsTheLargestThatCanBeCounted) {
  const auto config = over_time({1, 1h, 5});
  EXPECT_EQ(config.largest, longest_span / 1h);
  EXPECT_EQ(Gcra::capacity(config), config.largest);
  EXPECT_EQ(Gcra::room(config, {}, Instant{}).limit, 5);
  Gcra::State state;
  const Request most{Instant{}, config.largest, longest_span};
  EXPECT_EQ(step<Gcra>(config, state, most).ready_at, Instant{} + (config.largest - 5) * 1h);
  const Request more{Instant{}, config.largest + 1, longest_span};
  EXPECT_EQ(step<Gcra>(config, state, more).verdict, impossible);
}

TEST(Gcra, TheBoundCountsACostAboveTheBurstAsItIs) {
  const auto config = over_time({1, 1s, 5});
  EXPECT_EQ(Gcra::bound(config, 1us, 1), 5);
  EXPECT_EQ(Gcra::bound(config, 1us, 12), 12);
  EXPECT_EQ(Gcra::bound(config, 2s, 12), 13);
  EXPECT_EQ(Gcra::bound(bucket({1, 1s, 5}), 2s, 12), 6);
}

TEST(Gcra, CostsAboveTheBurstKeepToTheRateInAQueue) {
  // Two at a time of three in seven ticks: no fraction is lost from one to the next.
  const auto config = over_time({3, 7us, 1});
  Gcra::State state;
  for (int call = 0; call < 300; ++call) {
    (void)step<Gcra>(config, state, {Instant{}, 2, 1h});
  }
  EXPECT_LE(state.repaid_at.tick(), Instant{} + 1401us);
}

TEST(Gcra, ACostAboveTheBurstIsGivenBackOnlyIfNobodyCameSince) {
  const auto config = over_time({1, 1s, 1});
  Gcra::State state;
  const auto take = [&](Cost cost) {
    const Request request{Instant{}, cost, 1h};
    const Decision decision = step<Gcra>(config, state, request);
    return grant_of<Gcra>(config, state, request, decision);
  };
  const Grant first = take(5);
  const Grant second = take(3);
  EXPECT_EQ(cancel<Gcra>(config, state, Instant{}, first), 0);
  EXPECT_EQ(cancel<Gcra>(config, state, Instant{}, second), 3);
  EXPECT_EQ(state.repaid_at.whole, Instant{} + 5s);
}

/// The token bucket of the founding systems: a rate of two a second and no burst.
TEST(Gcra, TwoASecondAskedEveryQuarterAlternates) {
  EXPECT_EQ(verdicts<Gcra>(bucket({2, 1s, 1}), calls({.interval = 250ms, .count = 8})), "GDGDGDGD");
}

TEST(Gcra, FifteenAtOnceUnderTenPerThreeSeconds) {
  std::vector<Span> at = calls({.interval = 0s, .count = 15});
  at.emplace_back(4s);
  EXPECT_EQ(verdicts<Gcra>(bucket({10, 3s, 10}), at), "GGGGGGGGGGDDDDDG");
}

TEST(Gcra, TwentyAtOnceUnderFiveASecond) {
  EXPECT_EQ(verdicts<Gcra>(bucket({5, 1s, 5}), calls({.interval = 0s, .count = 20})),
            "GGGGGDDDDDDDDDDDDDDD");
}

TEST(Gcra, AMonthOfSilenceIsNoMoreThanAFullBucket) {
  // clang-format off
  expect_story<Gcra>(bucket({1, 1s, 2}), {
      {0s,   2, 0us, granted, 0s,        0},
      {720h, 2, 0us, granted, 720h,      0},
      {720h, 1, 0us, denied,  720h + 1s, 0},
  });
  // clang-format on
}

}  // namespace
}  // namespace weir
