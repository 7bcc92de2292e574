#include "weir/algorithm/leaky_bucket.hpp"

#include "test/story/story.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

LeakyBucket::Config queue(LeakyBucket::Settings settings) {
  return LeakyBucket::configure(settings).value();
}

TEST(LeakyBucket, LetsRequestsOutAtThePaceAndRefusesWhenTheQueueIsFull) {
  // clang-format off
  expect_story<LeakyBucket>(queue({2, 1s, 2}), {
      // at, cost, patience, verdict, ready_at, remaining
      {0us,         1, unstated, granted,    0us,     2},
      {0us,         1, unstated, deferred,   500ms,   1},
      {0us,         1, unstated, deferred,   1s,      0},
      {0us,         1, unstated, denied,     500ms,   0},  // then one has left the queue
      {500ms - 1us, 1, unstated, denied,     500ms,   0},
      {500ms,       1, unstated, deferred,   1500ms,  0},
      {500ms,       4, unstated, impossible, forever, 0},
      {9s,          3, unstated, granted,    9s,      0},
  });
  // clang-format on
}

TEST(LeakyBucket, IsAMeterForThoseWhoDoNotWait) {
  // clang-format off
  expect_story<LeakyBucket>(queue({2, 1s, 2}), {
      {0us,   1, 0us,   granted,  0us,   2},
      {0us,   1, 0us,   denied,   500ms, 2},
      {250ms, 1, 100ms, denied,   400ms, 2},
      {400ms, 1, 100ms, deferred, 500ms, 1},
  });
  // clang-format on
}

TEST(LeakyBucket, HasTheShorterOfTwoPatiences) {
  // clang-format off
  expect_story<LeakyBucket>(queue({1, 1s, 1}), {
      {0s, 1, 1h,       granted,  0s, 1},
      {0s, 1, 1h,       deferred, 1s, 0},
      {0s, 1, 1h,       denied,   1s, 0},  // the queue is full however long one would wait
      {0s, 1, unstated, denied,   1s, 0},
  });
  // clang-format on
}

TEST(LeakyBucket, WithoutAQueueActsAtOnceOrNotAtAll) {
  // clang-format off
  expect_story<LeakyBucket>(queue({1, 1s, 0}), {
      {0s,       1, unstated, granted, 0s, 0},
      {0s,       1, unstated, denied,  1s, 0},
      {1s - 1us, 1, unstated, denied,  1s, 0},
      {1s,       1, unstated, granted, 1s, 0},
  });
  // clang-format on
}

TEST(LeakyBucket, TenCallersAtOnceLeaveATenthOfASecondApart) {
  const auto pacer = queue({10, 1s, 9});
  LeakyBucket::State state;
  for (int caller = 0; caller < 10; ++caller) {
    const Decision decision = step<LeakyBucket>(pacer, state, {Instant{}, 1, {}});
    EXPECT_TRUE(taken(decision.verdict));
    EXPECT_EQ(decision.ready_at, Instant{} + 100ms * caller);
  }
  EXPECT_EQ(step<LeakyBucket>(pacer, state, {Instant{}, 1, {}}).verdict, denied);
}

TEST(LeakyBucket, GivesAPlaceBackOnlyIfNobodyQueuedBehindIt) {
  const auto config = queue({1, 1s, 3});
  LeakyBucket::State state;
  const Request one{Instant{}, 1, {}};
  (void)step<LeakyBucket>(config, state, one);
  const Grant second =
      grant_of<LeakyBucket>(config, state, one, step<LeakyBucket>(config, state, one));
  const Decision decision = step<LeakyBucket>(config, state, one);
  const Grant third = grant_of<LeakyBucket>(config, state, one, decision);
  EXPECT_EQ(cancel<LeakyBucket>(config, state, Instant{}, second), 0);
  EXPECT_EQ(cancel<LeakyBucket>(config, state, Instant{}, third), 1);
  EXPECT_EQ(step<LeakyBucket>(config, state, one).ready_at, decision.ready_at);
}

}  // namespace
}  // namespace weir
