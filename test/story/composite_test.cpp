// Penalties, and several limits at once, as people write them.
#include "test/story/story.hpp"
#include "weir/limit.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;
using Machine = Limit::Machine;

void expect_limit_story(const char* text, const std::vector<Row>& rows) {
  expect_story<Machine>(Limit::parse(text).value().config(), rows);
}

TEST(Block, ShutsAKeyOutOnceItWasRefused) {
  // clang-format off
  expect_limit_story("2/1s block 10s", {
      // at, cost, patience, verdict, ready_at, remaining
      {0s,             2, 0us, granted, 0s,       0},
      {100ms,          1, 0us, denied,  10'100ms, 0},  // the penalty begins
      {5s,             1, 0us, denied,  10'100ms, 0},  // knocking does not prolong it
      {10'100ms - 1us, 1, 0us, denied,  10'100ms, 0},
      {10'100ms,       1, 0us, granted, 10'100ms, 1},
  });
  // clang-format on
}

TEST(Block, IsNotBegunByAProbeOrByTooLargeACost) {
  // clang-format off
  expect_limit_story("2/1s block 10s", {
      {0s, 2, 0us, granted,    0s,      0},
      {0s, 0, 0us, granted,    0s,      0},
      {0s, 3, 0us, impossible, forever, 0},
      {1s, 2, 0us, granted,    1s,      0},
  });
  // clang-format on
}

TEST(Block, IsNotBegunByOneWhoWaits) {
  // clang-format off
  expect_limit_story("1/1s block 10s", {
      {0s, 1, 0us, granted,  0s, 0},
      {0s, 1, 1s,  deferred, 1s, 0},
      {0s, 1, 1s,  denied,   9s, 0},  // with a patience of a second, for the end of the penalty
  });
  // clang-format on
}

TEST(Block, FiveRepliesAMinuteThenOutForTenMinutes) {
  const Limit limit = Limit::parse("sliding-log 5/1m block 10m").value();
  std::vector<Span> at = calls({.interval = 1s, .count = 7});
  at.insert(at.end(), {2min, 10min + 4s, 10min + 5s});
  EXPECT_EQ(verdicts<Machine>(limit.config(), at), "GGGGGDDDDG");
}

TEST(AllOf, GrantsWhatEveryLimitGrants) {
  // clang-format off
  expect_limit_story("2/1s & 3/1h", {
      {0s, 2, 0us, granted,    0s,      0},
      {0s, 1, 0us, denied,     500ms,   0},
      {1s, 2, 0us, denied,     20min,   1},  // the hour's limit is the one that refuses
      {1s, 1, 0us, granted,    1s,      0},
      {2s, 1, 0us, denied,     20min,   0},
      {2s, 3, 0us, impossible, forever, 0},
  });
  // clang-format on
}

TEST(AllOf, TakesFromNoneWhereOneRefuses) {
  const Limit limit = Limit::parse("fixed-window 5/1s & fixed-window 2/1m").value();
  Limit::State state;
  for (const Span at : {0ms, 1ms, 2ms, 3ms, 4ms}) {
    (void)step<Machine>(limit.config(), state, {Instant{at}, 1, {}});
  }
  const auto& terms = std::get<Box<Limit::Composite::State>>(state).get().terms;
  EXPECT_EQ(std::get<FixedWindow::State>(terms[0].inner).used, 2);
  EXPECT_EQ(std::get<FixedWindow::State>(terms[1].inner).used, 2);
}

TEST(AllOf, PunishesOnlyInTheLimitThatRefuses) {
  // clang-format off
  expect_limit_story("1/1s block 5s & 10/1s block 1h", {
      {0s, 1, 0us, granted, 0s, 0},
      {0s, 1, 0us, denied,  5s, 0},
      {5s, 1, 0us, granted, 5s, 0},
  });
  // clang-format on
}

TEST(AllOf, ActsAtTheLatestOfTheInstants) {
  // clang-format off
  expect_limit_story("leaky-bucket 1/1s queue 5 & fixed-window 2/10s", {
      {0s, 1, unstated, granted,  0s,  1},
      {0s, 1, unstated, deferred, 1s,  0},
      {0s, 1, unstated, denied,   5s,  0},  // the window opens in 10 s, the queue holds 5 s
      {5s, 1, unstated, deferred, 10s, 0},
  });
  // clang-format on
}

TEST(AnyOf, KeepsWhatIsKnownWhereAnotherAlgorithmRefusesOrAsks) {
  const Limit bucket = Limit::parse("1/1h").value();
  const Limit window = Limit::parse("fixed-window 1/1s").value();
  Limit::State state;
  (void)step<Machine>(bucket.config(), state, {Instant{}, 1, {}});
  const Limit::State before = state;
  (void)step<Machine>(window.config(), state, {Instant{}, 0, {}});
  (void)step<Machine>(window.config(), state, {Instant{}, 2, {}});
  EXPECT_EQ(Machine::refund(window.config(), state, Instant{}, 1), 0);
  EXPECT_TRUE(state == before);
  EXPECT_EQ(step<Machine>(window.config(), state, {Instant{}, 1, {}}).verdict, granted);
}

}  // namespace
}  // namespace weir
