#include "weir/local/hot_values.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "weir/local/accept_ratio.hpp"
#include "weir/local/chain.hpp"
#include "weir/local/load_gate.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Texts = HotValueGate<std::string, ManualClock>;
using Numbers = HotValueGate<std::uint64_t, ManualClock>;

static_assert(Gate<Texts::OfValue> && Gate<LoadGate> && Gate<AcceptRatioGate>);

class HotValueTest : public testing::Test {
 protected:
  ManualTime time{SteadyInstant{1'000h}};
  ManualClock clock{time};
};

TEST_F(HotValueTest, AHotValueIsRefusedAndOthersAreNot) {
  Texts gate({.in_flight = 2}, clock);
  Texts::Pass first = gate.try_enter("hot");
  const Texts::Pass second = gate.try_enter("hot");
  const Texts::Pass third = gate.try_enter("hot");
  EXPECT_TRUE(first && second);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.refused().reason, Texts::Reason::in_flight);
  EXPECT_EQ(third.refused().in_flight, 2);
  EXPECT_EQ(third.refused().ready_at, time.now());
  EXPECT_TRUE(gate.try_enter("cold"));
  first.end(CallEnd::failure);
  EXPECT_TRUE(gate.try_enter("hot"));
}

TEST_F(HotValueTest, ARateIsAnsweredAsByATokenBucket) {
  Texts gate({.rate = {10, 1s, 3}}, clock);
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(gate.try_enter("hot"));
  const Texts::Pass refused = gate.try_enter("hot");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refused().reason, Texts::Reason::rate);
  EXPECT_EQ(refused.refused().ready_at, time.now() + 100ms);
  time.advance(100ms);
  EXPECT_TRUE(gate.try_enter("hot"));
  EXPECT_FALSE(gate.try_enter("hot"));
  const Texts::Pass never = gate.try_enter("cold", {.weight = 4});
  EXPECT_EQ(never.refused().ready_at, SteadyInstant::max());
}

TEST_F(HotValueTest, WhatTheRateRefusesIsNotInFlight) {
  Texts gate({.in_flight = 5, .rate = {1, 1h, 2}}, clock);
  Texts::Pass first = gate.try_enter("hot");
  Texts::Pass second = gate.try_enter("hot");
  for (int call = 0; call < 100; ++call) {
    EXPECT_EQ(gate.try_enter("hot").refused().reason, Texts::Reason::rate);
  }
}

TEST_F(HotValueTest, WeightsCountInBoth) {
  Texts gate({.in_flight = 5, .rate = {100, 1s, 8}}, clock);
  Texts::Pass five = gate.try_enter("hot", {.weight = 5});
  EXPECT_TRUE(five);
  EXPECT_FALSE(gate.try_enter("hot"));
  five.end(CallEnd::success);
  EXPECT_TRUE(gate.try_enter("hot", {.weight = 3}));
  EXPECT_FALSE(gate.try_enter("hot", {.weight = -7})) << "a call is one at least";
  EXPECT_TRUE(gate.try_enter("cold", {.weight = 0}));
}

TEST_F(HotValueTest, AWeightAboveTheLimitIsNeverLetIn) {
  Texts gate({.in_flight = 5}, clock);
  EXPECT_EQ(gate.try_enter("hot", {.weight = 6}).refused().ready_at, SteadyInstant::max());
}

TEST_F(HotValueTest, APassThatWasMovedAwayLetsNobodyIn) {
  Texts gate({.in_flight = 5}, clock);
  Texts::Pass pass = gate.try_enter("hot");
  Texts::Pass other = std::move(pass);
  EXPECT_TRUE(other);
  EXPECT_FALSE(pass);  // NOLINT(bugprone-use-after-move)
  pass = std::move(other);
  EXPECT_TRUE(pass);
  EXPECT_FALSE(other);  // NOLINT(bugprone-use-after-move)
}

TEST_F(HotValueTest, AWithdrawnCallIsAsIfItHadNotEntered) {
  Texts gate({.in_flight = 2, .rate = {10, 1s, 2}}, clock);
  for (int call = 0; call < 100; ++call) {
    Texts::Pass one = gate.try_enter("hot");
    Texts::Pass two = gate.try_enter("hot");
    ASSERT_TRUE(one && two) << call;
    one.withdraw();
    two.withdraw();
    two.withdraw();
  }
}

TEST_F(HotValueTest, AWithdrawalGivesBackNothingThatOthersTook) {
  Texts gate({.rate = {1, 1s, 10}}, clock);
  Texts::Pass early = gate.try_enter("hot", {.weight = 10});
  time.advance(100s);  // repaid
  for (int call = 0; call < 10; ++call) EXPECT_TRUE(gate.try_enter("hot"));
  early.withdraw();
  EXPECT_FALSE(gate.try_enter("hot"));
}

TEST_F(HotValueTest, AValueMayHaveLimitsOfItsOwn) {
  Texts gate({.in_flight = 1, .rate = {10, 1s, 10}}, clock);
  EXPECT_TRUE(gate.override_in_flight("vip", 3));
  EXPECT_TRUE(gate.override_rate("vip", {10, 1s, 2}));
  std::vector<Texts::Pass> passes;
  for (int call = 0; call < 2; ++call) passes.push_back(gate.try_enter("vip"));
  EXPECT_TRUE(passes[0] && passes[1]);
  EXPECT_EQ(gate.try_enter("vip").refused().reason, Texts::Reason::rate);
  time.advance(1s);
  passes.push_back(gate.try_enter("vip"));
  EXPECT_TRUE(passes.back());
  EXPECT_EQ(gate.try_enter("vip").refused().reason, Texts::Reason::in_flight);
  EXPECT_TRUE(gate.override_in_flight("vip", 4));
  EXPECT_TRUE(gate.try_enter("vip"));
  const Texts::Pass other = gate.try_enter("other");
  EXPECT_TRUE(other);
  EXPECT_FALSE(gate.try_enter("other"));
}

