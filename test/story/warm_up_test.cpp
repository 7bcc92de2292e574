#include "weir/algorithm/warm_up.hpp"

#include <cmath>
#include <random>

#include "test/story/blocking_caller.hpp"
#include "test/story/story.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

WarmUp::Config warming(WarmUp::Settings settings) { return WarmUp::configure(settings).value(); }
WarmUp::Config two_a_second() { return warming({2, 1s, 4s}); }

BlockingCaller<WarmUp> cold(const WarmUp::Config& config) { return {config, {}}; }

TEST(WarmUp, BeginsSlowlyAndGrowsToTheFullPace) {
  // clang-format off
  expect_story<WarmUp>(two_a_second(), {
      // at, cost, patience, verdict, ready_at, remaining
      {0s,     1, 0us, granted,  0s,      0},
      {0s,     1, 0us, denied,   1375ms,  0},
      {0s,     1, 1s,  denied,   375ms,   0},
      {0s,     1, 2s,  deferred, 1375ms,  0},
      {0s,     1, 9s,  deferred, 2500ms,  0},
      {0s,     1, 9s,  deferred, 3375ms,  0},
      {0s,     1, 9s,  deferred, 4s,      0},
      {0s,     1, 9s,  deferred, 4500ms,  0},
      {5s - 1us, 1, 0s, denied,  5s,      0},
      {4s,     1, 0s,  denied,   5s,      0},  // a clock set back mints nothing
      {5s,     1, 0s,  granted,  5s,      0},
      {6s,     0, 0s,  granted,  6s,      1},
  });
  // clang-format on
}

TEST(WarmUp, IsColdAfterAsLongARestAsItsWarmUp) {
  const auto config = two_a_second();
  auto caller = cold(config);
  for (int call = 0; call < 8; ++call) caller.acquire();
  const Instant paid = caller.now() + 500ms;
  // Four of eight permits are left, so half of the rest is enough.
  EXPECT_EQ(WarmUp::fresh_at(config, caller.state()), paid + 4s);
}

TEST(WarmUp, ReachesItsBoundWhenWarm) {
  const auto config = two_a_second();
  const WarmUp::State warm{{Instant{}, 0}, {}};
  WarmUp::State state = warm;
  EXPECT_EQ(step<WarmUp>(config, state, {Instant{}, 7, 0s}).verdict, granted);
  EXPECT_EQ(step<WarmUp>(config, state, {Instant{}, 1, 1h}).ready_at, Instant{} + 3500ms);
  EXPECT_EQ(WarmUp::bound(config, 3500ms, 7), 7 + 6);
  EXPECT_EQ(WarmUp::bound(config, 1us, 7), 7);
  EXPECT_EQ(WarmUp::bound(config, 1s, 1), 2);
}

