#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/explanation.hpp"
#include "test/cli/program.hpp"

namespace weir::test {
namespace {

using cli::ExitCode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Without its line ends, so that a phrase is found wherever it wraps.
std::string explained(const std::string& limit) {
  const Output output = run_weir({"explain", limit});
  EXPECT_EQ(output.code, ExitCode::ok) << output.err;
  std::string text;
  for (const std::string& line : lines_of(output.out)) text += line.substr(line.empty() ? 0 : 1);
  return text;
}

TEST(Explain, TellsALimitInWordsAndItsBoundInATable) {
  EXPECT_EQ(run_weir({"explain", "5/1m burst 2"}).out,
            "5/1m burst 2\n"
            "\n"
            "  A bucket holds 2 tokens and is refilled evenly, one each 12s. A call takes a\n"
            "  token, so after a rest 2 calls may act at once, and from then on one each 12s.\n"
            "  A call that finds too few tokens is refused at once; it takes nothing, and\n"
            "  learns when the tokens will be there.\n"
            "\n"
            "  within any      at most\n"
            "  instant               2\n"
            "  1s                    2\n"
            "  1m                    6\n"
            "  10m                  51\n"
            "  A call of cost n counts as n.\n"
            "\n"
            "  sustained   5 each 1m\n"
            "  memory      at most 24 bytes a key, beside its name\n");
}

TEST(Explain, BeginsWithTheCanonicalText) {
  EXPECT_THAT(run_weir({"explain", "gcra 10k/day burst 10k"}).out, StartsWith("10000/1d\n"));
}

TEST(Explain, StatesTheWeaknessOfAFixedWindow) {
  EXPECT_THAT(
      explained("fixed-window 100/1m"),
      AllOf(HasSubstr("Its weakness: across a turn 200 may act as good as at once, 100 just "
                      "before it and 100 just after."),
            HasSubstr("1m                  200")));
}

TEST(Explain, NamesTheCalendarOfACalendarWindow) {
  EXPECT_THAT(explained("calendar-window 100/month zone Europe/Berlin"),
              AllOf(HasSubstr("100 calls in each month of the calendar in Europe/Berlin"),
                    HasSubstr("Its weakness: across that instant 200 may act"),
                    HasSubstr("sustained   100 each 31d")));
  EXPECT_THAT(run_weir({"explain", "calendar-window 7/week", "--json"}).out,
              HasSubstr(R"("period_us":604800000000,"unit":"week","zone":"UTC")"));
}

TEST(Explain, StatesWhatASlidingWindowSustains) {
  EXPECT_THAT(explained("sliding-window 2/1s"),
              AllOf(HasSubstr("10/11 of the rate, 2 each 1100ms"), HasSubstr("parts of 100ms"),
                    HasSubstr("sustained   2 each 1100ms")));
}

TEST(Explain, StatesHowALeakyBucketPacesAndHowLongItsQueueIs) {
  EXPECT_THAT(explained("leaky-bucket 10/1s queue 9"),
              AllOf(HasSubstr("one by one, 100ms apart"),
                    HasSubstr("Up to 9 may wait for their turn, the last of them 900ms")));
  EXPECT_THAT(explained("leaky-bucket 10/1s"), HasSubstr("None may wait"));
}

TEST(Explain, StatesThatALogIsExactAndGrows) {
  EXPECT_THAT(
      explained("sliding-log 10/3s"),
      AllOf(HasSubstr("10 calls at most act within any 3s, exactly"), HasSubstr("8 bytes a call")));
}

TEST(Explain, StatesWhatOptionsAdd) {
  EXPECT_THAT(explained("5/1m initial 0"), HasSubstr("It starts with 0"));
  EXPECT_THAT(explained("5/1m"), Not(HasSubstr("It starts with")));
  EXPECT_THAT(explained("5/1m block 10m"), HasSubstr("A refusal shuts the key out for 10m"));
}

TEST(Explain, OfSeveralLimitsTheSlowestIsSustained) {
  EXPECT_THAT(explained("10/1s & 1000/1d"),
              AllOf(HasSubstr("All of these must agree"), HasSubstr("sustained   1000 each 1d")));
  const cli::Rate rate = cli::sustained_rate(Limit::parse("sliding-window 11/1s & 10/1s").value());
  EXPECT_EQ(rate.count, 11);  // 11 each 1100 ms is as fast as 10 each second; the first is told
}

TEST(Explain, OfConcurrencyThePlacesComeBack) {
  EXPECT_THAT(explained("concurrency 3/30s"),
              AllOf(HasSubstr("3 calls at most are inside"), HasSubstr("30s at the longest"),
                    HasSubstr("may be taken"), HasSubstr("sustained   3 each 30s")));
  EXPECT_THAT(explained("10/1s & concurrency 3/30s"), HasSubstr("sustained   10 each 1s"));
}

TEST(Explain, TheBoundIsWhatTheMachinePromises) {
  const Limit limit = Limit::parse("10/1s & sliding-log 100/1h").value();
  for (const cli::BoundRow& row : cli::bound_table(limit)) {
    EXPECT_EQ(row.most, Limit::Machine::bound(limit.config(), row.length, 1));
  }
  EXPECT_EQ(cli::bound_table(limit).front().length, Span{1});
  EXPECT_EQ(cli::bound_table(limit).back().length, Span{36'000'000'000});
}

TEST(Explain, NoLineIsWiderThanItsScreen) {
  for (const std::size_t columns : {40U, 80U, 100U}) {
    const cli::Screen screen{.columns = columns};
    for (const char* limit :
         {"1/1s", "leaky-bucket 1M/1s queue 100k", "fixed-window 1/35d block 1d",
          "sliding-window 7/3s parts 9 & sliding-log 5/1h & concurrency 3/1h"}) {
      std::vector<std::string> lines = lines_of(run_weir({"explain", limit}, screen).out);
      lines.erase(lines.begin());  // the text of the limit itself
      for (const std::string& line : lines)
        EXPECT_LE(line.size(), std::max<std::size_t>(columns, 60));
    }
  }
}

TEST(Explain, RatesThatNoWholeMicrosecondsMakeAreToldAsWritten) {
  EXPECT_THAT(explained("7/3s"), HasSubstr("refilled evenly, 7 each 3s."));
  EXPECT_THAT(explained("leaky-bucket 3/1s"), HasSubstr("about 333333us apart"));
  EXPECT_THAT(explained("leaky-bucket 100M/1s"), HasSubstr("less than 1us apart"));
}

TEST(Explain, TheLongestPeriodHasNoTableBeyondThirtyFiveYears) {
  const auto rows = cli::bound_table(Limit::parse("fixed-window 1/13000d").value());
  EXPECT_LE(rows.back().length, longest_span);
}

TEST(Explain, TellsTheSameAsJson) {
  EXPECT_EQ(run_weir({"explain", "fixed-window 3/1s", "--json"}).out,
            R"({"limit":"fixed-window 3/1s","terms":[{"algorithm":"fixed-window","count":3,)"
            R"("period_us":1000000,"sentences":["A counter allows 3 calls in each window of 1s, )"
            R"(and starts again when the window turns, at every whole 1s of the clock.",)"
            R"("A call above that is refused until the turn, and takes nothing.",)"
            R"("Its weakness: across a turn 6 may act as good as at once, 3 just before it )"
            R"(and 3 just after."]}],"bound":[{"window_us":1,"most":3},)"
            R"({"window_us":1000000,"most":6},{"window_us":10000000,"most":33}],)"
            R"("sustained":{"count":3,"period_us":1000000},"largest_state_bytes":24,)"
            R"("starts_full":true})"
            "\n");
}

