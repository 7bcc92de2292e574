#include "weir/algorithm/pacer.hpp"

#include <algorithm>
#include <random>

#include "test/story/blocking_caller.hpp"
#include "test/story/story.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

Pacer::Config pace(Pacer::Settings settings) { return Pacer::configure(settings).value(); }

TEST(Pacer, ActsAtThePaceOnceTheSlackIsSpent) {
  // clang-format off
  expect_story<Pacer>(pace({10, 1s, 2}), {
      // at, cost, patience, verdict, ready_at, remaining
      {0s,           1, 0us, granted,    0s,      2},
      {0s,           1, 0us, granted,    0s,      1},
      {0s,           1, 0us, granted,    0s,      0},
      {0s,           1, 0us, denied,     100ms,   0},
      {100ms - 1us,  1, 0us, denied,     100ms,   0},
      {100ms,        1, 0us, granted,    100ms,   0},
      {100ms,        1, 1s,  deferred,   200ms,   0},
      {100ms,        1, 1s,  deferred,   300ms,   0},
      {90ms,         1, 0us, denied,     400ms,   0},  // a clock set back mints nothing
      {600ms,        0, 0us, granted,    600ms,   3},  // the turn at 400 ms was not used,
      {600ms,        0, 0us, granted,    600ms,   3},  // nor that at 500 ms: two saved
      {1h,           0, 0us, granted,    1h,      3},  // and never more
  });
  // clang-format on
}

