// What go.uber.org/ratelimit does, told by its own tests, of a limiter that paces.
#include "test/story/face.hpp"
#include "weir/algorithm/pacer.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

class Uber : public FaceStory {
 protected:
  using Limiter = Typed<Pacer>;

  /// No burst at first, as theirs.
  static Pacer::Settings pace(Cost count, Span period, Cost slack) {
    return {.count = count, .period = period, .slack = slack, .spent = slack};
  }

  /// Takes without sleeping: when it acts.
  Time take(Limiter& limiter) {
    auto turn = limiter.reserve();
    EXPECT_TRUE(turn);
    turn.commit();
    return since(turn.ready_at());
  }
};

TEST_F(Uber, TheFirstCallActsAtOnceAndNoBurstFollows) {
  for (const Cost slack : {0, 1, 10, 100}) {
    at(1h);
    Limiter limiter(pace(10, 1s, slack), clock());
    EXPECT_EQ(take(limiter), 1h) << slack;
    EXPECT_EQ(take(limiter), 1h + 100ms) << slack;
    EXPECT_EQ(take(limiter), 1h + 200ms) << slack;
  }
}

TEST_F(Uber, WithoutSlackTimeNotUsedIsLost) {
  Limiter limiter(pace(10, 1s, 0), clock());
  EXPECT_EQ(take(limiter), 0s);
  at(1s);
  EXPECT_EQ(take(limiter), 1s);
  EXPECT_EQ(take(limiter), 1100ms);
}

TEST_F(Uber, SlackIsAppliedOnceAndNotAgain) {
  Limiter limiter(pace(1, 1s, 1), clock());
  at(1us);
  EXPECT_EQ(take(limiter), 1us);
  int by_3s = 1;
  int by_10s = 1;
  for (const Time late : {1us, 2us, 3us, 4us}) {
    at(2s + late);
    const Time acts_at = take(limiter);
    by_3s += acts_at <= 3s ? 1 : 0;
    by_10s += acts_at <= 10s ? 1 : 0;
  }
  EXPECT_EQ(by_3s, 3);
  EXPECT_EQ(by_10s, 5);
}

/// Theirs was never limited again once it had rested for longer than its slack (its issues 106,
/// 119, 122), or saved time without slack (90).
TEST_F(Uber, AfterALongRestTheSlackIsAllThatIsSaved) {
  for (const Cost slack : {0, 1, 10}) {
    at(0s);
    Limiter limiter(pace(10, 1s, slack), clock());
    EXPECT_EQ(take(limiter), 0s);
    at(100ms * (slack + 1));  // the boundary itself
    EXPECT_EQ(grants(limiter, 1'000), slack + 1);
    pass(1h);
    EXPECT_EQ(grants(limiter, 1'000), slack + 1);
    EXPECT_EQ(take(limiter), now() + 100ms);
  }
}

TEST_F(Uber, AHundredASecondIsAHundredASecond) {
  Limiter limiter(pace(100, 1s, 0), clock());
  int taken = 0;
  while (take(limiter) < 3s) ++taken;
  EXPECT_EQ(taken, 300);
}

TEST_F(Uber, SevenAMinuteIsSevenAMinute) {
  Limiter limiter(pace(7, 1min, 0), clock());
  int by_1s = 0;
  int by_1min = 0;
  int by_2min = 0;
  for (int call = 0; call < 20; ++call) {
    const Time acts_at = take(limiter);
    by_1s += acts_at <= 1s ? 1 : 0;
    by_1min += acts_at <= 1min ? 1 : 0;
    by_2min += acts_at <= 2min ? 1 : 0;
  }
  EXPECT_EQ(by_1s, 1);
  EXPECT_EQ(by_1min, 8);
  EXPECT_EQ(by_2min, 15);
}

TEST_F(Uber, WhatASlowLimiterHeldUpIsMadeUpForWithinTheSlack) {
  struct Sum {
    Cost slack;
    int wanted;
  };
  for (const Sum& sum : {Sum{0, 120}, Sum{10, 130}, Sum{20, 140}, Sum{150, 270}}) {
    at(0s);
    Limiter slow(pace(10, 1s, 0), clock());
    Limiter fast(pace(100, 1s, sum.slack), clock());
    int taken = 0;
    for (; taken < 20; ++taken) {
      at(take(slow));
      EXPECT_EQ(take(fast), now());
    }
    at(2s);
    while (take(fast) < 3s) ++taken;
    EXPECT_EQ(taken, sum.wanted) << sum.slack;
  }
}

TEST_F(Uber, SlackFollowsThePeriod) {
  Limiter limiter(pace(60, 1min, 10), clock());
  EXPECT_EQ(take(limiter), 0s);
  at(1h);
  EXPECT_EQ(grants(limiter, 100), 11);
  EXPECT_EQ(take(limiter), 1h + 1s);
}

/// Theirs panics at 0, and paces nothing above 10^9/s.
TEST_F(Uber, ARateThatIsNoneIsRefused) {
  EXPECT_THROW(Limiter(pace(0, 1s, 10), clock()), std::invalid_argument);
  EXPECT_THROW(Limiter(pace(1'000'000'001, 1s, 10), clock()), std::invalid_argument);
  EXPECT_THROW(Limiter(pace(10, 1s, -1), clock()), std::invalid_argument);
  EXPECT_THROW(Limiter({.count = 10, .period = 1s, .slack = 1, .spent = 2}, clock()),
               std::invalid_argument);
}

/// Theirs can only block.
TEST_F(Uber, ATurnCanBeAskedForAndGivenBack) {
  Limiter limiter(pace(10, 1s, 0), clock());
  EXPECT_TRUE(limiter.try_acquire());
  EXPECT_FALSE(limiter.try_acquire());
  EXPECT_FALSE(limiter.reserve(1, 99ms));
  auto turn = limiter.reserve(1, 100ms);
  EXPECT_TRUE(turn);
  EXPECT_EQ(turn.cancel(), 1);
  EXPECT_EQ(take(limiter), 100ms);
}

}  // namespace
}  // namespace weir
