#include "weir/local/tsc_timeline.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace weir {
namespace {

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000 * us;
constexpr std::int64_t second = 1'000 * ms;

/// The clocks of a machine, where each reading takes time and others may come in between.
struct World {
  static constexpr std::int64_t start_ns = 1'000 * second;

  std::int64_t true_ns = start_ns;
  std::int64_t reading_takes_ns = 20;
  std::uint64_t jumped = 0;
  bool usable = true;
  bool quickens = false;          ///< a counter whose rate grows all the time
  std::function<void()> between;  ///< called once, between two readings

  std::uint64_t tsc() {
    pass();
    const auto ns = static_cast<std::uint64_t>(true_ns - start_ns);
    return ns * 3 + jumped + (quickens ? ns * ns / 1'000'000 : 0);
  }
  std::int64_t steady_ns() {
    pass();
    if (between) std::exchange(between, nullptr)();
    return true_ns;
  }

 private:
  void pass() { true_ns += reading_takes_ns; }
};

World* world = nullptr;

class Timeline : public testing::Test {
 protected:
  Timeline() { world = &world_; }
  ~Timeline() override { world = nullptr; }

  std::int64_t read() {
    const std::int64_t told =
        std::chrono::nanoseconds{timeline_.at(world_.tsc()).time_since_epoch()}.count();
    EXPECT_GE(told, last_);
    last_ = told;
    return told;
  }
  std::int64_t ahead() { return read() - world_.true_ns; }

  World world_;
  TscTimeline timeline_{{[]() noexcept { return world->tsc(); },
                         []() noexcept { return world->steady_ns(); },
                         []() noexcept { return world->usable; }}};
  std::int64_t last_ = 0;
};

TEST_F(Timeline, IsCalibratedByTheFirstReadingWithinHalfAMillisecond) {
  const std::int64_t before = world_.true_ns;
  EXPECT_NEAR(static_cast<double>(ahead()), 0, 100);
  EXPECT_LE(world_.true_ns - before, 500 * us);
  EXPECT_TRUE(timeline_.follows_tsc());
}

TEST_F(Timeline, FollowsTheSteadyClockOverItsLines) {
  for (int at = 0; at < 100'000; ++at) {
    world_.true_ns += 50 * us;
    ASSERT_NEAR(static_cast<double>(ahead()), 0, 100);
  }
}

TEST_F(Timeline, IsTheSteadyClockWhereTheCounterIsNotUsable) {
  world_.usable = false;
  for (int at = 0; at < 100; ++at) {
    world_.true_ns += ms;
    EXPECT_EQ(ahead(), 0);
  }
  EXPECT_FALSE(timeline_.follows_tsc());
}

TEST_F(Timeline, IsTheSteadyClockWhereTheCounterHasNoRate) {
  world_.quickens = true;
  const std::int64_t before = world_.true_ns;
  EXPECT_EQ(ahead(), 0);
  EXPECT_LE(world_.true_ns - before, 1'300 * us);
  EXPECT_FALSE(timeline_.follows_tsc());
}

TEST_F(Timeline, IsTheSteadyClockWhereReadingItTakesLong) {
  world_.reading_takes_ns = 600;
  EXPECT_EQ(ahead(), 0);
  EXPECT_FALSE(timeline_.follows_tsc());
}

TEST_F(Timeline, IsTheSteadyClockAfterTheCounterJumpedTooOften) {
  for (int jump = 0; jump < TscScale::jumps_max; ++jump) {
    for (int at = 0; at < 2'000; ++at) {
      world_.true_ns += 10 * us;
      read();
    }
    EXPECT_TRUE(timeline_.follows_tsc());
    world_.jumped += jump % 2 == 0 ? std::uint64_t{1} << 50 : 0 - (std::uint64_t{1} << 50);
  }
  read();
  EXPECT_FALSE(timeline_.follows_tsc());
  world_.true_ns += second;
  EXPECT_EQ(ahead(), 0);
}

/// What another thread, or a signal handler, is told while this one makes a line.
TEST_F(Timeline, AnswersWhoComesDuringARenewalUpToAMillisecondLate) {
  for (const std::int64_t rest : {10 * ms, 100 * ms, second, 5 * second, 3'600 * second}) {
    read();
    world_.true_ns += rest;
    std::int64_t between = 0;
    world_.between = [&] { between = ahead(); };
    EXPECT_NEAR(static_cast<double>(ahead()), 0, 100);
    EXPECT_NE(between, 0);
    EXPECT_LE(between, 0);
    EXPECT_GE(between, -ms - 100) << rest;
  }
}

TEST_F(Timeline, NeverGoesBackForWhoComesWhileALineThatWasAheadIsRenewed) {
  read();
  world_.jumped += std::uint64_t{3 * 5'000'000};  // 5 ms
  world_.true_ns += 4'900 * us;
  read();
  world_.true_ns += 200 * us;
  bool came = false;
  world_.between = [&] {
    EXPECT_GT(ahead(), 4 * ms);
    came = true;
  };
  read();
  EXPECT_TRUE(came);
}

TEST_F(Timeline, AnswersWhoComesDuringTheCalibration) {
  std::int64_t between = 0;
  world_.between = [&] {
    between = ahead();
    EXPECT_FALSE(timeline_.follows_tsc());
  };
  read();
  EXPECT_NEAR(static_cast<double>(between), -ms, 100);
  EXPECT_TRUE(timeline_.follows_tsc());
}

TEST_F(Timeline, TakesNoReadingThatWasInterrupted) {
  read();
  world_.true_ns += second;
  world_.reading_takes_ns = 5 * us;
  for (int at = 0; at < 100; ++at) {
    EXPECT_NEAR(static_cast<double>(ahead()), -ms, 10e3);
  }
  world_.reading_takes_ns = 20;
  EXPECT_NEAR(static_cast<double>(ahead()), 0, 100);
  EXPECT_TRUE(timeline_.follows_tsc());
}

TEST_F(Timeline, TakesACoreThatIsALittleBehindForNoJump) {
  const auto on_a_core_behind = [this](std::uint64_t ticks) {
    world_.jumped -= ticks;
    const SteadyInstant told = timeline_.at(world_.tsc());
    world_.jumped += ticks;
    return std::chrono::nanoseconds{told.time_since_epoch()}.count() - world_.true_ns;
  };
  for (int at = 0; at < 3 * TscScale::jumps_max; ++at) {
    world_.true_ns += second;
    read();
    EXPECT_NEAR(static_cast<double>(on_a_core_behind(std::uint64_t{3} * 100'000)), 0, 200);
    EXPECT_NEAR(static_cast<double>(ahead()), 0, 200);
  }
  EXPECT_TRUE(timeline_.follows_tsc());
}

}  // namespace
}  // namespace weir