TEST(Pacer, LetsTheNextCallerPay) {
  // clang-format off
  expect_story<Pacer>(pace({1, 1s, 0}), {
      {0s,   1'000, 0us,      granted,  0s,     0},
      {0s,   1,     0us,      denied,   1'000s, 0},
      {0s,   1,     999s,     denied,   1s,     0},
      {0s,   1,     1'000s,   deferred, 1'000s, 0},
      {0s,   7,     unstated, denied,   1'001s, 0},
      {2h,   0,     0us,      granted,  2h,     1},
  });
  // clang-format on
}

TEST(Pacer, TakesAnyCostThatItCanCountAndNoneAbove) {
  const auto config = pace({1, 1h, 0});
  const Cost largest = Pacer::capacity(config);
  EXPECT_EQ(largest, longest_span / 1h);
  Pacer::State state;
  EXPECT_EQ(step<Pacer>(config, state, {Instant{}, largest + 1, longest_span}).verdict, impossible);
  EXPECT_EQ(step<Pacer>(config, state, {Instant{}, largest, 0us}).verdict, granted);
  EXPECT_EQ(step<Pacer>(config, state, {Instant{}, largest, longest_span}).ready_at,
            Instant{} + largest * 1h);
}

TEST(Pacer, ReachesItsBoundAndNoMore) {
  const auto config = pace({10, 1s, 5});
  Pacer::State state;
  Cost acted = 0;
  for (Instant now{}; now <= Instant{} + 1s; now += 10ms) {
    while (step<Pacer>(config, state, {now, 1, 0us}).verdict == granted) ++acted;
  }
  ASSERT_EQ(step<Pacer>(config, state, {Instant{} + 1s, 1, 0us}).verdict, denied);
  EXPECT_EQ(acted, 16);
  EXPECT_EQ(Pacer::bound(config, 1s + 1us, 1), 16);
  EXPECT_EQ(Pacer::bound(config, 1us, 1), 6);
  EXPECT_EQ(Pacer::bound(config, 1us, 40), 45);  // five that were saved up, and one that costs 40
}

TEST(Pacer, GivesATurnBackOnlyIfNobodyCameSince) {
  const auto config = pace({1, 1s, 0});
  Pacer::State state;
  const Request one{Instant{}, 1, 1h};
  (void)step<Pacer>(config, state, one);
  const Grant second = grant_of<Pacer>(config, state, one, step<Pacer>(config, state, one));
  const Decision last = step<Pacer>(config, state, one);
  const Grant third = grant_of<Pacer>(config, state, one, last);
  EXPECT_EQ(cancel<Pacer>(config, state, Instant{}, second), 0);
  EXPECT_EQ(cancel<Pacer>(config, state, Instant{}, third), 1);
  EXPECT_EQ(step<Pacer>(config, state, one).ready_at, last.ready_at);
}

TEST(Pacer, AGrantOfAnOlderPaceGivesNothingBack) {
  const auto fast = pace({1, 1s, 0});
  const auto slow = pace({1, 1min, 0});
  Pacer::State state;
  const Request one{Instant{}, 1, 1h};
  (void)step<Pacer>(fast, state, one);
  const Grant grant = grant_of<Pacer>(fast, state, one, step<Pacer>(fast, state, one));
  state = Pacer::rescaled(fast, slow, state, Instant{});
  EXPECT_EQ(cancel<Pacer>(slow, state, Instant{}, grant), 0);
}

TEST(Pacer, RefundGivesBackNoMoreThanIsOwed) {
  const auto config = pace({1, 1s, 2});
  Pacer::State state;
  (void)step<Pacer>(config, state, {Instant{}, 4, {}});
  EXPECT_EQ(Pacer::refund(config, state, Instant{} + 1s, 2), 2);
  EXPECT_EQ(Pacer::room(config, state, Instant{} + 1s).remaining, 2);
  EXPECT_EQ(Pacer::refund(config, state, Instant{} + 1s, 9), 1);
  EXPECT_EQ(Pacer::room(config, state, Instant{} + 1s).remaining, 3);
}

// uber-go/ratelimit: the limiter has no slack until time has passed.

Pacer::State empty(const Pacer::Config& config) { return Pacer::holding(config, Instant{}, 0); }

TEST(PacerAsUber, TheInitialBurstIsNotAllowed) {
  for (const Cost slack : {0, 10}) {
    const auto config = pace({10, 1s, slack});
    Pacer::State state = empty(config);
    for (int caller = 0; caller < 3; ++caller) {
      EXPECT_EQ(step<Pacer>(config, state, {Instant{}, 1, 1h}).ready_at,
                Instant{} + 100ms * caller);
    }
  }
}

TEST(PacerAsUber, SlackIsAppliedOnceAndNotAgain) {
  // clang-format off
  const auto config = pace({1, 1s, 1});
  expect_story<Pacer>(config, {
      {1us,      1, 1h, granted,  1us,      0},
      {2s + 1us, 1, 1h, granted,  2s + 1us, 1},
      {2s + 2us, 1, 1h, granted,  2s + 2us, 0},
      {2s + 3us, 1, 1h, deferred, 3s + 1us, 0},
      {2s + 4us, 1, 1h, deferred, 4s + 1us, 0},
  }, Pacer::holding(config, Instant{} + 1us, 0));
  // clang-format on
}

/// Callers in loops, each taking from all of its limiters in turn and sleeping for each. Counts
/// whole turns of the loops.
class Loops {
 public:
  struct Limiter {
    Pacer::Config config;
    Pacer::State state;
  };
  struct Caller {
    Instant now;
    std::vector<Limiter*> limiters;
    std::size_t next = 0;
  };

  void start(Span at, std::vector<Limiter*> limiters) {
    callers_.push_back({Instant{} + at, std::move(limiters)});
  }

  int turns_before(Span end) {
    for (;;) {
      const auto caller = std::min_element(
          callers_.begin(), callers_.end(),
          [](const Caller& one, const Caller& other) { return one.now < other.now; });
      if (caller->now >= Instant{} + end) return turns_;
      if (caller->next == caller->limiters.size()) {
        ++turns_;
        caller->next = 0;
      }
      Limiter& limiter = *caller->limiters[caller->next++];
      caller->now =
          step<Pacer>(limiter.config, limiter.state, {caller->now, 1, longest_span}).ready_at;
    }
  }

 private:
  std::vector<Caller> callers_;
  int turns_ = 0;
};

Loops::Limiter limiter(Pacer::Settings settings) {
  const auto config = pace(settings);
  return {config, empty(config)};
}

TEST(PacerAsUber, AHundredASecondIsAHundredASecond) {
  auto hundred = limiter({100, 1s, 0});
  Loops loops;
  for (int caller = 0; caller < 4; ++caller) loops.start(0s, {&hundred});
  EXPECT_EQ(loops.turns_before(1s), 100);
  EXPECT_EQ(loops.turns_before(2s), 200);
  EXPECT_EQ(loops.turns_before(3s), 300);
}

TEST(PacerAsUber, TimeThatASlowLimiterHeldUpIsNotMadeUpForWithoutSlack) {
  auto slow = limiter({10, 1s, 0});
  auto fast = limiter({100, 1s, 0});
  Loops loops;
  loops.start(0s, {&slow, &fast});
  for (int caller = 0; caller < 4; ++caller) loops.start(20s, {&fast});
  EXPECT_EQ(loops.turns_before(30s), 1200);
}

TEST(PacerAsUber, SevenAMinuteIsSevenAMinute) {
  auto seven = limiter({7, 1min, 0});
  Loops loops;
  for (int caller = 0; caller < 2; ++caller) loops.start(0s, {&seven});
  EXPECT_EQ(loops.turns_before(1s), 1);
  // Theirs act 3 ns early, for their interval is whole nanoseconds: ours on the minute.
  EXPECT_EQ(loops.turns_before(1min), 7);
  EXPECT_EQ(loops.turns_before(1min + 1us), 8);
  EXPECT_EQ(loops.turns_before(2min + 1us), 15);
}

TEST(PacerAsUber, WhatASlowLimiterHeldUpIsMadeUpForWithinTheSlack) {
  struct Sum {
    Span period;
    Cost slack;
    int wanted;
  };
  for (const Sum& sum : {Sum{1s, 10, 130}, Sum{1s, 20, 140}, Sum{1s, 150, 270}, Sum{500ms, 10, 230},
                         Sum{500ms, 20, 240}, Sum{500ms, 150, 370}}) {
    auto slow = limiter({10, 1s, 0});
    auto fast = limiter({100, sum.period, sum.slack});
    Loops loops;
    loops.start(0s, {&slow, &fast});
    for (int caller = 0; caller < 2; ++caller) loops.start(2s, {&fast});
    EXPECT_EQ(loops.turns_before(1s), 10);
    EXPECT_EQ(loops.turns_before(3s), sum.wanted) << sum.slack;
  }
}

// Guava's SmoothBursty: the slack is what one second brings, and nothing is saved at first.

Pacer::Config permits(Cost a_second) { return pace({a_second, 1s, a_second}); }

BlockingCaller<Pacer> bursty(Cost a_second) {
  return {permits(a_second), empty(permits(a_second))};
}

TEST(PacerAsGuava, WaitsForWhatThoseBeforeTook) {
  auto caller = bursty(5);
  EXPECT_EQ(caller.acquire(), 0s);
  caller.rest(200ms);
  EXPECT_EQ(caller.acquire(), 0s);
  EXPECT_EQ(caller.acquire(), 200ms);

  auto later = bursty(5);
  EXPECT_EQ(later.acquire(), 0s);
  later.rest(400ms);
  EXPECT_EQ(later.acquire_times(3), "0.00 0.00 0.20");
}

TEST(PacerAsGuava, SavesNoMoreThanOneSecond) {
  auto caller = bursty(5);
  caller.rest(2s);
  EXPECT_EQ(caller.acquire(1), 0s);  // the first is free
  EXPECT_EQ(caller.acquire(1), 0s);  // five were saved
  EXPECT_EQ(caller.acquire(3), 0s);
  EXPECT_EQ(caller.acquire(1), 0s);
  EXPECT_EQ(caller.acquire(1), 200ms);
}

TEST(PacerAsGuava, AnyCostIsPaidByWhoComesNext) {
  auto caller = bursty(1);
  EXPECT_EQ(caller.acquire(1), 0s);
  EXPECT_EQ(caller.acquire(1), 1s);
  EXPECT_EQ(caller.acquire(2), 1s);
  EXPECT_EQ(caller.acquire(4), 2s);
  EXPECT_EQ(caller.acquire(8), 4s);
  EXPECT_EQ(caller.acquire(1), 8s);
}

TEST(PacerAsGuava, TriesSucceedWhereTheTurnComesWithinTheTimeout) {
  auto none = bursty(5);
  EXPECT_TRUE(none.try_acquire(1, 0s));
  EXPECT_FALSE(none.try_acquire(1, 0s));
  none.rest(100ms);
  EXPECT_FALSE(none.try_acquire(1, 0s));

  auto some = bursty(5);
  EXPECT_TRUE(some.try_acquire(1, 0s));
  EXPECT_TRUE(some.try_acquire(1, 200ms));
  EXPECT_FALSE(some.try_acquire(1, 100ms));
  some.rest(100ms);
  EXPECT_TRUE(some.try_acquire(1, 100ms));

  auto ever = bursty(5);
  EXPECT_TRUE(ever.try_acquire(1, 0s));
  ever.rest(100ms);
  EXPECT_TRUE(ever.try_acquire(1, Span::max()));

  auto below = bursty(5);
  EXPECT_TRUE(below.try_acquire(5, 0s));
  below.rest(900ms);
  EXPECT_FALSE(below.try_acquire(1, Span::min()));
  below.rest(100ms);
  EXPECT_TRUE(below.try_acquire(1, Span{-1}));

  EXPECT_TRUE(bursty(5).try_acquire(1'000'000, 0s));
}

TEST(PacerAsGuava, ANewRateLeavesTheOldDebtAsItIs) {
  auto caller = bursty(1);
  EXPECT_EQ(caller.acquire(1), 0s);
  EXPECT_EQ(caller.acquire(1), 1s);
  caller.set_rate(permits(2));
  EXPECT_EQ(caller.acquire(1), 1s);  // at the old rate
  EXPECT_EQ(caller.acquire(2), 500ms);
  EXPECT_EQ(caller.acquire(4), 1s);
  EXPECT_EQ(caller.acquire(1), 2s);
}

/// An infinite rate is no Config, but Guava leaves one with all saved that the new rate can save.
TEST(PacerAsGuava, AfterAnInfiniteRateAllIsSaved) {
  const auto two = permits(2);
  BlockingCaller<Pacer> caller(two, Pacer::holding(two, Instant{}, 2));
  EXPECT_EQ(caller.acquire_times(5), "0.00 0.00 0.00 0.50 0.50");
}

TEST(PacerAsGuava, TheSlowestRateGrantsOneEver) {
  const auto slowest = pace({1, longest_span, 0});
  BlockingCaller<Pacer> caller(slowest, empty(slowest));
  EXPECT_TRUE(caller.try_acquire(1, 0s));
  EXPECT_FALSE(caller.try_acquire(1, 0s));
  caller.rest(std::chrono::milliseconds{std::numeric_limits<std::int32_t>::max()});
  EXPECT_FALSE(caller.try_acquire(1, 0s));
}

Span time_to_acquire(BlockingCaller<Pacer>& caller, Cost permits, std::mt19937_64& random) {
  const Instant begin = caller.now();
  while (permits > 0) {
    const Cost next =
        std::max<Cost>(1, std::uniform_int_distribution<Cost>(0, permits - 1)(random));
    permits -= next;
    caller.acquire(next);
  }
  caller.acquire(1);
  return caller.now() - begin;
}

TEST(PacerAsGuava, ABurstIsNeverMoreThanOneSecondsWorthWhateverTheRateWas) {
  std::mt19937_64 random(1);
  auto caller = bursty(1);
  for (const Cost rate : {1'000, 1, 10, 1'000'000, 10, 1}) {
    caller.rest(rate * 1s);
    caller.set_rate(permits(rate));
    EXPECT_LE(time_to_acquire(caller, rate, random), 1s) << rate;
    EXPECT_GE(time_to_acquire(caller, rate, random), 1s) << rate;
  }
}

TEST(Pacer, ANewRateKeepsTheShareOfTheSlack) {
  const auto from = pace({10, 1s, 10});
  const auto to = pace({1, 1s, 4});
  const Instant now = Instant{} + 1min;
  const auto saved = [&](Cost units) {
    const auto state = Pacer::rescaled(from, to, Pacer::holding(from, now, units), now);
    return Pacer::room(to, state, now).remaining - 1;
  };
  EXPECT_EQ(saved(0), 0);
  EXPECT_EQ(saved(5), 2);
  EXPECT_EQ(saved(7), 2);
  EXPECT_EQ(saved(8), 3);
  EXPECT_EQ(saved(10), 4);
  const Pacer::State rested = Pacer::rescaled(from, to, {}, now);
  EXPECT_EQ(Pacer::fresh_at(to, rested), now);
}

TEST(Pacer, ANewSlackLeavesTheDebtAsItIs) {
  const auto from = pace({10, 1s, 2});
  const auto to = pace({1, 1s, 60});
  Pacer::State state;
  (void)step<Pacer>(from, state, {Instant{}, 52, 0s});
  const Pacer::State after = Pacer::rescaled(from, to, state, Instant{} + 1s);
  EXPECT_EQ(Pacer::earliest(from, state, Instant{} + 1s, 1), Instant{} + 5s);
  EXPECT_EQ(Pacer::earliest(to, after, Instant{} + 1s, 1), Instant{} + 5s);
}

TEST(Pacer, UnderTheSameNumbersAStateIsRescaledToItself) {
  const auto config = pace({999'983, 1s, 1'000});
  std::mt19937_64 random(1);
  Pacer::State state;
  Instant now{};
  for (int call = 0; call < 1'000; ++call) {
    now += Span{std::uniform_int_distribution<std::int64_t>(0, 40)(random)};
    (void)step<Pacer>(config, state, {now, 20, 100us});
    if (Pacer::fresh_at(config, state) <= now) continue;
    ASSERT_EQ(Pacer::rescaled(config, config, state, now), state);
  }
}

}  // namespace
}  // namespace weir
