#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/service_report.hpp"
#include "test/cli/program.hpp"

namespace weir::test {
namespace {

using cli::ExitCode;
using cli::short_time;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using namespace std::chrono_literals;

std::string error_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "simulate-service");
  const Output output = run_weir(arguments);
  EXPECT_EQ(output.code, ExitCode::bad_input);
  EXPECT_EQ(output.out, "");
  return output.err;
}

TEST(SimulateService, TellsTheWholeAndEachPhaseInTables) {
  const Output output = run_weir({"simulate-service", "--protect", "none", "--protect", "fixed 30",
                                  "--phases", "2s@1.5 2s@1.5x5 3s@0.5"});
  EXPECT_EQ(output.code, ExitCode::ok) << output.err;
  const std::vector<std::string> lines = lines_of(output.out);
  ASSERT_EQ(lines.size(), 13U);
  EXPECT_EQ(lines[0],
            "20 servers take 10ms a call: 2000 calls/s. An answer after 250ms is worth nothing.");
  EXPECT_THAT(lines[2], StartsWith("whole 7s "));
  EXPECT_THAT(lines[3], StartsWith("none "));
  EXPECT_THAT(lines[3], EndsWith("never"));
  EXPECT_THAT(lines[4], StartsWith("fixed 30 "));
  EXPECT_THAT(lines[4], HasSubstr(" 100% "));
  EXPECT_THAT(lines[4], EndsWith(" 0s"));
  EXPECT_EQ(lines[6], "goodput              2s@1.5     2s@1.5x5       3s@0.5");
  EXPECT_THAT(lines[10], StartsWith("p99 "));
  for (const std::string& line : lines) EXPECT_LE(line.size(), 100U);
}

TEST(SimulateService, TellsEachSecondInAJsonLineAndTheSummaryInTheLast) {
  const Output output = run_weir({"simulate-service", "--protect", "fixed 30", "--phases",
                                  "1s@1x2 2s@0", "--spread", "0", "--json"});
  EXPECT_EQ(output.code, ExitCode::ok) << output.err;
  const std::vector<std::string> lines = lines_of(output.out);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[0], StartsWith(R"({"protect":"fixed 30","at_s":0,"offered":)"));
  EXPECT_THAT(lines[0], EndsWith(R"(,"limit":30})"));
  EXPECT_EQ(lines[2],
            R"({"protect":"fixed 30","at_s":2,"offered":0,"admitted":0,"refused":0,"in_time":0,)"
            R"("late":0,"p50_us":0,"p99_us":0,"limit":30})");
  EXPECT_THAT(lines[3], StartsWith(R"({"summary":{"protect":"fixed 30","offered":)"));
  EXPECT_THAT(lines[3], HasSubstr(R"("unanswered":0,"phases":[{"phase":"1s@1x2",)"));
  EXPECT_THAT(lines[3], HasSubstr(R"("recovered_after_s":-1)"));
}

TEST(SimulateService, TheSameSeedGivesTheSameBytes) {
  const auto text_of = [](const char* seed, const char* form) {
    return run_weir({"simulate-service", "--protect", "vegas", "--protect", "breaker", "--phases",
                     "5s@1.5 2s@1x3 2s@1", "--seed", seed, form, form[2] == 's' ? "-" : "--json"})
        .out;
  };
  EXPECT_EQ(text_of("7", "--json"), text_of("7", "--json"));
  EXPECT_NE(text_of("7", "--json"), text_of("8", "--json"));
  EXPECT_EQ(text_of("7", "--svg"), text_of("7", "--svg"));
  EXPECT_THAT(text_of("7", "--svg"), StartsWith("<svg "));
}

TEST(SimulateService, APlainFixedIsTheBestOfFixedLimits) {
  const Output output =
      run_weir({"simulate-service", "--protect", "fixed", "--phases", "3s@2", "--seed", "3"});
  EXPECT_THAT(lines_of(output.out)[3], StartsWith("fixed "));
  EXPECT_THAT(lines_of(output.out)[3], Not(StartsWith("fixed  ")));
}

TEST(SimulateService, SaysWhatIsWrong) {
  EXPECT_EQ(error_of({"--phases", "10s@1 5s"}),
            "weir: --phases '10s@1 5s': column 7: expected DURATION@LOAD or "
            "DURATION@LOADxSLOWDOWN, such as 20s@1.5 or 10s@1.5x5: whole seconds, a load from 0 to "
            "100, a slow-down from 1 to 1000; got '5s'\n  10s@1 5s\n        ^\n");
  for (const char* phases : {"500ms@1", "0s@1", "1s@-1", "1s@101", "1s@1x0.5", "1s@1x1001", "1s@",
                             "1s@1x", "1s@nan", "1s@inf", "1s@1e2", "@1", " "}) {
    EXPECT_THAT(error_of({"--phases", phases}), HasSubstr("expected DURATION@LOAD")) << phases;
  }
  EXPECT_THAT(error_of({"--phases",
                        "1s@1 1s@1 1s@1 1s@1 1s@1 1s@1 1s@1 1s@1 1s@1 1s@1 1s@1 1s@1 "
                        "1s@1"}),
              HasSubstr("column 61: expected at most 12 phases"));
  EXPECT_THAT(error_of({"--phases", "601s@0"}), HasSubstr("the phases take 601s in all"));
  EXPECT_THAT(error_of({"--phases", "600s@100"}), HasSubstr("at most 2000000 are simulated"));
  EXPECT_THAT(error_of({"--servers", "100001"}), HasSubstr("whole number from 1 to 100000"));
  EXPECT_THAT(error_of({"--servers", "0"}), HasSubstr("whole number from 1 to 100000"));
  EXPECT_THAT(error_of({"--spread", "101"}), HasSubstr("whole number from 0 to 100"));
  EXPECT_THAT(error_of({"--retries", "11"}), HasSubstr("whole number from 0 to 10"));
  EXPECT_THAT(error_of({"--timeout", "0s"}), HasSubstr("--timeout '0s': expected from 1us to"));
  EXPECT_THAT(error_of({"--service-time", "1d"}), HasSubstr("expected from 1us to"));
  EXPECT_THAT(error_of({"--protect", "hope"}),
              HasSubstr("--protect 'hope': expected none, 'fixed N', aimd"));
  EXPECT_THAT(error_of({"--protect", "fixed 0"}), HasSubstr("whole number from 1"));
  EXPECT_THAT(error_of({"--json", "--svg", "-"}), HasSubstr("choose one"));
}

TEST(ShortTime, HasThreeDigits) {
  EXPECT_EQ(short_time(0ns), "0ns");
  EXPECT_EQ(short_time(998ns), "998ns");
  EXPECT_EQ(short_time(1us), "1.00us");
  EXPECT_EQ(short_time(9'994us), "9.99ms");
  EXPECT_EQ(short_time(9'996us), "10.0ms");
  EXPECT_EQ(short_time(99'960us), "100ms");
  EXPECT_EQ(short_time(999'600us), "1.00s");
  EXPECT_EQ(short_time(28'412us), "28.4ms");
  EXPECT_EQ(short_time(25'149ms), "25.1s");
}

}  // namespace
}  // namespace weir::test
