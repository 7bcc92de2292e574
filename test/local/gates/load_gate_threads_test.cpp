// More threads than cores at one load gate: what is in flight is counted from outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "test/local/gates/scripted_load.hpp"
#include "weir/local/load_gate.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Gate = BasicLoadGate<ManualClock, ScriptedLoad>;

TEST(LoadGateThreads, LetNoMoreInThanTheBoundAndReadOneAtATime) {
  ManualTime time{SteadyInstant{1'000h}};
  ScriptedMachine machine;
  Gate gate({.above = {.machine_cpu = 800}, .smooth_over = 0ns, .sample_every = 1ms},
            ManualClock(time), ScriptedLoad(machine));
  // Four at a time, 10 ms each: a capacity of 4, and 4 + 3 * 2 are let in, and one more.
  for (int round = 0; round < 100; ++round) {
    std::vector<Gate::Pass> passes;
    for (int call = 0; call < 4; ++call) passes.push_back(gate.try_enter());
    time.advance(10ms);
    for (Gate::Pass& pass : passes) pass.end(CallEnd::success);
  }
  machine.cpu = 1'000;
  machine.turns = 50;
  time.advance(1ms);
  (void)gate.try_enter();
  std::atomic<int> in_flight{0};
  std::atomic<int> most{0};
  std::atomic<int> let_in{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      std::minstd_rand random(thread + 1);
      std::vector<Gate::Pass> held;
      for (int call = 0; call < 2'000; ++call) {
        if (random() % 64 == 0) time.advance(100us);
        Gate::Pass pass = gate.try_enter();
        const bool entered{pass};
        if (entered) {
          ++let_in;
          const int now = in_flight.fetch_add(1) + 1;
          int before = most.load();
          while (now > before && !most.compare_exchange_weak(before, now)) {
          }
          held.push_back(std::move(pass));
        } else {
          ++refused;
        }
        if (held.size() > 16 || (!entered && !held.empty())) {
          in_flight.fetch_sub(1);
          // Nothing that would tell of another capacity.
          if (random() % 2 == 0) held.back().withdraw();
          held.pop_back();
        }
      }
      in_flight.fetch_sub(static_cast<int>(held.size()));
      held.clear();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 11);
  EXPECT_GE(let_in, 11);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(gate.stats().in_flight, 0);
  EXPECT_FALSE(machine.two_at_once);
  EXPECT_GT(machine.readings, 1);
}

}  // namespace
}  // namespace weir
