#include "weir/local/load_gate.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "test/local/gates/scripted_load.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Gate = BasicLoadGate<ManualClock, ScriptedLoad>;

class LoadGateTest : public testing::Test {
 protected:
  ManualTime time{SteadyInstant{1'000h}};
  ScriptedMachine machine;
  std::optional<Gate> gate;

  void make(const Gate::Settings& settings = {.above = {.machine_cpu = 800}, .smooth_over = 0ns}) {
    gate.emplace(settings, ManualClock(time), ScriptedLoad(machine));
  }

  /// Eight at a time, 10 ms each: a capacity of 8.
  void show_eight() {
    for (int round = 0; round < 100; ++round) {
      std::vector<Gate::Pass> passes;
      for (int call = 0; call < 8; ++call) passes.push_back(gate->try_enter());
      time.advance(10ms);
      for (Gate::Pass& pass : passes) pass.end(CallEnd::success);
    }
  }

  std::vector<Gate::Pass> fill(const Entry& entry = {}) {
    std::vector<Gate::Pass> passes;
    for (;;) {
      Gate::Pass pass = gate->try_enter(entry);
      if (!pass) return passes;
      passes.push_back(std::move(pass));
      if (passes.size() > 1'000) return passes;
    }
  }
};

TEST_F(LoadGateTest, LetsAllInWhileTheMachineIsCalm) {
  make();
  show_eight();
  EXPECT_GT(fill().size(), 1'000u);
  EXPECT_EQ(gate->stats().refused, 0u);
}

TEST_F(LoadGateTest, LetsInTheCapacityAndWhatItVariesByWhileTheMachineIsLoaded) {
  make();
  show_eight();
  machine.cpu = 900;
  time.advance(100ms);
  EXPECT_EQ(gate->stats().capacity, 8);
  EXPECT_EQ(fill().size(), 17u);  // 8 + 3 * sqrt(8) are 16.5
  EXPECT_EQ(gate->stats().in_flight, 0) << "all passes are gone";
}

TEST_F(LoadGateTest, SaysWhyItRefuses) {
  make();
  show_eight();
  machine.cpu = 900;
  time.advance(100ms);
  const SteadyInstant began = time.now();
  const auto passes = fill();
  time.advance(10ms);
  const Gate::Pass refused = gate->try_enter();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refused().because, LoadGauge::machine_cpu);
  EXPECT_EQ(refused.refused().reading, 900);
  EXPECT_EQ(refused.refused().in_flight, 17);
  EXPECT_EQ(refused.refused().capacity, 8);
  EXPECT_EQ(refused.refused().since, began);
  EXPECT_EQ(refused.refused().ready_at, time.now());
  EXPECT_TRUE(gate->try_enter({.priority = Priority::critical}));
}

TEST_F(LoadGateTest, AWithdrawnCallLeavesNoTrace) {
  make();
  show_eight();
  machine.cpu = 900;
  time.advance(100ms);
  auto passes = fill();
  for (int again = 0; again < 1'000; ++again) {
    passes.back().withdraw();
    passes.back().end(CallEnd::success);  // too late to count
    passes.pop_back();
    passes.push_back(gate->try_enter());
    ASSERT_TRUE(passes.back());
    ASSERT_FALSE(gate->try_enter());
  }
  EXPECT_EQ(gate->stats().capacity, 8);
}

TEST_F(LoadGateTest, AMovedPassEndsOnceAndADroppedOneTellsNothing) {
  make();
  {
    Gate::Pass pass = gate->try_enter();
    Gate::Pass moved = std::move(pass);
    pass.end(CallEnd::success);  // NOLINT(bugprone-use-after-move): it does nothing
    EXPECT_EQ(gate->stats().in_flight, 1);
    moved = gate->try_enter();
    EXPECT_EQ(gate->stats().in_flight, 1) << "the assigned one ended";
  }
  EXPECT_EQ(gate->stats().in_flight, 0);
  time.advance(1s);
  EXPECT_EQ(gate->stats().capacity, -1) << "neither was a success";
}

TEST_F(LoadGateTest, ReadsOnceInEachSpanAndOnlyWhenAsked) {
  make();
  for (int call = 0; call < 1'000; ++call) {
    time.advance(1ms);
    (void)gate->try_enter();
  }
  EXPECT_EQ(machine.readings, 10);
  time.advance(1h);
  EXPECT_EQ(machine.readings, 10);
  (void)gate->try_enter();
  (void)gate->try_enter();
  EXPECT_EQ(machine.readings, 11);
}

TEST_F(LoadGateTest, TheCallThatReadsIsJudgedByWhatItRead) {
  make();
  show_eight();
  const auto passes = fill();
  machine.cpu = 900;
  EXPECT_TRUE(gate->try_enter());
  time.advance(100ms);
  EXPECT_FALSE(gate->try_enter());
  machine.cpu = 700;
  EXPECT_FALSE(gate->try_enter());
  time.advance(100ms);
  EXPECT_TRUE(gate->try_enter());
}

TEST_F(LoadGateTest, NamesTheSettingThatIsNoGood) {
  try {
    make({.above = {.machine_cpu = 800}, .parts = 65});
    FAIL() << "taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "load gate: parts: expected 2 to 64");
  }
}

TEST(LoadGateOnThisMachine, TakesCalls) {
  LoadGate gate({.above = {.machine_cpu = 1'000}});
  LoadGate::Pass pass = gate.try_enter();
  EXPECT_TRUE(pass);
  pass.end(CallEnd::success);
  EXPECT_EQ(gate.stats().samples, 1u);
}

}  // namespace
}  // namespace weir
