// A reserve for what matters more: who is turned away first, and that nobody eats into it.
#include "weir/local/keeping.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>

#include "weir/local/chain.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr SteadyInstant start{1h};
constexpr Reserve reserve{.normal = 2, .sheddable = 5, .background = 8};

using Word = BasicLimiter<AtomicWord, ManualClock>;
using Text = BasicLimiter<LimitState, ManualClock>;
static_assert(Gate<Keeping<Word>>);

template <typename AnyLimiter>
Cost granted(AnyLimiter& limiter, Priority priority) {
  auto gate = keeping(limiter, reserve);
  Cost units = 0;
  while (gate.try_enter({.priority = priority})) ++units;
  return units;
}

template <typename AnyLimiter>
void leaves_each_its_reserve(AnyLimiter& limiter) {
  EXPECT_EQ(granted(limiter, Priority::background), 2);
  EXPECT_EQ(granted(limiter, Priority::sheddable), 3);
  EXPECT_EQ(granted(limiter, Priority::normal), 3);
  EXPECT_EQ(granted(limiter, Priority::critical), 2);
}

TEST(Keeping, EachPriorityLeavesItsReserveToThoseAbove) {
  ManualTime time(start);
  Word word({.count = 1, .period = 1h, .burst = 10}, ManualClock(time));
  leaves_each_its_reserve(word);
  for (const char* text : {"1/1h burst 10", "sliding-log 10/1h", "fixed-window 10/1d"}) {
    SCOPED_TRACE(text);
    auto limiter = Text::of(text, ManualClock(time));
    leaves_each_its_reserve(limiter);
  }
}

TEST(Keeping, TellsWhenTheCallWouldLeaveItsReserve) {
  ManualTime time(start);
  Word word({.count = 1, .period = 1s, .burst = 10}, ManualClock(time));
  EXPECT_TRUE(word.try_acquire(7));
  auto gate = keeping(word, reserve);
  const auto refused = gate.try_enter({.priority = Priority::sheddable});
  EXPECT_EQ(refused.refused().ready_at, start + 3s);
  EXPECT_FALSE(gate.try_enter({.priority = Priority::sheddable}, start + 3s - 2ns));
  EXPECT_TRUE(gate.try_enter({.priority = Priority::sheddable}, start + 3s));
}

TEST(Keeping, AWeightThatLeavesNoReserveIsNeverLetIn) {
  ManualTime time(start);
  Word word({.count = 1, .period = 1s, .burst = 10}, ManualClock(time));
  auto text = Text::of("1/1s burst 10", ManualClock(time));
  const auto check = [](auto& limiter) {
    auto gate = keeping(limiter, reserve);
    EXPECT_EQ(gate.try_enter({.weight = 9}).refused().verdict, Verdict::impossible);
    EXPECT_EQ(gate.try_enter({.weight = -1}).refused().verdict, Verdict::impossible);
    EXPECT_EQ(gate.try_enter({.weight = -1, .priority = Priority::critical}).refused().verdict,
              Verdict::impossible);
    EXPECT_TRUE(gate.try_enter({.weight = 8}));
  };
  check(word);
  check(text);
}

TEST(Keeping, ARefusalForTheReserveShutsNobodyOut) {
  ManualTime time(start);
  auto limiter = Text::of("10/1h burst 10 block 1d", ManualClock(time));
  EXPECT_TRUE(limiter.try_acquire(9));
  EXPECT_FALSE(keeping(limiter, reserve).try_enter());
  EXPECT_TRUE(limiter.try_acquire(1));
}

TEST(Keeping, AReserveThatTurnsTheOrderAroundIsRefused) {
  ManualTime time(start);
  Word word({.count = 1, .period = 1s, .burst = 10}, ManualClock(time));
  EXPECT_THROW(keeping(word, {.normal = -1}), std::invalid_argument);
  EXPECT_THROW(keeping(word, {.normal = 1}), std::invalid_argument);
  EXPECT_THROW(keeping(word, {.normal = 1, .sheddable = 2, .background = 1}),
               std::invalid_argument);
}

TEST(Keeping, UnderOverloadTheLeastImportantGoFirst) {
  ManualTime time(start);
  Word word({.count = 100, .period = 1s, .burst = 20}, ManualClock(time));
  auto gate = keeping(word, {.normal = 5, .sheddable = 10, .background = 15});
  // Of each priority 40 calls a second on average: 160 for a limit of 100.
  std::minstd_rand random(3);
  std::array<int, priorities> asked{};
  std::array<int, priorities> let_in{};
  for (int call = 0; call < 16'000; ++call) {
    time.advance(std::chrono::microseconds{6'250});
    const auto priority = static_cast<std::size_t>(random() % priorities);
    ++asked[priority];
    if (gate.try_enter({.priority = static_cast<Priority>(priority)})) ++let_in[priority];
  }
  const auto share = [&](std::size_t of) { return static_cast<double>(let_in[of]) / asked[of]; };
  EXPECT_EQ(let_in[0], asked[0]);  // nothing of it lost while there is something below to shed
  EXPECT_GT(share(1), 0.99);
  EXPECT_GT(share(2), 0.3);
  EXPECT_LT(share(2), 0.7);
  EXPECT_LT(share(3), 0.05);
}

}  // namespace
}  // namespace weir
