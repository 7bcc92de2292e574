// What Guava's RateLimiter does, told by its own tests. Times of theirs are whole microseconds cut
// off; ours are exact and rounded up to the microsecond at which a call acts.
#include <random>
#include <string>
#include <thread>

#include "test/story/face.hpp"
#include "weir/algorithm/pacer.hpp"
#include "weir/algorithm/warm_up.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

class Guava : public FaceStory {
 protected:
  using Bursty = Typed<Pacer>;
  using WarmingUp = Typed<WarmUp>;

  /// What one second brings is saved, and nothing at first.
  static Pacer::Settings bursty(Cost a_second) {
    return {.count = a_second, .period = 1s, .slack = a_second, .spent = a_second};
  }
  static WarmUp::Settings warming(Cost a_second, std::int64_t cold_factor = 3) {
    return {.count = a_second, .period = 1s, .warm_up = 4s, .cold_factor = cold_factor};
  }

  /// So many calls of cost 1: "0.00 1.38 1.13", in seconds, as Guava's tests tell them.
  template <typename Limiter>
  std::string waits(Limiter& limiter, int count) {
    std::string told;
    for (int call = 0; call < count; ++call) {
      const auto hundredths = (acquire(limiter) + 5ms) / 10ms;
      told += told.empty() ? "" : " ";
      told += std::to_string(hundredths / 100) + "." + std::to_string(hundredths / 10 % 10) +
              std::to_string(hundredths % 10);
    }
    return told;
  }
};

TEST_F(Guava, NothingIsSavedAtFirst) {
  Bursty limiter(bursty(5), clock());
  EXPECT_EQ(waits(limiter, 4), "0.00 0.20 0.20 0.20");
}

TEST_F(Guava, AcquireTellsHowLongItWaited) {
  Bursty limiter(bursty(5), clock());
  EXPECT_EQ(acquire(limiter), 0s);
  pass(200ms);
  EXPECT_EQ(acquire(limiter), 0s);
  EXPECT_EQ(acquire(limiter), 200ms);

  Bursty later(bursty(5), clock());
  EXPECT_EQ(acquire(later), 0s);
  pass(400ms);
  EXPECT_EQ(waits(later, 3), "0.00 0.00 0.20");
}

TEST_F(Guava, IdleTimeIsSavedUpToASecond) {
  Bursty limiter(bursty(5), clock());
  pass(2s);
  EXPECT_EQ(waits(limiter, 8), "0.00 0.00 0.00 0.00 0.00 0.00 0.20 0.20");
  pass(1h);
  EXPECT_EQ(acquire(limiter, 1), 0s);
  EXPECT_EQ(acquire(limiter, 3), 0s);
  EXPECT_EQ(acquire(limiter, 2), 0s);
  EXPECT_EQ(acquire(limiter, 1), 200ms);
}

TEST_F(Guava, TheNextCallerPays) {
  Bursty limiter(bursty(1), clock());
  EXPECT_EQ(acquire(limiter, 1), 0s);
  EXPECT_EQ(acquire(limiter, 1), 1s);
  EXPECT_EQ(acquire(limiter, 2), 1s);
  EXPECT_EQ(acquire(limiter, 4), 2s);
  EXPECT_EQ(acquire(limiter, 8), 4s);
  EXPECT_EQ(acquire(limiter, 1), 8s);
}

TEST_F(Guava, ATrySucceedsWhereTheTurnComesWithinTheTimeout) {
  Bursty none(bursty(5), clock());
  EXPECT_TRUE(none.try_acquire());
  EXPECT_FALSE(none.try_acquire());
  pass(100ms);
  EXPECT_FALSE(none.try_acquire());

  Bursty some(bursty(5), clock());
  EXPECT_TRUE(try_acquire(some, 1, 0s));
  EXPECT_TRUE(try_acquire(some, 1, 200ms));
  EXPECT_FALSE(try_acquire(some, 1, 100ms));
  pass(100ms);
  EXPECT_TRUE(try_acquire(some, 1, 100ms));
}

TEST_F(Guava, ATimeoutMayBeAnyNumber) {
  Bursty ever(bursty(5), clock());
  EXPECT_TRUE(try_acquire(ever, 1, 0s));
  pass(100ms);
  EXPECT_TRUE(try_acquire(ever, 1, Time::max()));

  Bursty below(bursty(5), clock());
  EXPECT_TRUE(try_acquire(below, 5, 0s));
  pass(900ms);
  EXPECT_FALSE(try_acquire(below, 1, Time::min()));
  pass(100ms);
  EXPECT_TRUE(try_acquire(below, 1, -1ns));
}

