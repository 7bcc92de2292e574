#include "weir/algorithm/sliding_log.hpp"

#include "test/story/story.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

SlidingLog::Config log_of(SlidingLog::Settings settings) {
  return SlidingLog::configure(settings).value();
}

TEST(SlidingLog, LetsEachUnitLeaveExactlyOnePeriodLater) {
  // clang-format off
  expect_story<SlidingLog>(log_of({3, 1s}), {
      // at, cost, patience, verdict, ready_at, remaining
      {100ms,        1, 0us, granted,    100ms,   2},
      {300ms,        2, 0us, granted,    300ms,   0},
      {300ms,        1, 0us, denied,     1100ms,  0},
      {1100ms - 1us, 1, 0us, denied,     1100ms,  0},
      {1100ms,       2, 0us, denied,     1300ms,  1},
      {1100ms,       1, 0us, granted,    1100ms,  0},
      {1300ms,       2, 0us, granted,    1300ms,  0},
      {1300ms,       4, 1h,  impossible, forever, 0},
  });
  // clang-format on
}

/// The present instant counts, and two calls of one instant are two.
TEST(SlidingLog, CountsCallsOfTheSameInstant) {
  EXPECT_EQ(verdicts<SlidingLog>(log_of({3, 1s}), calls({.interval = 0s, .count = 6})), "GGGDDD");
}

/// Refusals are not logged: who keeps knocking gets in when a unit leaves.
TEST(SlidingLog, LetsAClientThatKeepsKnockingBackIn) {
  const std::string told =
      verdicts<SlidingLog>(log_of({1, 1s}), calls({.interval = 100ms, .count = 21}));
  EXPECT_EQ(told, "GDDDDDDDDDGDDDDDDDDDG");
}

TEST(SlidingLog, LetsThePatientWait) {
  // clang-format off
  expect_story<SlidingLog>(log_of({2, 1s}), {
      {0ms,   1, 0us,   granted,  0ms,    1},
      {400ms, 1, 0us,   granted,  400ms,  0},
      {500ms, 1, 499ms, denied,   501ms,  0},
      {500ms, 1, 500ms, deferred, 1s,     0},
      {500ms, 1, 2s,    deferred, 1400ms, 0},
      {900ms, 0, 0us,   denied,   1400ms, 0},
  });
  // clang-format on
}

TEST(SlidingLog, ACancelledGrantLeavesWhatItReplacedInForce) {
  const auto config = log_of({2, 1s});
  SlidingLog::State state;
  (void)step<SlidingLog>(config, state, {Instant{}, 2, {}});
  const Request later{Instant{} + 400ms, 2, Span{1s}};
  const Decision decision = step<SlidingLog>(config, state, later);
  ASSERT_EQ(decision.ready_at, Instant{} + 1s);
  const Grant grant = grant_of<SlidingLog>(config, state, later, decision);
  EXPECT_EQ(cancel<SlidingLog>(config, state, Instant{} + 400ms, grant), 2);
  EXPECT_EQ(SlidingLog::room(config, state, Instant{} + 999ms).remaining, 0);
  EXPECT_EQ(SlidingLog::room(config, state, Instant{} + 1s).remaining, 2);
}

/// Five replies a minute: the founding behaviour limit.
TEST(SlidingLog, FiveAtOnceOfTwentyUnderFiveASecond) {
  EXPECT_EQ(verdicts<SlidingLog>(log_of({5, 1s}), calls({.interval = 0s, .count = 20})),
            "GGGGGDDDDDDDDDDDDDDD");
}

TEST(SlidingLog, FifteenAtOnceUnderTenPerThreeSeconds) {
  std::vector<Span> at = calls({.interval = 0s, .count = 15});
  at.push_back(4s);
  EXPECT_EQ(verdicts<SlidingLog>(log_of({10, 3s}), at), "GGGGGGGGGGDDDDDG");
}

TEST(SlidingLog, GrowsWithUseUpToTheLimit) {
  const auto config = log_of({100, 1s});
  SlidingLog::State state;
  EXPECT_EQ(state.ring.size(), 0u);
  (void)step<SlidingLog>(config, state, {Instant{}, 1, {}});
  EXPECT_LE(state.ring.size(), 4u);
  for (int at = 0; at < 1'000; ++at) {
    (void)step<SlidingLog>(config, state, {Instant{} + 10ms * at, 1, {}});
    ASSERT_LE(state.ring.size(), 100u);
  }
}

}  // namespace
}  // namespace weir
