#include "cli/help_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/manual.hpp"
#include "cli/shell.hpp"
#include "cli/verbs.hpp"
#include "test/cli/program.hpp"

namespace weir::test {
namespace {

using cli::OptionHelp;
using cli::VerbHelp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* page = R"(What it is,
in two lines.

Examples:
  weir try 'a b'
  weir try --it

Usage: weir try THING [OPTION...]
       weir try --it

  --count N        how many,
                   and how
  --file FILE      where
  --kind KIND      which
  --it             it alone

A note.

Exit codes: 0 ok;
1 not.
)";

VerbHelp help() {
  static CLI::App weir;
  static std::string text;
  static bool flag = false;
  static CLI::App* command = [] {
    CLI::App* made = weir.add_subcommand("try", "tries");
    made->add_option("thing", text)->type_name("one|two");
    made->add_option("--count", text);
    made->add_option("--file", text)->type_name("FILE");
    made->add_option("--kind", text)->type_name("big|small");
    made->add_flag("--it", flag);
    made->footer(page);
    return made;
  }();
  return cli::help_of(*command);
}

TEST(HelpPage, IsTakenApart) {
  const VerbHelp found = help();
  EXPECT_EQ(found.name, "try");
  EXPECT_EQ(found.brief, "tries");
  EXPECT_EQ(found.summary, "What it is, in two lines.");
  EXPECT_THAT(found.examples, ElementsAre("weir try 'a b'", "weir try --it"));
  EXPECT_THAT(found.usage, ElementsAre("weir try THING [OPTION...]", "weir try --it"));
  EXPECT_THAT(found.notes, ElementsAre("A note."));
  EXPECT_EQ(found.exit_codes, "0 ok; 1 not.");
  EXPECT_THAT(found.words, ElementsAre("one", "two"));
  ASSERT_EQ(found.options.size(), 4U);
  EXPECT_EQ(found.options[0].name, "--count");
  EXPECT_EQ(found.options[0].value, "N");
  EXPECT_EQ(found.options[0].text, "how many, and how");
  EXPECT_TRUE(found.options[1].names_a_file);
  EXPECT_THAT(found.options[2].words, ElementsAre("big", "small"));
  EXPECT_EQ(found.options[3].value, "");
}

TEST(HelpPage, OfEveryVerbNamesTheOptionsThatItHas) {
  constexpr std::array verbs{cli::add_simulate, cli::add_simulate_service, cli::add_explain,
                             cli::add_check,    cli::add_convert,          cli::add_completion,
                             cli::add_man,      cli::add_version};
  for (const cli::AddVerb add : verbs) {
    CLI::App weir;
    const cli::Verb verb = add(weir);
    verb.command->footer(std::string(verb.help));
    const VerbHelp found = cli::help_of(*verb.command);
    EXPECT_FALSE(found.summary.empty()) << found.name;
    EXPECT_FALSE(found.examples.empty()) << found.name;
    EXPECT_FALSE(found.usage.empty()) << found.name;
    EXPECT_FALSE(found.exit_codes.empty()) << found.name;
    std::size_t named = 0;
    for (const CLI::Option* option : verb.command->get_options()) {
      if (option->get_lnames().empty() || option->get_lnames()[0] == "help") continue;
      ++named;
    }
    EXPECT_EQ(found.options.size(), named) << found.name;
    for (const OptionHelp& option : found.options) {
      EXPECT_FALSE(option.text.empty()) << option.name;
      const CLI::Option* known = verb.command->get_option(option.name);
      EXPECT_EQ(option.value.empty(), known->get_items_expected_max() == 0) << option.name;
    }
  }
}

TEST(Completion, QuotesWhatAShellWouldRead) {
  VerbHelp verb = help();
  verb.options[0].text = "it's [so]: \\ `much` $HOME";
  EXPECT_THAT(cli::completion_for(cli::Shell::zsh, {verb}),
              HasSubstr(R"('--count[it'\''s \[so\]\: \\ `much` $HOME]:N: ')"));
  EXPECT_THAT(cli::completion_for(cli::Shell::fish, {verb}),
              HasSubstr(R"(-l count -x -d 'it\'s [so]: \\ `much` $HOME')"));
}

TEST(Completion, OfAnUnknownShellIsRefused) {
  const Output output = run_weir({"completion", "tcsh"});
  EXPECT_EQ(output.code, cli::ExitCode::bad_input);
  EXPECT_THAT(output.err, HasSubstr("bash, zsh or fish"));
  EXPECT_EQ(run_weir({"completion"}).code, cli::ExitCode::bad_input);
}

TEST(Manual, EscapesWhatRoffWouldRead) {
  VerbHelp verb = help();
  verb.notes = {".TH is no request here, nor is a \\ an escape."};
  verb.examples = {"'quoted' --and-more"};
  const std::string man = cli::manual_page({.version = "1",
                                            .summary = "weir is.",
                                            .limit_grammar = "",
                                            .exit_codes = "",
                                            .verbs = {verb}});
  EXPECT_THAT(man, HasSubstr("\n\\&.TH is no request here, nor is a \\e an escape.\n"));
  EXPECT_THAT(man, HasSubstr("\n\\(aqquoted\\(aq \\-\\-and\\-more\n"));
}

}  // namespace
}  // namespace weir::test