TEST(WarmUp, SaysWhyNumbersMakeNoLimit) {
  using Error = ConfigError;
  const auto error = [](WarmUp::Settings settings) { return WarmUp::configure(settings).error(); };
  EXPECT_EQ(error({0, 1s, 1s}), Error::not_positive);
  EXPECT_EQ(error({1, 1s, 0s}), Error::not_positive);
  EXPECT_EQ(error({1, 1s, 1s, 0}), Error::not_positive);
  EXPECT_EQ(error({1'000'000'001, 1s, 1s}), Error::too_fast);
  EXPECT_EQ(error({1, longest_span + 1us, 1s}), Error::too_long);
  EXPECT_EQ(error({1, 1s, longest_span + 1us}), Error::too_long);
  EXPECT_EQ(error({1, 1s, 1s, std::int64_t{1} << 52}), Error::too_fine);
  EXPECT_TRUE(WarmUp::configure({1, 1s, 1s, (std::int64_t{1} << 52) - 1}).has_value());
  EXPECT_EQ(error({999'983, 1s, 1s, std::int64_t{1} << 33}), Error::too_fine);
}

TEST(WarmUp, ATurnGivenBackLeavesItAsColdAsItWas) {
  const auto config = two_a_second();
  WarmUp::State state;
  const Request one{Instant{}, 1, 1h};
  (void)step<WarmUp>(config, state, one);
  for (const Cost cost : {1, 3, 6, 400}) {  // up to more than is stored
    WarmUp::State kept = state;
    const Request request{Instant{}, cost, 1h};
    const Decision decision = step<WarmUp>(config, state, request);
    const Grant grant = grant_of<WarmUp>(config, state, request, decision);
    EXPECT_EQ(cancel<WarmUp>(config, state, Instant{}, grant), cost);
    EXPECT_EQ(state, kept);
  }
}

TEST(WarmUp, GivesATurnBackOnlyIfNobodyCameSince) {
  const auto config = two_a_second();
  WarmUp::State state;
  const Request one{Instant{}, 1, 1h};
  (void)step<WarmUp>(config, state, one);
  const Grant second = grant_of<WarmUp>(config, state, one, step<WarmUp>(config, state, one));
  (void)step<WarmUp>(config, state, one);
  EXPECT_EQ(cancel<WarmUp>(config, state, Instant{}, second), 0);
}

TEST(WarmUp, AGrantOfAnOlderPaceGivesNothingBack) {
  const auto fast = two_a_second();
  const auto slow = warming({1, 1s, 4s});
  WarmUp::State state;
  const Request one{Instant{}, 1, 1h};
  (void)step<WarmUp>(fast, state, one);
  const Grant grant = grant_of<WarmUp>(fast, state, one, step<WarmUp>(fast, state, one));
  state = WarmUp::rescaled(fast, slow, state, Instant{});
  EXPECT_EQ(cancel<WarmUp>(slow, state, Instant{}, grant), 0);
}

TEST(WarmUp, RefundedUnitsAreAsIfTheyHadNotBeenTaken) {
  const auto config = two_a_second();
  WarmUp::State five;
  WarmUp::State three;
  (void)step<WarmUp>(config, five, {Instant{}, 5, 0s});
  (void)step<WarmUp>(config, three, {Instant{}, 3, 0s});
  EXPECT_EQ(WarmUp::refund(config, five, Instant{}, 2), 2);
  EXPECT_EQ(five, three);
  // What is paid is not given back: of the 3375 ms a part of the third unit's is left.
  EXPECT_EQ(WarmUp::refund(config, three, Instant{} + 3s, 9), 1);
  EXPECT_EQ(WarmUp::room(config, three, Instant{} + 3s).remaining, 1);
  EXPECT_EQ(WarmUp::refund(config, three, Instant{} + 3s, 9), 0);
}

// Guava's SmoothWarmingUp. Its instants are whole microseconds, cut off; ours are exact and rounded
// up to the tick at which a call acts.

TEST(WarmUpAsGuava, WarmsUpAndCoolsDown) {
  auto caller = cold(two_a_second());
  const std::string from_cold = "0.00 1.38 1.13 0.88 0.63 0.50 0.50 0.50";
  EXPECT_EQ(caller.acquire_times(8), from_cold);
  caller.rest(500ms);  // pays for the last
  caller.rest(4s);     // cold again
  EXPECT_EQ(caller.acquire_times(8), from_cold);
  caller.rest(500ms);
  caller.rest(2s);  // not as long as it takes
  EXPECT_EQ(caller.acquire_times(8), "0.00 0.50 0.50 0.50 0.50 0.50 0.50 0.50");
}

TEST(WarmUpAsGuava, IsSlowerTheGreaterTheColdFactor) {
  auto caller = cold(warming({5, 1s, 4s, 10}));
  const std::string from_cold = "0.00 1.75 1.26 0.76 0.30 0.20 0.20 0.20";
  EXPECT_EQ(caller.acquire_times(8), from_cold);
  caller.rest(200ms);
  caller.rest(4s);
  EXPECT_EQ(caller.acquire_times(8), from_cold);
  caller.rest(200ms);
  caller.rest(1s);
  EXPECT_EQ(caller.acquire_times(8), "0.00 0.20 0.20 0.20 0.20 0.20 0.20 0.20");
}

TEST(WarmUpAsGuava, WithAColdFactorOfOneItIsAnEvenPace) {
  auto caller = cold(warming({5, 1s, 4s, 1}));
  const std::string even = "0.00 0.20 0.20 0.20 0.20 0.20 0.20 0.20";
  EXPECT_EQ(caller.acquire_times(8), even);
  caller.rest(340ms);
  EXPECT_EQ(caller.acquire_times(8), even);
}

TEST(WarmUpAsGuava, ANewRateKeepsTheShareOfWhatIsStoredAndTheOldDebt) {
  auto caller = cold(two_a_second());
  caller.acquire_times(8);
  caller.rest(4500ms);
  EXPECT_EQ(caller.acquire_times(3), "0.00 1.38 1.13");
  caller.set_rate(warming({4, 1s, 4s}));
  EXPECT_EQ(caller.acquire_times(1), "0.88");  // the debt, at the old rate
  EXPECT_EQ(caller.acquire_times(4), "0.34 0.28 0.25 0.25");
  caller.rest(4250ms);
  EXPECT_EQ(caller.acquire_times(11), "0.00 0.72 0.66 0.59 0.53 0.47 0.41 0.34 0.28 0.25 0.25");
}

TEST(WarmUpAsGuava, ANewRateKeepsTheShareWithAnyColdFactor) {
  auto caller = cold(warming({5, 1s, 4s, 10}));
  caller.acquire_times(8);
  caller.rest(4200ms);
  EXPECT_EQ(caller.acquire_times(3), "0.00 1.75 1.26");
  caller.set_rate(warming({10, 1s, 4s, 10}));
  EXPECT_EQ(caller.acquire_times(5), "0.76 0.20 0.10 0.10 0.10");
  caller.rest(4100ms);
  EXPECT_EQ(caller.acquire_times(11), "0.00 0.94 0.81 0.69 0.57 0.44 0.32 0.20 0.10 0.10 0.10");
}

/// An infinite rate is no Config, but Guava leaves one with nothing stored, which is warm.
TEST(WarmUpAsGuava, AfterAnInfiniteRateItIsWarm) {
  const auto one = warming({1, 1s, 10s});
  BlockingCaller<WarmUp> caller(one, {{Instant{}, 0}, {}});
  EXPECT_EQ(caller.acquire_times(5), "0.00 1.00 1.00 1.00 1.00");
}

TEST(WarmUpAsGuava, TriesSucceedWhereTheTurnComesWithinTheTimeout) {
  auto caller = cold(two_a_second());
  EXPECT_TRUE(caller.try_acquire(1'000'000, 0s));
  EXPECT_FALSE(caller.try_acquire(1, 100s));
  auto other = cold(two_a_second());
  EXPECT_TRUE(other.try_acquire(1, 0s));
  EXPECT_FALSE(other.try_acquire(1, 1374ms));
  EXPECT_TRUE(other.try_acquire(1, 1375ms));
}

TEST(WarmUpAsGuava, TheTimeToWarmUpIsKeptWhateverTheCosts) {
  struct Rate {
    Cost count;
    Span period;
  };
  constexpr Cost permits = 10;
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 100; ++trial) {
    for (const std::int64_t factor : {2, 3, 10}) {
      for (const Rate& rate : {Rate{4, 1s}, Rate{2, 1s}, Rate{1, 1s}, Rate{1, 2s}, Rate{1, 10s}}) {
        const Span warm_up = (1 + factor) * permits * rate.period / (2 * rate.count);
        auto caller = cold(warming({rate.count, rate.period, warm_up, factor}));
        for (Cost left = permits; left > 0;) {
          const Cost next =
              std::max<Cost>(1, std::uniform_int_distribution<Cost>(0, left - 1)(random));
          caller.acquire(next);
          left -= next;
        }
        caller.acquire(1);
        ASSERT_EQ(caller.now() - Instant{}, warm_up) << factor << ", " << rate.count;
      }
    }
  }
}

TEST(WarmUp, AnySplitOfACostTakesTheSameTimeToThePartOfATick) {
  std::mt19937_64 random(1);
  const auto below = [&](std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random);
  };
  for (int trial = 0; trial < 1'000; ++trial) {
    const auto config = warming({1 + below(100'000), Span{1 + below(10'000'000)} + 1s,
                                 Span{1 + below(10'000'000)}, 1 + below(20)});
    WarmUp::State whole;
    (void)step<WarmUp>(config, whole, {Instant{}, 1'000, 0s});
    WarmUp::State split;
    for (Cost left = 1'000; left > 0;) {
      const Cost next = 1 + below(std::min<Cost>(left, 100));
      (void)step<WarmUp>(config, split, {Instant{}, next, longest_span});
      left -= next;
    }
    EXPECT_EQ(whole.next_at, split.next_at);
    // What lies below nothing is forgotten call by call; what matters is the same.
    EXPECT_EQ(WarmUp::fresh_at(config, whole), WarmUp::fresh_at(config, split));
  }
}

TEST(WarmUp, UnderTheSameNumbersAStateIsRescaledToItself) {
  const auto config = warming({999'983, 1s, 1s, 7});
  WarmUp::State state;
  (void)step<WarmUp>(config, state, {Instant{}, 100'000, 0s});
  EXPECT_EQ(WarmUp::rescaled(config, config, state, Instant{} + 1ms), state);
  const WarmUp::State never_seen = WarmUp::rescaled(config, config, {}, Instant{});
  EXPECT_EQ(WarmUp::fresh_at(config, never_seen), Instant{});
}

}  // namespace
}  // namespace weir
