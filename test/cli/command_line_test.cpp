#include "cli/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "cli/verbs.hpp"
#include "test/cli/program.hpp"

namespace weir::test {
namespace {

using cli::ExitCode;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::array verbs{cli::add_simulate,   cli::add_explain, cli::add_check,  cli::add_convert,
                           cli::add_completion, cli::add_man,     cli::add_version};

void expect_one_screen(const std::string& help) {
  const auto lines = lines_of(help);
  EXPECT_LE(lines.size(), 23U) << help;  // and one for the prompt
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80U) << line;
}

TEST(Help, OfEveryVerbFitsOneScreenLeadsWithExamplesAndEndsWithExitCodes) {
  for (const cli::AddVerb add : verbs) {
    CLI::App app;
    const std::string name = add(app).command->get_name();
    const Output output = run_weir({name, "--help"});
    EXPECT_EQ(output.code, ExitCode::ok);
    expect_one_screen(output.out);
    const auto lines = lines_of(output.out);
    EXPECT_EQ(lines[2], "Examples:") << name;
    EXPECT_THAT(lines[3], StartsWith("  weir " + name)) << name;
    EXPECT_THAT(lines.back(), StartsWith("Exit codes: 0 ")) << name;
  }
}

TEST(Help, NamesEveryOptionOfAVerb) {
  for (const cli::AddVerb add : verbs) {
    CLI::App app;
    const cli::Verb verb = add(app);
    for (const CLI::Option* option : verb.command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        if (name == "help") continue;
        EXPECT_THAT(std::string(verb.help), HasSubstr("\n  --" + name + " "));
      }
    }
  }
}

TEST(Help, OfTheProgramLeadsWithExamplesAndNamesEveryVerb) {
  const Output output = run_weir({"--help"});
  EXPECT_EQ(output.code, ExitCode::ok);
  EXPECT_EQ(output.err, "");
  expect_one_screen(output.out);
  EXPECT_EQ(lines_of(output.out)[2], "Examples:");
  for (const char* verb :
       {"\n  simulate          ", "\n  simulate-service  ", "\n  explain           ",
        "\n  also              check, convert, completion, man, version\n"}) {
    EXPECT_THAT(output.out, HasSubstr(verb));
  }
  EXPECT_THAT(output.out,
              EndsWith("Exit codes: 0 ok; 1 refused; 2 bad usage or input; 3 server not "
                       "reached.\n"));
}

TEST(Help, ComesUnderEveryNamePeopleTry) {
  const std::string help = run_weir({"simulate", "--help"}).out;
  EXPECT_EQ(run_weir({"simulate", "-h"}).out, help);
  EXPECT_EQ(run_weir({"help", "simulate"}).out, help);
  EXPECT_EQ(run_weir({"simulate", "1/s", "--help"}).out, help);
  EXPECT_EQ(run_weir({"help"}).out, run_weir({"--help"}).out);
  EXPECT_EQ(run_weir({"-h"}).out, run_weir({"--help"}).out);
}

TEST(Help, ComesOnStandardErrorToWhoSaysNothing) {
  const Output output = run_weir({});
  EXPECT_EQ(output.code, ExitCode::bad_input);
  EXPECT_EQ(output.out, "");
  EXPECT_EQ(output.err, run_weir({"--help"}).out);
}

struct Slip {
  std::vector<std::string> arguments;
  std::string told;
};

TEST(CommandLine, SuggestsWhatAMisspeltWordMeant) {
  const std::vector<Slip> slips{
      {{"simulte"}, "weir: unknown verb 'simulte'; did you mean 'simulate'?\nSee: weir --help\n"},
      {{"xeplain"}, "weir: unknown verb 'xeplain'; did you mean 'explain'?\nSee: weir --help\n"},
      {{"versions!"},
       "weir: unknown verb 'versions!'; did you mean 'version'?\nSee: weir --help\n"},
      {{"throttle"}, "weir: unknown verb 'throttle'\nSee: weir --help\n"},
      {{""}, "weir: unknown verb ''\nSee: weir --help\n"},
      {{"simulate", "1/s", "--evry", "1s"},
       "weir: unknown option '--evry'; did you mean '--every'?\nSee: weir simulate --help\n"},
      {{"explain", "1/s", "--colour"},
       "weir: unknown option '--colour'\nSee: weir explain --help\n"},
      {{"version", "now"}, "weir: unexpected 'now'\nSee: weir version --help\n"},
      {{"--json", "version"}, "weir: unknown option '--json'\nSee: weir --help\n"},
      {{"simulate", "1/s", "--every"},
       "weir: --every takes exactly one value\nSee: weir simulate --help\n"},
      {{"simulate", "1/s", "--every", "1s", "--every", "2s"},
       "weir: --every takes exactly one value\nSee: weir simulate --help\n"},
  };
  for (const Slip& slip : slips) {
    const Output output = run_weir(slip.arguments);
    EXPECT_EQ(output.err, slip.told);
    EXPECT_EQ(output.out, "");
    EXPECT_EQ(output.code, ExitCode::bad_input);
  }
}

TEST(CommandLine, ALoneDoubleDashIsNoVerb) {
  EXPECT_EQ(run_weir({"--", "simulate", "1/s"}).code, ExitCode::bad_input);
}

TEST(CommandLine, TellsThatItsOutputWasLost) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  std::ostringstream err;
  EXPECT_EQ(cli::run({"version"}, verbs, {out, err, {}}), ExitCode::bad_input);
  EXPECT_EQ(err.str(), "weir: cannot write the output\n");
}

TEST(Version, IsANumberForPeopleAndForMachines) {
  EXPECT_THAT(run_weir({"version"}).out,
              ::testing::MatchesRegex("weir [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_THAT(run_weir({"version", "--json"}).out,
              ::testing::MatchesRegex("\\{\"version\":\"[0-9.]+\"\\}\n"));
  EXPECT_EQ(run_weir({"--version"}).out, run_weir({"version"}).out);
}

}  // namespace
}  // namespace weir::test
