// The lines of a TscClock under every schedule of two or three threads with few preemptions, and
// under some by chance: what local/clock_threads_test.cpp leaves to the machine is chosen here.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/model/clock_stage.hpp"
#include "test/model/explore.hpp"
#include "weir/local/tsc_scale.hpp"

namespace weir::model {
namespace {

using std::string;
using StagePtr = std::shared_ptr<ClockStage>;
using enum ClockStage::Calibrated;

#ifdef __SANITIZE_THREAD__  // it looks for races in each schedule, so that fewer do
constexpr Bounds usual{.preemptions = 1, .by_chance = 50};
#else
constexpr Bounds usual{.preemptions = 2, .by_chance = 300};
#endif

template <typename Cast>
void expect_no_fault(ClockStage::Calibrated calibrated, Cast&& cast, const Bounds& bounds = usual) {
  const Explored explored =
      explore([&] { return cast(std::make_shared<ClockStage>(calibrated)); }, bounds);
  EXPECT_EQ(explored.fault, "");
  EXPECT_GT(explored.schedules, bounds.by_chance + 2);  // or nothing would have been chosen
  std::cout << explored.schedules << " schedules of up to " << explored.longest << " choices\n";
}

Scene judged(const StagePtr& stage, std::vector<std::function<void()>> threads) {
  return {std::move(threads), [stage] { return stage->judge(); }};
}

constexpr std::int64_t us = ClockStage::ms / 1'000;
constexpr std::int64_t ms = ClockStage::ms;

TEST(ClockSchedules, OfTheFirstReadingsCalibrateOnce) {
  expect_no_fault(no, [](const StagePtr& stage) {
    const auto read_twice = [stage](std::size_t thread) {
      return [stage, thread] {
        stage->read(thread);
        stage->read(thread);
      };
    };
    return judged(stage, {read_twice(0), read_twice(1)});
  });
}

TEST(ClockSchedules, OfReadingsOverTheEndOfALineNeverGoBack) {
  expect_no_fault(yes, [](const StagePtr& stage) {
    const auto read_over_the_end = [stage](std::size_t thread) {
      return [stage, thread] {
        stage->read(thread);
        ClockStage::pass(2 * us);
        stage->read(thread);
      };
    };
    return judged(stage, {read_over_the_end(0), read_over_the_end(1)});
  });
}

TEST(ClockSchedules, OfReadingsAfterARestNeverGoBack) {
  expect_no_fault(yes,
                  [](const StagePtr& stage) {
                    const auto read_after = [stage](std::size_t thread, std::int64_t rest) {
                      return [stage, thread, rest] {
                        ClockStage::pass(rest);
                        stage->read(thread);
                      };
                    };
                    return judged(stage, {read_after(0, 5 * ms), read_after(1, 200 * ms),
                                          read_after(2, 3 * us)});
                  },
                  {.preemptions = 1, .by_chance = usual.by_chance});
}

TEST(ClockSchedules, OfReadingsOverTwoEndsNeverGoBack) {
  expect_no_fault(yes, [](const StagePtr& stage) {
    return judged(stage, {[stage] {
                            ClockStage::pass(5 * ms);
                            stage->read(0);
                            ClockStage::pass(150 * ms);
                            stage->read(0);
                          },
                          [stage] {
                            stage->read(1);
                            stage->read(1);
                          }});
  });
}

TEST(ClockSchedules, OfReadingsOverTheEndOfALineThatWasAheadNeverGoBack) {
  expect_no_fault(yes, [](const StagePtr& stage) {
    // The counter is 5 ms ahead, so that the line ends while the steady clock is 5 ms short of it.
    ClockStage::pass(-6 * ms);
    stage->jump(std::uint64_t{3} * 5'000'000);
    const auto read_over_the_end = [stage](std::size_t thread) {
      return [stage, thread] {
        stage->read(thread);
        ClockStage::pass(ms);
        stage->read(thread);
      };
    };
    return judged(stage, {read_over_the_end(0), read_over_the_end(1)});
  });
}

TEST(ClockSchedules, OfReadingsWhileTheCounterIsGivenUpNeverGoBack) {
  expect_no_fault(yes, [](const StagePtr& stage) -> Scene {
    for (int jump = 1; jump < TscScale::jumps_max; ++jump) {
      stage->jump(std::uint64_t{1} << 50);
      stage->read(0);
      ClockStage::pass(5 * ms);
      stage->read(0);
    }
    stage->read(1);
    const auto read_over_a_jump = [stage](std::size_t thread) {
      return [stage, thread] {
        stage->jump(std::uint64_t{1} << 50);
        stage->read(thread);
        stage->read(thread);
      };
    };
    return {{read_over_a_jump(0), read_over_a_jump(1)}, [stage]() -> string {
              if (stage->follows_tsc()) return "the counter is still trusted";
              return stage->judge();
            }};
  });
}

}  // namespace
}  // namespace weir::model
