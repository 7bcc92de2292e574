#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/cli/program.hpp"

namespace weir::test {
namespace {

using cli::ExitCode;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Simulate, TellsEachCallInALineThenASummaryAndAPicture) {
  const Output output = run_weir({"simulate", "2/1s burst 1", "--every", "250ms", "--count", "4"});
  EXPECT_EQ(output.code, ExitCode::ok);
  EXPECT_EQ(output.out,
            "    0ms  granted   0 left\n"
            "  250ms  denied    0 left  retry in 250ms\n"
            "  500ms  granted   0 left\n"
            "  750ms  denied    0 left  retry in 250ms\n"
            "\n"
            "4 calls: 2 granted, 0 deferred, 2 denied\n"
            "most within any 1s: 2; the bound is 2\n"
            "\n"
            "granted   █       █\n"
            "denied        █       █\n"
            "          ┬───────┬───────\n"
            "          0s      500ms\n"
            "          a column is 250ms\n");
  EXPECT_EQ(output.err, "");
}

TEST(Simulate, TellsEachCallInAJsonLineAndTheSummaryInTheLast) {
  const Output output =
      run_weir({"simulate", "leaky-bucket 1/1s queue 1", "--calls", "3@500ms", "--json"});
  EXPECT_THAT(
      lines_of(output.out),
      ElementsAre(
          R"({"at_us":500000,"verdict":"granted","remaining":1,"retry_after_us":0,)"
          R"("ready_after_us":0})",
          R"({"at_us":500000,"verdict":"deferred","remaining":0,"retry_after_us":0,)"
          R"("ready_after_us":1000000})",
          R"({"at_us":500000,"verdict":"denied","remaining":0,"retry_after_us":1000000,)"
          R"("ready_after_us":0})",
          R"({"summary":{"limit":"leaky-bucket 1/1s queue 1","cost":1,"calls":3,"granted":1,)"
          R"("deferred":1,"denied":1,"impossible":0,)"
          R"("windows":[{"window_us":1000000,"most":1,"bound":1}]}})"));
}

TEST(Simulate, ADeferredCallTellsWhenItActs) {
  const Output output = run_weir({"simulate", "leaky-bucket 10/1s queue 1", "--calls", "2@1s"});
  EXPECT_THAT(lines_of(output.out)[1], "  1s  deferred  0 left  acts in 100ms");
}

TEST(Simulate, ACostAboveTheCapacityIsNeverGranted) {
  const std::vector<std::string> arguments{"2/1s", "--calls", "1@0s", "--cost", "3"};
  EXPECT_EQ(simulate(arguments).verdicts, "I");
  EXPECT_THAT(simulate(arguments).retry_after_us, ElementsAre(-1));
  const Output output = run_weir({"simulate", "2/1s", "--calls", "1@0s", "--cost", "3"});
  EXPECT_THAT(output.out, StartsWith("  0s  impossible  2 left  never: at most 2 can be taken"));
  EXPECT_THAT(output.out, HasSubstr("1 call: 0 granted, 0 deferred, 0 denied, 1 impossible\n"));
}

TEST(Simulate, CountsUnitsInItsWindows) {
  const Story story = simulate({"10/1s", "--calls", "3@0s", "--cost", "4"});
  EXPECT_EQ(story.verdicts, "GGD");
  EXPECT_THAT(story.most, ElementsAre(8));
}

TEST(Simulate, ACostOfZeroAsksWithoutTaking) {
  const Story story = simulate({"1/1s", "--calls", "5@0s", "--cost", "0"});
  EXPECT_EQ(story.verdicts, "GGGGG");
  EXPECT_THAT(story.most, ElementsAre(0));
}

TEST(Simulate, PatienceWaitsForItsTurn) {
  const Story story = simulate({"1/1s", "--calls", "4@0s", "--patience", "2s"});
  EXPECT_EQ(story.verdicts, "GWWD");
  EXPECT_THAT(story.ready_after_us, ElementsAre(0, 1'000'000, 2'000'000, 0));
}

TEST(Simulate, PatienceZeroTurnsAQueueIntoAMeter) {
  EXPECT_EQ(simulate({"leaky-bucket 1/1s queue 9", "--calls", "3@0s", "--patience", "0s"}).verdicts,
            "GDD");
}

TEST(Simulate, APenaltyKeepsAKnockerOut) {
  EXPECT_EQ(simulate({"1/1s block 3s", "--every", "1s", "--count", "3", "--start", "0s"}).verdicts,
            "GGG");
  EXPECT_EQ(simulate({"1/1s block 3s", "--calls", "2@0s 1@2999ms 1@3s"}).verdicts, "GDDG");
}

TEST(Simulate, SetsEachPeriodOfALimitBesideItsBound) {
  const Story story = simulate({"2/1s & sliding-log 3/1m", "--every", "500ms", "--count", "10"});
  EXPECT_EQ(story.verdicts, "GGGDDDDDDD");
  EXPECT_THAT(story.most, ElementsAre(2, 3));
  EXPECT_THAT(story.bound, ElementsAre(3, 3));
}

TEST(Simulate, AWindowEndsBeforeItsLengthHasPassed) {
  // Calls one period apart are never in one window; a microsecond less, and they are.
  EXPECT_THAT(simulate({"9/1s", "--every", "1s", "--count", "5"}).most, ElementsAre(1));
  EXPECT_THAT(simulate({"9/1s", "--every", "999999us", "--count", "5"}).most, ElementsAre(2));
}

TEST(Simulate, TakesCallsInOrderOfTimeHoweverTheyAreListed) {
  const Output sorted = run_weir({"simulate", "sliding-log 1/1s", "--calls", "1@0s 2@1s 1@3s"});
  const Output mixed = run_weir({"simulate", "sliding-log 1/1s", "--calls", "1@3s,1@0s, 2@1s"});
  EXPECT_EQ(mixed.out, sorted.out);
  EXPECT_EQ(mixed.err, "");
}

TEST(Simulate, TakesALimitInSeveralWords) {
  EXPECT_EQ(run_weir({"simulate", "leaky-bucket", "10/1s", "queue", "9", "--calls", "10@0s"}).out,
            run_weir({"simulate", "leaky-bucket 10/1s queue 9", "--calls", "10@0s"}).out);
}

TEST(Simulate, CountsMayHaveTheLettersOfALimit) {
  EXPECT_THAT(run_weir({"simulate", "1/s", "--every", "1s", "--count", "1k"}).out,
              HasSubstr("\n1000 calls: 1000 granted"));
}

TEST(Simulate, PrintsALineACallHoweverMany) {
  const Output output = run_weir({"simulate", "100/s", "--every", "1ms", "--count", "20k"});
  EXPECT_EQ(lines_of(output.out).size(), 20'000U + 1 + 2 + 1 + 5);
  EXPECT_THAT(output.out, HasSubstr("20000 calls: 2099 granted, 0 deferred, 17901 denied\n"
                                    "most within any 1s: 199; the bound is 199\n"));
}

struct Mistake {
  std::vector<std::string> arguments;
  std::string told;
};

TEST(Simulate, SaysWhatIsWrongAndWhere) {
  const std::vector<Mistake> mistakes{
      {{"100/x", "--every", "1s", "--count", "1"},
       "weir: limit '100/x': column 5: expected a period such as s, 10s, 1m, 1h or 1d, got 'x'\n"
       "  100/x\n"
       "      ^\n"},
      {{"1/s", "--calls", "15@0s 1@"},
       "weir: --calls '15@0s 1@': column 7: expected COUNT@DURATION, such as 15@0s, got '1@'\n"
       "  15@0s 1@\n"
       "        ^\n"},
      {{"1/s", "--calls", " "},
       "weir: --calls ' ': column 1: expected COUNT@DURATION, such as 15@0s, got nothing\n"
       "   \n"
       "  ^\n"},
      {{"1/s", "--every", "250", "--count", "2"},
       "weir: --every '250': expected a length of time such as 250ms, 1s, 5m, 1h or 1d\n"},
      {{"1/s", "--every", "1s", "--count", "0"},
       "weir: --count '0': expected a whole number from 1 to 2^50, such as 20, 10k or 1M\n"},
      {{"1/s", "--every", "1s", "--count", "2", "--cost", "-1"},
       "weir: --cost '-1': expected a whole number from 0 to 2^50, such as 20, 10k or 1M\n"},
      {{"1/s", "--every", "1s", "--count", "2", "--start", "soon"},
       "weir: --start 'soon': expected a length of time such as 250ms, 1s, 5m, 1h or 1d\n"},
      {{"1/s", "--every", "1s", "--count", "2", "--patience", "1.5us"},
       "weir: --patience '1.5us': a length of time must be whole microseconds\n"},
      {{"1/s", "--every", "1d", "--count", "1M"},
       "weir: the last call would come later than 2^50 microseconds (35 years)\n"},
      {{"1/s", "--every", "1s"},
       "weir: say when the calls come: --every 250ms --count 20, or --calls '15@0s 1@4s'\n"},
      {{"1/s", "--every", "1s", "--calls", "1@0s"},
       "weir: --calls says when all calls come; it excludes --every, --count, --start\n"},
      {{}, "weir: simulate needs a limit, as in: weir simulate 2/1s --every 250ms --count 8\n"},
  };
  for (const Mistake& mistake : mistakes) {
    std::vector<std::string> arguments = mistake.arguments;
    arguments.insert(arguments.begin(), "simulate");
    const Output output = run_weir(arguments);
    EXPECT_EQ(output.err, mistake.told);
    EXPECT_EQ(output.out, "");
    EXPECT_EQ(output.code, ExitCode::bad_input);
  }
}

TEST(Simulate, TheCaretStandsUnderItsColumnWhateverTheBytesBeforeIt) {
  const Output output = run_weir({"simulate", "10/s burst \xe4\xba\x94\x1b", "--calls", "1@0s"});
  EXPECT_THAT(output.err, HasSubstr("column 12"));
  EXPECT_THAT(output.err, EndsWith("\n"
                                   "  10/s burst ????\n"
                                   "             ^\n"));
}

}  // namespace
}  // namespace weir::test
