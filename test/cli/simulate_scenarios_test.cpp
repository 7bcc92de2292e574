// The scenarios that weir was founded on, as `weir simulate` shows them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/cli/program.hpp"

namespace weir::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;

TEST(Scenario, AFixedWindowAllowsTwoAndRefusesTwoInEachSecond) {
  const Story story = simulate({"fixed-window 2/1s", "--every", "250ms", "--count", "12"});
  EXPECT_EQ(story.verdicts, "GGDDGGDDGGDD");
  EXPECT_THAT(story.most, ElementsAre(2));
}

TEST(Scenario, AFixedWindowBegunLateLetsFourInARowThrough) {
  const Story story =
      simulate({"fixed-window 2/1s", "--every", "250ms", "--start", "600ms", "--count", "10"});
  EXPECT_EQ(story.verdicts, "GGGGDDGGDD");
  EXPECT_THAT(story.most, ElementsAre(4));
  EXPECT_THAT(story.bound, ElementsAre(4));
}

TEST(Scenario, ASlidingWindowLetsExactlyTenOfTwentyThroughAndNoMoreThanTwoInASecond) {
  const Story story =
      simulate({"sliding-window 2/1s parts 10", "--every", "300ms", "--count", "20"});
  EXPECT_EQ(story.verdicts, "GGDDGGDDGGDDGGDDGGDD");
  EXPECT_THAT(story.most, ElementsAre(2));
  EXPECT_THAT(story.bound, ElementsAre(2));
}

TEST(Scenario, ATokenBucketWithoutABurstAllowsEverySecondCallAtTwiceItsRate) {
  const Story story = simulate({"token-bucket 2/1s burst 1", "--every", "250ms", "--count", "8"});
  EXPECT_EQ(story.verdicts, "GDGDGDGD");
}

TEST(Scenario, TenCallersAtOnceLeaveAPacer100MillisecondsApart) {
  const Story story = simulate({"leaky-bucket 10/1s queue 9", "--calls", "10@0s"});
  EXPECT_EQ(story.verdicts, "GWWWWWWWWW");
  EXPECT_THAT(story.ready_after_us, ElementsAre(0, 100'000, 200'000, 300'000, 400'000, 500'000,
                                                600'000, 700'000, 800'000, 900'000));
}

TEST(Scenario, OfFifteenAtOnceUnderTenInThreeSecondsFiveAreRefusedAndOneLaterPasses) {
  const Story story = simulate({"sliding-log 10/3s", "--calls", "15@0s 1@4s"});
  EXPECT_EQ(story.verdicts, "GGGGGGGGGGDDDDDG");
  EXPECT_THAT(story.most, ElementsAre(10));
}

TEST(Scenario, OfTwentyAtOnceUnderFiveASecondFivePass) {
  const Story story = simulate({"sliding-log 5/1s", "--calls", "20@0s"});
  EXPECT_EQ(story.verdicts, "GGGGGDDDDDDDDDDDDDDD");
}

TEST(Scenario, ABucketThatStartsEmptyRefusesABurstUntilTokensHaveDrippedIn) {
  const Story story = simulate({"5/1s initial 0", "--calls", "3@0s 1@199ms 2@200ms 6@2s"});
  EXPECT_EQ(story.verdicts,
            "DDD"
            "D"
            "GD"
            "GGGGGD");
}

TEST(Scenario, AFixedWindowOfFourBegunLateLetsFiveIntoASecond) {
  const Story story =
      simulate({"fixed-window 4/1s", "--every", "200ms", "--start", "400ms", "--count", "50"});
  EXPECT_THAT(story.most, ElementsAre(5));
}

TEST(Scenario, ASlidingWindowOfFourNeverLetsFiveIntoASecond) {
  for (const char* limit : {"sliding-window 4/1s", "sliding-log 4/1s"}) {
    const Story story = simulate({limit, "--every", "200ms", "--start", "400ms", "--count", "50"});
    EXPECT_THAT(story.most, Each(Le(4))) << limit;
  }
}

}  // namespace
}  // namespace weir::test
