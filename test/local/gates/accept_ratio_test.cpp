#include "weir/local/accept_ratio.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace weir {
namespace {

using namespace std::chrono_literals;
using Gate = BasicAcceptRatioGate<ManualClock>;

std::string draws(Gate& gate) {
  for (int call = 0; call < 200; ++call) gate.try_enter().end(CallEnd::dropped);
  std::string all;
  for (int call = 0; call < 200; ++call) {
    Gate::Pass pass = gate.try_enter();
    all += pass ? '.' : 'r';
    pass.withdraw();
  }
  return all;
}

TEST(AcceptRatioGateTest, RefusesMostOfWhatABackendDoesNotTake) {
  ManualTime time{SteadyInstant{1'000h}};
  Gate gate({.seed = 1}, ManualClock(time));
  int tried = 0;
  for (int call = 0; call < 10'000; ++call) {
    Gate::Pass pass = gate.try_enter();
    if (!pass) {
      EXPECT_GT(pass.refused().probability, 0);
      EXPECT_LE(pass.refused().probability, 0.9);
      EXPECT_EQ(pass.refused().ready_at, time.now());
      continue;
    }
    ++tried;
    pass.end(CallEnd::dropped);
    pass.end(CallEnd::success);  // too late to count
  }
  EXPECT_NEAR(tried, 1'000, 150);
  EXPECT_EQ(gate.peek().counts, (AcceptRatio::Counts{10'000, 0}));
  EXPECT_EQ(gate.peek().refusal, 0.9);
  EXPECT_EQ(gate.peek(Priority::critical).refusal, 0);
}

TEST(AcceptRatioGateTest, CountsACallWhereItEnds) {
  ManualTime time{SteadyInstant{1'000h}};
  Gate gate({.window = 10s, .parts = 10}, ManualClock(time));
  Gate::Pass slow = gate.try_enter({.priority = Priority::sheddable});
  time.advance(1h);
  slow.end(CallEnd::success);
  EXPECT_EQ(gate.peek(Priority::sheddable).counts, (AcceptRatio::Counts{1, 1}));
  time.advance(9s);
  EXPECT_EQ(gate.peek(Priority::sheddable).counts, (AcceptRatio::Counts{1, 1}));
}

TEST(AcceptRatioGateTest, WithdrawnAndDroppedPassesCountNothing) {
  ManualTime time{SteadyInstant{1'000h}};
  Gate gate({}, ManualClock(time));
  gate.try_enter().withdraw();
  { const Gate::Pass pass = gate.try_enter(); }
  EXPECT_EQ(gate.peek().counts, AcceptRatio::Counts{});
}

TEST(AcceptRatioGateTest, DrawsAsItsSeedSaysAndElseDifferentlyEachTime) {
  ManualTime time{SteadyInstant{1'000h}};
  Gate one({.seed = 7}, ManualClock(time));
  Gate same({.seed = 7}, ManualClock(time));
  Gate own({}, ManualClock(time));
  Gate another({}, ManualClock(time));
  EXPECT_EQ(draws(one), draws(same));
  EXPECT_NE(draws(own), draws(another));
}

TEST(AcceptRatioGateTest, NamesTheSettingThatIsNoGood) {
  try {
    const AcceptRatioGate gate({.most_refused = 1});
    FAIL() << "taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "accept ratio: most_refused: expected 0 to 0.999");
  }
}

TEST(AcceptRatioGateThreads, LoseNoCount) {
  ManualTime time{SteadyInstant{1'000h}};
  Gate gate({.seed = 1}, ManualClock(time));
  std::atomic<std::int64_t> accepts{0};
  std::vector<std::thread> threads;
  constexpr int calls = 2'000;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int call = 0; call < calls; ++call) {
        if (call % 100 == 0) time.advance(1ms);
        Gate::Pass pass = gate.try_enter();
        if (!pass) continue;
        const bool accepted = (call + thread) % 4 == 0;
        if (accepted) ++accepts;
        pass.end(accepted ? CallEnd::success : CallEnd::dropped);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gate.peek().counts, (AcceptRatio::Counts{8 * calls, accepts}));
}

}  // namespace
}  // namespace weir