TEST_F(HotValueTest, InAChainWhatAGateBehindRefusesIsGivenBack) {
  Texts outer({.in_flight = 2, .rate = {1, 1h, 2}}, clock);
  Texts inner({.in_flight = 1}, clock);
  const Texts::Pass taken = inner.try_enter("b");
  for (int call = 0; call < 100; ++call) {
    EXPECT_EQ(chain(outer.on("a"), inner.on("b")).try_enter().refused_by(), 1u);
    time.advance(1ms);
  }
  auto both = chain(outer.on("a"), inner.on("c")).try_enter({.weight = 1});
  EXPECT_TRUE(both);
  EXPECT_TRUE(outer.try_enter("a"));
  EXPECT_FALSE(outer.try_enter("a"));
}

TEST_F(HotValueTest, OverridesHaveAnEnd) {
  Numbers gate({.in_flight = 1}, clock);
  for (std::uint64_t value = 0; value < 1'024; ++value) {
    ASSERT_TRUE(gate.override_in_flight(value, 2));
  }
  EXPECT_FALSE(gate.override_in_flight(5'000, 2));
  EXPECT_TRUE(gate.override_in_flight(1'000, 3));
}

TEST_F(HotValueTest, SaysWhichSettingIsNoGood) {
  const auto error = [&](const Texts::Settings& settings) -> std::string {
    try {
      const Texts gate(settings, clock);
      return "";
    } catch (const std::invalid_argument& wrong) {
      return std::string(wrong.what()).substr(0, std::string(wrong.what()).find(':'));
    }
  };
  EXPECT_EQ(error({.in_flight = 1}), "");
  EXPECT_EQ(error({}), "in_flight, rate");
  EXPECT_EQ(error({.in_flight = -1}), "in_flight, rate");
  EXPECT_EQ(error({.in_flight = -1, .rate = {1, 1s, 1}}), "in_flight");
  EXPECT_EQ(error({.in_flight = (std::int64_t{1} << 31) + 1}), "in_flight");
  EXPECT_EQ(error({.rate = {-1, 1s, 1}}), "rate");
  EXPECT_EQ(error({.rate = {1, 0s, 1}}), "rate");
  EXPECT_EQ(error({.in_flight = 1, .max_values = 0}), "max_values");
  EXPECT_EQ(error({.in_flight = 1, .max_values = std::size_t{1} << 40}), "max_values");
  Texts gate({.in_flight = 1}, clock);
  EXPECT_THROW((void)gate.override_rate("a", {1, 1s, 1}), std::invalid_argument);
  EXPECT_THROW((void)gate.override_in_flight("a", 0), std::invalid_argument);
}

/// More threads than cores, more values than there is room for: of each value what is in flight is
/// counted from outside, and what its rate granted.
TEST(HotValueThreads, LetNoMoreInThanTheBound) {
  constexpr std::size_t hot = 4;
  constexpr std::int64_t limit = 3;
  ManualTime time{SteadyInstant{1'000h}};
  Numbers gate({.in_flight = limit, .rate = {1'000, 1s, 50}, .max_values = 50, .hash_key = {1, 2}},
               ManualClock(time));
  std::array<std::atomic<std::int64_t>, hot> in_flight{};
  std::array<std::atomic<std::int64_t>, hot> granted{};
  std::atomic<std::int64_t> most{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      std::minstd_rand random(thread + 1);
      std::vector<std::pair<std::uint64_t, Numbers::Pass>> held;
      for (int call = 0; call < 3'000; ++call) {
        time.advance(1us);
        const bool wants_hot = random() % 2 == 0;
        const std::uint64_t value = wants_hot ? random() % hot : hot + random() % 5'000;
        Numbers::Pass pass = gate.try_enter(value);
        if (pass && value < hot) {
          ++granted[value];
          const std::int64_t now = in_flight[value].fetch_add(1) + 1;
          std::int64_t before = most.load();
          while (now > before && !most.compare_exchange_weak(before, now)) {
          }
        }
        if (pass) held.emplace_back(value, std::move(pass));
        if (held.size() < 40) continue;
        std::swap(held[random() % held.size()], held.back());
        if (held.back().first < hot) in_flight[held.back().first].fetch_sub(1);
        held.pop_back();
      }
      for (const auto& [value, pass] : held) {
        if (value < hot) in_flight[value].fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, limit);
  EXPECT_GE(most, 2);
  const auto length_us =
      std::chrono::duration_cast<std::chrono::microseconds>(time.now() - SteadyInstant{1'000h});
  for (const auto& units : granted) EXPECT_LE(units, 50 + length_us.count() / 1'000 + 1);
  // All are gone.
  for (std::uint64_t value = 0; value < 5'000; ++value) {
    EXPECT_NE(gate.try_enter(value).refused().in_flight, limit);
  }
}

}  // namespace
}  // namespace weir