TEST_F(Guava, AnyCostIsGrantedToWhoComesToARestedLimiter) {
  Bursty limiter(bursty(5), clock());
  EXPECT_TRUE(limiter.try_acquire(1'000'000));
  EXPECT_FALSE(try_acquire(limiter, 1, 200'000s - 1us));
  EXPECT_TRUE(try_acquire(limiter, 1, 200'000s));
  WarmingUp cold(warming(2), clock());
  EXPECT_TRUE(cold.try_acquire(1'000'000));
  EXPECT_FALSE(try_acquire(cold, 1, 100s));
}

/// Theirs throws for both.
TEST_F(Guava, ACostOfNothingAsksAndLessIsImpossible) {
  Bursty limiter(bursty(5), clock());
  EXPECT_TRUE(limiter.try_acquire(0));
  EXPECT_EQ(limiter.try_acquire(-1).verdict, Verdict::impossible);
  EXPECT_TRUE(limiter.try_acquire());
  EXPECT_FALSE(limiter.try_acquire());
}

TEST_F(Guava, ANewRateLeavesTheOldDebtAsItIs) {
  Bursty limiter(bursty(1), clock());
  EXPECT_EQ(acquire(limiter), 0s);
  EXPECT_EQ(acquire(limiter), 1s);
  limiter.reconfigure(bursty(2), Inherit::proportional);
  EXPECT_EQ(acquire(limiter), 1s);
  EXPECT_EQ(acquire(limiter, 2), 500ms);
  EXPECT_EQ(acquire(limiter, 4), 1s);
  EXPECT_EQ(acquire(limiter), 2s);
}

TEST_F(Guava, AnyInheritanceButAResetLeavesTheDebt) {
  for (const Inherit how : {Inherit::as_is, Inherit::proportional, Inherit::additive}) {
    Bursty limiter(bursty(1), clock());
    EXPECT_TRUE(limiter.try_acquire(1'000));
    limiter.reconfigure(bursty(1'000), how);
    EXPECT_FALSE(try_acquire(limiter, 1, 1'000s - 1us));
    EXPECT_TRUE(try_acquire(limiter, 1, 1'000s));
  }
}

TEST_F(Guava, WhatIsSavedIsInheritedAsTheCallerSays) {
  const auto saved = [&](Inherit how) {
    Bursty limiter({.count = 10, .period = 1s, .slack = 10, .spent = 6}, clock());
    limiter.reconfigure({.count = 10, .period = 1s, .slack = 20}, how);
    return left(limiter) - 1;
  };
  EXPECT_EQ(saved(Inherit::reset), 20);
  EXPECT_EQ(saved(Inherit::as_is), 4);
  EXPECT_EQ(saved(Inherit::proportional), 8);
  EXPECT_EQ(saved(Inherit::additive), 14);
}

/// Theirs sleep as long as they were told, and who comes next pays for them at the old rate. What
/// has not acted yet is paid at the new one here.
TEST_F(Guava, ANewRateWhileSomebodySleeps) {
  Bursty limiter(bursty(1), clock());
  EXPECT_EQ(acquire(limiter), 0s);
  Outcome outcome;
  std::thread sleeper([&] { outcome = limiter.acquire(); });
  while (limiter.waiting() == 0) std::this_thread::yield();
  limiter.reconfigure(bursty(2), Inherit::proportional);
  EXPECT_EQ(since(limiter.peek().outcome.ready_at), 1500ms);  // theirs at 2 s
  at(1s - 1us);
  EXPECT_EQ(limiter.waiting(), 1U);
  at(1s);
  sleeper.join();
  EXPECT_EQ(since(outcome.ready_at), 1s);
}

TEST_F(Guava, ABurstIsNeverMoreThanOneSecondsWorthWhateverTheRateWas) {
  std::mt19937_64 random(1);
  Bursty limiter(bursty(1), clock());
  const auto time_to_acquire = [&](Cost permits) {
    const Time begin = now();
    while (permits > 0) {
      const auto part = std::uniform_int_distribution<Cost>(0, permits - 1)(random);
      const Cost next = std::max<Cost>(1, part);
      permits -= next;
      acquire(limiter, next);
    }
    acquire(limiter);
    return now() - begin;
  };
  for (const Cost rate : {1'000, 1, 10, 1'000'000, 10, 1}) {
    pass(rate * 1s);
    limiter.reconfigure(bursty(rate), Inherit::proportional);
    EXPECT_LE(time_to_acquire(rate), 1s) << rate;
    EXPECT_GE(time_to_acquire(rate), 1s) << rate;
  }
}

TEST_F(Guava, TheSlowestRateGrantsOneEver) {
  Bursty limiter({.count = 1, .period = longest_span, .slack = 0}, clock());
  EXPECT_TRUE(limiter.try_acquire());
  EXPECT_FALSE(limiter.try_acquire());
  pass(std::chrono::milliseconds{std::numeric_limits<std::int32_t>::max()});
  EXPECT_FALSE(limiter.try_acquire());
}

TEST_F(Guava, ARateThatIsNoneIsRefused) {
  for (const Cost count : {0, -1}) {
    EXPECT_THROW(Bursty({.count = count, .period = 1s, .slack = 1}, clock()),
                 std::invalid_argument);
    EXPECT_THROW(WarmingUp({.count = count, .period = 1s, .warm_up = 1s}, clock()),
                 std::invalid_argument);
  }
}

/// An infinite rate is the bucket's, Settings::unlimited(); what theirs leaves behind has numbers.
TEST_F(Guava, AfterAnInfiniteRateAllIsSavedAndNothingStored) {
  Bursty two({.count = 2, .period = 1s, .slack = 2}, clock());
  EXPECT_EQ(waits(two, 5), "0.00 0.00 0.00 0.50 0.50");
}

TEST_F(Guava, ItWarmsUpAndCoolsDown) {
  WarmingUp limiter(warming(2), clock());
  const std::string from_cold = "0.00 1.38 1.13 0.88 0.63 0.50 0.50 0.50";
  EXPECT_EQ(waits(limiter, 8), from_cold);
  pass(500ms);
  pass(4s);
  EXPECT_EQ(waits(limiter, 8), from_cold);
  pass(500ms);
  pass(2s);
  EXPECT_EQ(waits(limiter, 8), "0.00 0.50 0.50 0.50 0.50 0.50 0.50 0.50");
}

TEST_F(Guava, ItIsSlowerTheGreaterTheColdFactor) {
  WarmingUp limiter(warming(5, 10), clock());
  const std::string from_cold = "0.00 1.75 1.26 0.76 0.30 0.20 0.20 0.20";
  EXPECT_EQ(waits(limiter, 8), from_cold);
  pass(200ms);
  pass(4s);
  EXPECT_EQ(waits(limiter, 8), from_cold);
  pass(200ms);
  pass(1s);
  EXPECT_EQ(waits(limiter, 8), "0.00 0.20 0.20 0.20 0.20 0.20 0.20 0.20");
}

TEST_F(Guava, ANewRateKeepsTheShareOfWhatIsStored) {
  WarmingUp limiter(warming(2), clock());
  waits(limiter, 8);
  pass(4500ms);
  EXPECT_EQ(waits(limiter, 3), "0.00 1.38 1.13");
  limiter.reconfigure(warming(4), Inherit::proportional);
  EXPECT_EQ(waits(limiter, 1), "0.88");  // the debt, at the old rate
  EXPECT_EQ(waits(limiter, 4), "0.34 0.28 0.25 0.25");
  pass(4250ms);
  EXPECT_EQ(waits(limiter, 11), "0.00 0.72 0.66 0.59 0.53 0.47 0.41 0.34 0.28 0.25 0.25");
}

TEST_F(Guava, ANewRateKeepsTheShareWithAnyColdFactor) {
  WarmingUp limiter(warming(5, 10), clock());
  waits(limiter, 8);
  pass(4200ms);
  EXPECT_EQ(waits(limiter, 3), "0.00 1.75 1.26");
  limiter.reconfigure(warming(10, 10), Inherit::proportional);
  EXPECT_EQ(waits(limiter, 5), "0.76 0.20 0.10 0.10 0.10");
  pass(4100ms);
  EXPECT_EQ(waits(limiter, 11), "0.00 0.94 0.81 0.69 0.57 0.44 0.32 0.20 0.10 0.10 0.10");
}

/// All stored is warm in warm_up, from the threshold on it takes half of that; any costs.
TEST_F(Guava, AnySplitOfCostsTakesTheSameTime) {
  for (const Cost part : {1, 2, 5, 10}) {
    WarmingUp limiter({.count = 4, .period = 1s, .warm_up = 5s, .cold_factor = 3}, clock());
    const Time begin = now();
    for (Cost taken = 0; taken < 10; taken += part) acquire(limiter, part);
    acquire(limiter);
    EXPECT_EQ(now() - begin, 5s) << part;
    const Time warm = now();
    for (Cost taken = 0; taken < 10; taken += part) acquire(limiter, part);
    EXPECT_LE(now() - warm, 2500ms) << part;
  }
}

/// Theirs with a warm-up of nothing is unlimited.
TEST_F(Guava, AWarmUpOfNothingIsRefused) {
  EXPECT_THROW(WarmingUp({.count = 1, .period = 1s, .warm_up = 0s}, clock()),
               std::invalid_argument);
}

/// Who tries no more often than the rate, and never waits, gets half of it for ever: what theirs
/// does too (its issue 3552). Trying more often, or waiting for the turn, warms it up.
TEST_F(Guava, WhoOnlyTriesAtTheVeryRateNeverWarmsItUp) {
  const auto granted_in_the_tenth_second = [&](Time between, Time timeout) {
    at(0s);
    WarmingUp limiter({.count = 10, .period = 1s, .warm_up = 1s, .cold_factor = 3}, clock());
    Cost count = 0;
    for (Time next = 0s; next < 10s; next += between) {
      at(std::max(next, now()));
      const bool granted = try_acquire(limiter, 1, timeout);
      count += granted && now() >= 9s && now() < 10s ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(granted_in_the_tenth_second(100ms, 0s), 5);
  EXPECT_EQ(granted_in_the_tenth_second(50ms, 0s), 10);
  EXPECT_EQ(granted_in_the_tenth_second(1ms, 0s), 10);
  EXPECT_EQ(granted_in_the_tenth_second(100ms, 300ms), 10);
}

}  // namespace
}  // namespace weir