TEST(Explain, TellsTheOptionsOfEachTermAsJson) {
  EXPECT_THAT(run_weir({"explain",
                        "5/1s burst 7 initial 3 block 1m & leaky-bucket 5/1s queue 2 & "
                        "sliding-window 5/1s parts 4",
                        "--json"})
                  .out,
              AllOf(HasSubstr(R"("burst":7,"initial":3,"block_us":60000000,"sentences")"),
                    HasSubstr(R"("queue":2,"sentences")"), HasSubstr(R"("parts":4,"sentences")"),
                    HasSubstr(R"("starts_full":false)")));
}

TEST(Explain, SaysWhatIsWrongAndWhere) {
  const Output output = run_weir({"explain", "10/s", "brust", "5"});
  EXPECT_EQ(output.code, ExitCode::bad_input);
  EXPECT_EQ(output.out, "");
  EXPECT_EQ(output.err,
            "weir: limit '10/s brust 5': column 6: unknown option 'brust'; expected burst, queue, "
            "parts, initial, zone, block or &\n"
            "  10/s brust 5\n"
            "       ^\n");
  EXPECT_EQ(run_weir({"explain"}).code, ExitCode::bad_input);
  EXPECT_EQ(run_weir({"explain", ""}).err,
            "weir: limit '': column 1: expected a count such as 100 or 10k, got the end\n");
}

}  // namespace
}  // namespace weir::test
