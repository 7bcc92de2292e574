#include <gmock/gmock.h>

#include <set>
#include <sstream>

#include "server/gateway/rule_metrics.hpp"
#include "test/server/commands/command_runner.hpp"
#include "test/server/gateway/gate.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string metrics_of(CommandRunner& server) {
  return server.service().metrics.text(server.service().table.stats());
}

TEST(Metrics, CountDecisionsByRuleAndResult) {
  CommandRunner server(Named{{"login", "1/1m"}});
  server.run("WEIR.TAKE alice @login");
  server.run("WEIR.TAKE alice @login");
  server.run("WEIR.TAKE alice 7/1s COST 5");
  server.run("CL.THROTTLE alice 15 30 60 20");
  const std::string text = metrics_of(server);
  EXPECT_THAT(text, HasSubstr(R"({rule="login",result="allowed",source="store"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"({rule="login",result="limited",source="store"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"({rule="other",result="allowed",source="store"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"({rule="cl.throttle",result="limited",source="store"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(weir_verdicts_total{rule="login",verdict="granted"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(weir_verdicts_total{rule="cl.throttle",verdict="impossible"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(weir_hits_total{rule="other",result="allowed"} 5)"));
  EXPECT_THAT(text, HasSubstr("weir_keys 2\n"));
}

TEST(Metrics, NeverNameAKey) {
  CommandRunner server;
  server.run("WEIR.TAKE a-very-secret-key 7/1s");
  EXPECT_THAT(metrics_of(server), Not(HasSubstr("a-very-secret-key")));
}

TEST(Metrics, HaveHelpAndTypeForEveryName) {
  CommandRunner server;
  const std::string text = metrics_of(server);
  std::size_t helps = 0;
  for (std::size_t at = text.find("# HELP"); at != std::string::npos;
       at = text.find("# HELP", at + 1)) {
    ++helps;
    const std::size_t type = text.find('\n', at) + 1;
    EXPECT_EQ(text.substr(type, 7), "# TYPE ");
  }
  EXPECT_GT(helps, 10U);
}

TEST(Metrics, HaveEachFamilyInOnePiece) {
  Gate gate("rules: [{name: r, key: '{user}', limit: 1/1h, candidates: [2/1h]}]");
  gate.lets("ann");
  gate.lets("ann");
  const server::RuleCounts* const counts = &gate.decider.counts();
  gate.service.metrics.write_rules_in_force = [&](std::string& text, server::OfRules what) {
    server::write_rule_metrics(text, what, {*gate.decider.generation(), {&counts, 1}, {}});
  };
  const std::string text = gate.service.metrics.text(gate.service.table.stats());
  for (const char* line :
       {R"(weir_decisions_total{domain="default",rule="r",result="limited",source="store"} 1)",
        R"(weir_hits_total{domain="default",rule="r",result="allowed"} 1)"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  std::set<std::string> families;
  std::string family;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(families.insert(family).second) << family << " comes twice";
    } else if (!line.starts_with('#')) {
      EXPECT_TRUE(line.starts_with(family)) << line << " stands under " << family;
    }
  }
  EXPECT_GT(families.size(), 20U);
}

TEST(Metrics, CountErrors) {
  CommandRunner server;
  server.run("NONSENSE");
  server.run("WEIR.TAKE a b");
  EXPECT_THAT(metrics_of(server), HasSubstr("weir_command_errors_total 2\n"));
}

}  // namespace
}  // namespace weir::test
