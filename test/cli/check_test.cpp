#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/cli/program.hpp"
#include "test/cli/rule_texts.hpp"

namespace weir::test {
namespace {

using cli::ExitCode;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Check, CountsTheRulesOfEachDomain) {
  const std::string shop = file_of("check_shop.yaml", shop_rules);
  const std::string envoy = file_of("check_envoy.yaml", envoy_rules);
  const Output output = run_weir({"check", shop, envoy});
  EXPECT_EQ(output.code, ExitCode::ok) << output.err;
  EXPECT_EQ(output.out, "shop: 4 rules\nbasic: 5 rules\n");
  EXPECT_EQ(run_weir({"check", shop, envoy, "--json"}).out,
            "{\"domains\":[{\"domain\":\"shop\",\"rules\":4,\"format\":\"weir\"},"
            "{\"domain\":\"basic\",\"rules\":5,\"format\":\"envoyproxy/ratelimit\"}],"
            "\"warnings\":[]}\n");
}

TEST(Check, WarnsOfAShadowThatSwitchesALimitOff) {
  const std::string file =
      file_of("check_shadow.yaml",
              "rules:\n"
              "- {name: live, limit: 1/s}\n"
              "- {name: dry, limit: 2/s, shadow: true}\n"
              "- {name: try, limit: 5/s, shadow: true, replaces: [live, dry]}\n"
              "- {name: next, limit: 5/s, replaces: [live]}\n");
  const std::string doubt =
      "default: line 4: 'try' is in shadow and replaces 'live': where it is "
      "met, neither refuses anybody";
  const Output output = run_weir({"check", file});
  EXPECT_EQ(output.code, ExitCode::ok);
  EXPECT_EQ(output.out, "default: 4 rules\n");
  EXPECT_EQ(output.err, "warning: " + doubt + "\n");
  const Output json = run_weir({"check", file, "--json"});
  EXPECT_THAT(json.out, HasSubstr("\"warnings\":[\"" + doubt + "\"]}"));
  EXPECT_EQ(json.err, "");
}

TEST(Check, NamesThePlaceOfAnErrorAsCompilersDo) {
  const std::string file = file_of("check_bad.yaml", "rules:\n- {name: a, limt: 1/s}\n");
  const std::string told = file + ":2:13: a rule has no field 'limt'; did you mean 'limit'?";
  const Output output = run_weir({"check", file});
  EXPECT_EQ(output.code, ExitCode::bad_input);
  EXPECT_EQ(output.out, "");
  EXPECT_EQ(output.err, told + "\n");
  const Output json = run_weir({"check", file, "--json"});
  EXPECT_EQ(json.code, ExitCode::bad_input);
  EXPECT_EQ(json.out, "{\"error\":\"" + told + "\"}\n");
}

TEST(Check, RefusesADomainOfTwoFiles) {
  const std::string one = file_of("check_one.yaml", shop_rules);
  const std::string two = file_of("check_two.yaml", shop_rules);
  const Output output = run_weir({"check", one, two});
  EXPECT_EQ(output.code, ExitCode::bad_input);
  EXPECT_THAT(output.err, HasSubstr("the domain 'shop' is that of " + one));
}

TEST(Check, NeedsAFile) { EXPECT_EQ(run_weir({"check"}).code, ExitCode::bad_input); }

std::string explained(std::vector<std::string> words) {
  words.insert(words.begin(), {"explain", file_of("explain_shop.yaml", shop_rules)});
  const Output output = run_weir(words);
  EXPECT_EQ(output.code, ExitCode::ok) << output.err;
  return output.out;
}

TEST(ExplainRules, TellsWhichRulesACallMeetsAndWhatReplacesWhat) {
  EXPECT_EQ(explained({"--method", "POST", "--uri", "/login?x", "--ip", "10.9.9.9"}),
            "domain shop\n"
            "\n  met      login (line 4)\n"
            "    key         10.9.9.9\n"
            "    limit       unlimited, the key's own\n"
            "    does not count: replaced by inside\n"
            "\n  not met  api (line 9)\n"
            "    uri is '/login'; expected /api/* or /v2/*\n"
            "\n  met      inside (line 15)\n"
            "    key         one for all calls\n"
            "    limit       unlimited\n"
            "    lets every call in\n"
            "\n  not met  tenant (line 19)\n"
            "    the call says no descriptor.tenant; expected any\n");
}

TEST(ExplainRules, TellsTheFirstPartThatFails) {
  const std::string headers = explained({"--uri", "/v2/a", "--header", "X-Plan=gold"});
  EXPECT_THAT(headers, HasSubstr("header.x-plan is 'gold'; expected free"));
  EXPECT_THAT(headers, HasSubstr("the call says no ip; expected one of the rule's networks"));
  EXPECT_THAT(explained({"--uri", "/api/a", "--header", "X-Plan=free"}),
              HasSubstr("the call says no user, which the rule counts by"));
  EXPECT_THAT(explained({"--uri", "/login", "--method", "GET"}),
              HasSubstr("method is 'GET'; expected POST"));
  EXPECT_THAT(explained({"tenant=a", "plan=tin"}),
              HasSubstr("descriptor.plan is 'tin'; expected gold"));
}

TEST(ExplainRules, TellsShadowsAndCandidatesAndTakesTheUserFromItsHeader) {
  const std::string text =
      explained({"--uri", "/api/a", "--header", "X-Plan=free", "--header", "x-user=ann"});
  EXPECT_THAT(text, HasSubstr("    key         ann\n"
                              "    limit       sliding-log 100/1m\n"
                              "    candidates  10/1s\n"
                              "    counts, and refuses nobody (shadow)\n"));
}

TEST(ExplainRules, TellsThatADescriptorHasMoreEntries) {
  const std::string file = file_of("explain_whole.yaml",
                                   "rules: [{name: r, limit: 1/s, match: {descriptor: {a: }, "
                                   "whole_descriptor: true}}]");
  EXPECT_THAT(run_weir({"explain", file, "a=1", "b=2"}).out,
              HasSubstr("the descriptor has 2 entries; expected those of the rule and no others"));
  EXPECT_THAT(run_weir({"explain", file, "a=1"}).out, HasSubstr("counts, and may refuse"));
}

TEST(ExplainRules, OfADescriptorTellsWhereThePathEnds) {
  const std::string file = file_of("explain_envoy.yaml", envoy_rules);
  EXPECT_THAT(run_weir({"explain", file, "tenant=t1", "plan=gold"}).out,
              HasSubstr("limit       fixed-window 25/1d"));
  EXPECT_THAT(run_weir({"explain", file, "tenant=t1", "plan=free"}).out,
              HasSubstr("no descriptor of the file has plan=free as entry 2"));
  EXPECT_THAT(run_weir({"explain", file, "plan=staff"}).out,
              HasSubstr("the descriptor ends where the file has no rate_limit"));
  EXPECT_THAT(run_weir({"explain", file}).out, HasSubstr("expected KEY=VALUE"));
}

TEST(ExplainRules, RefusesWhatIsNoCall) {
  const std::string file = file_of("explain_bad.yaml", shop_rules);
  for (const auto& [words, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--domain", "shp"}, "weir: --domain 'shp': expected one of shop\n"},
           {{"tenant"}, "weir: entry 'tenant': expected NAME=VALUE\n"},
           {{"--header", "=x"}, "weir: --header '=x': expected NAME=VALUE\n"},
           {{"--ip", "1.2.3.400"}, "expected a number from 0 to 255"}}) {
    std::vector<std::string> all{"explain", file};
    all.insert(all.end(), words.begin(), words.end());
    const Output output = run_weir(all);
    EXPECT_EQ(output.code, ExitCode::bad_input) << told;
    EXPECT_THAT(output.err, HasSubstr(told));
  }
  EXPECT_THAT(run_weir({"explain", "nowhere.yaml"}).err, HasSubstr("nowhere.yaml: No such file"));
  EXPECT_THAT(run_weir({"explain", "5/1m"}).out, Not(HasSubstr("domain")));
}

}  // namespace
}  // namespace weir::test
