#include <gmock/gmock.h>

#include "test/server/commands/command_runner.hpp"

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
  EXPECT_THAT(text, HasSubstr(R"({rule="login",result="granted",source="store"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"({rule="login",result="denied",source="store"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"({rule="other",result="granted",source="store"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"({rule="cl.throttle",result="impossible",source="store"} 1)"));
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

TEST(Metrics, CountErrors) {
  CommandRunner server;
  server.run("NONSENSE");
  server.run("WEIR.TAKE a b");
  EXPECT_THAT(metrics_of(server), HasSubstr("weir_command_errors_total 2\n"));
}

}  // namespace
}  // namespace weir::test
