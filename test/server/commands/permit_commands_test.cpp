// WEIR.ENTER, WEIR.LEAVE and WEIR.RENEW.
#include <gmock/gmock.h>

#include "test/server/commands/command_runner.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using wire::Reply;
using wire::ReplyType;

std::string text(const Reply& reply, std::string_view field) {
  const Reply* found = reply.field(field);
  return found ? found->text : "no such field";
}

std::int64_t number(const Reply& reply, std::string_view field) {
  const Reply* found = reply.field(field);
  return found ? found->integer : -999;
}

TEST(WeirEnter, TellsTheDecisionThePermitAndItsLease) {
  CommandRunner server;
  const Reply entered = server.run("WEIR.ENTER job 'concurrency 2/30s'");
  EXPECT_EQ(entered.elements.size(), 16U);
  EXPECT_EQ(text(entered, "verdict"), "granted");
  EXPECT_EQ(number(entered, "limit"), 2);
  EXPECT_EQ(number(entered, "remaining"), 1);
  EXPECT_EQ(number(entered, "retry_after_us"), 0);
  EXPECT_EQ(number(entered, "ready_after_us"), 0);
  EXPECT_EQ(number(entered, "reset_after_us"), 30'000'000);
  EXPECT_EQ(text(entered, "permit"), std::to_string(server.now.time_since_epoch().count()));
  EXPECT_EQ(number(entered, "lease_us"), 30'000'000);
  server.now += 10s;
  server.run("WEIR.ENTER job 'concurrency 2/30s'");
  const Reply denied = server.run("WEIR.ENTER job 'concurrency 2/30s'");
  EXPECT_EQ(text(denied, "verdict"), "denied");
  EXPECT_EQ(number(denied, "retry_after_us"), 20'000'000);
  EXPECT_EQ(denied.field("permit")->type, ReplyType::null);
  const Reply impossible = server.run("WEIR.ENTER job 'concurrency 2/30s' WEIGHT 3");
  EXPECT_EQ(text(impossible, "verdict"), "impossible");
  EXPECT_EQ(number(impossible, "retry_after_us"), -1);
}

TEST(WeirEnter, OfNoWeightAsksAndTakesNothing) {
  CommandRunner server;
  const Reply asked = server.run("WEIR.ENTER job 'concurrency 2/30s' weight 0");
  EXPECT_EQ(text(asked, "verdict"), "granted");
  EXPECT_EQ(asked.field("permit")->type, ReplyType::null);
  EXPECT_EQ(number(asked, "remaining"), 2);
  EXPECT_EQ(server.service().table.stats().keys, 0U);
}

TEST(WeirLeave, GivesTheWeightBackOnce) {
  CommandRunner server(Named{{"jobs", "concurrency 5/30s"}});
  const std::string heavy = text(server.run("WEIR.ENTER a @jobs WEIGHT 3"), "permit");
  const std::string light = text(server.run("WEIR.ENTER a @jobs"), "permit");
  EXPECT_NE(heavy, light);
  EXPECT_EQ(server.run("WEIR.LEAVE b @jobs " + heavy).integer, 0);
  EXPECT_EQ(server.run("WEIR.LEAVE a 'concurrency 5/30s' " + heavy).integer, 0);
  EXPECT_EQ(number(server.run("WEIR.PEEK a @jobs"), "remaining"), 1);
  EXPECT_EQ(server.run("WEIR.LEAVE a @jobs " + heavy).integer, 3);
  EXPECT_EQ(server.run("WEIR.LEAVE a @jobs " + heavy).integer, 0);
  EXPECT_EQ(number(server.run("WEIR.PEEK a @jobs"), "remaining"), 4);
}

TEST(WeirLeave, IsTooLateWhenTheLeaseHasEnded) {
  CommandRunner server;
  const std::string permit = text(server.run("WEIR.ENTER a 'concurrency 1/30s'"), "permit");
  server.now += 30s;
  EXPECT_EQ(server.run("WEIR.LEAVE a 'concurrency 1/30s' " + permit).integer, 0);
  EXPECT_EQ(server.run("WEIR.RENEW a 'concurrency 1/30s' " + permit).integer, 0);
  EXPECT_EQ(text(server.run("WEIR.ENTER a 'concurrency 1/30s'"), "verdict"), "granted");
}

TEST(WeirRenew, HasTheLeaseBeginAnew) {
  CommandRunner server;
  const std::string permit = text(server.run("WEIR.ENTER a 'concurrency 1/30s'"), "permit");
  for (int turn = 0; turn < 5; ++turn) {
    server.now += 29s;
    EXPECT_EQ(server.run("WEIR.RENEW a 'concurrency 1/30s' " + permit).integer, 30'000'000);
  }
  EXPECT_EQ(text(server.run("WEIR.ENTER a 'concurrency 1/30s'"), "verdict"), "denied");
  EXPECT_EQ(server.run("WEIR.LEAVE a 'concurrency 1/30s' " + permit).integer, 1);
}

TEST(Permits, OfSeveralLimitsGiveBackTheirPlaceAlone) {
  CommandRunner server;
  const std::string subject = " a '2/1h & concurrency 1/30s'";
  for (int call = 0; call < 2; ++call) {
    const Reply entered = server.run("WEIR.ENTER" + subject);
    ASSERT_EQ(text(entered, "verdict"), "granted");
    EXPECT_EQ(number(server.run("WEIR.ENTER" + subject), "retry_after_us"),
              call == 0 ? 30'000'000 : 1'800'000'000);
    EXPECT_EQ(server.run("WEIR.LEAVE" + subject + " " + text(entered, "permit")).integer, 1);
  }
  EXPECT_EQ(number(server.run("WEIR.ENTER" + subject), "retry_after_us"), 1'800'000'000);
}

TEST(Permits, OfWeirTakeEndWithTheirLeases) {
  CommandRunner server;
  EXPECT_EQ(text(server.run("WEIR.TAKE a 'concurrency 1/30s'"), "verdict"), "granted");
  // Nobody is put off: the place may be renewed by then.
  EXPECT_EQ(text(server.run("WEIR.TAKE a 'concurrency 1/30s' PATIENCE 60000"), "verdict"),
            "denied");
  EXPECT_EQ(server.run("WEIR.REFUND a 'concurrency 1/30s' 1").integer, 0);
  server.now += 30s;
  EXPECT_EQ(text(server.run("WEIR.TAKE a 'concurrency 1/30s'"), "verdict"), "granted");
  EXPECT_EQ(server.run("WEIR.RESET a 'concurrency 1/30s'").integer, 1);
  EXPECT_EQ(text(server.run("WEIR.TAKE a 'concurrency 1/30s'"), "verdict"), "granted");
}

TEST(Permits, OnSharedStatesCannotBeGivenBack) {
  CommandRunner server({}, {.max_keys = 1, .hash_key = {1, 2}});
  EXPECT_NE(text(server.run("WEIR.ENTER own 'concurrency 1/30s'"), "permit"), "0");
  EXPECT_EQ(text(server.run("WEIR.ENTER a 'concurrency 1/30s'"), "permit"), "0");
  EXPECT_EQ(server.run("WEIR.LEAVE a 'concurrency 1/30s' 0").integer, 0);
  EXPECT_EQ(server.run("WEIR.RENEW a 'concurrency 1/30s' 0").integer, 0);
  EXPECT_EQ(text(server.run("WEIR.ENTER a 'concurrency 1/30s'"), "verdict"), "denied");
  server.now += 30s;
  EXPECT_EQ(text(server.run("WEIR.ENTER a 'concurrency 1/30s'"), "verdict"), "granted");
}

TEST(Permits, SayWhatIsWrongWithTheArguments) {
  CommandRunner server;
  EXPECT_THAT(server.error("WEIR.ENTER a 5/1s"), HasSubstr("limit: expected one with a concurren"));
  EXPECT_THAT(server.error("WEIR.LEAVE a 5/1s 1"), HasSubstr("limit: expected one with a concurr"));
  EXPECT_THAT(server.error("WEIR.RENEW a 5/1s 1"), HasSubstr("limit: expected one with a concurr"));
  EXPECT_THAT(server.error("WEIR.ENTER a 'concurrency 5'"),
              HasSubstr("limit: column 14: expected"));
  EXPECT_THAT(server.error("WEIR.ENTER a @nobody"), HasSubstr("no limit has this name"));
  const std::string subject = " a 'concurrency 5/1s'";
  EXPECT_THAT(server.error("WEIR.ENTER" + subject + " WEIGHT"), HasSubstr("usage: WEIR.ENTER key"));
  EXPECT_THAT(server.error("WEIR.ENTER" + subject + " WEIGHT x"),
              HasSubstr("WEIGHT must be an integer"));
  EXPECT_THAT(server.error("WEIR.ENTER" + subject + " WEIGHT -1"),
              HasSubstr("WEIGHT must be between 0 and 2^50"));
  EXPECT_THAT(server.error("WEIR.ENTER" + subject + " PATIENCE 1"),
              HasSubstr("unknown option; usage: WEIR.ENTER key limit [WEIGHT n]"));
  EXPECT_THAT(server.error("WEIR.LEAVE" + subject),
              HasSubstr("usage: WEIR.LEAVE key limit permit"));
  EXPECT_THAT(server.error("WEIR.RENEW" + subject + " 1 2"), HasSubstr("usage: WEIR.RENEW key"));
  for (const char* permit : {"x", "-1", "1.5", "''", "9007199254740993"}) {
    EXPECT_THAT(server.error("WEIR.LEAVE" + subject + " " + permit),
                HasSubstr("permit: expected the permit that WEIR.ENTER gave"));
    EXPECT_THAT(server.error("WEIR.RENEW" + subject + " " + permit),
                HasSubstr("permit: expected the permit that WEIR.ENTER gave"));
  }
  EXPECT_EQ(server.service().table.stats().keys, 0U);
}

TEST(Permits, RunInATransaction) {
  CommandRunner server;
  server.run("MULTI");
  for (int call = 0; call < 3; ++call) server.run("WEIR.ENTER a 'concurrency 2/30s'");
  const Reply done = server.run("EXEC");
  ASSERT_EQ(done.elements.size(), 3U);
  EXPECT_EQ(text(done.elements[1], "verdict"), "granted");
  EXPECT_EQ(text(done.elements[2], "verdict"), "denied");
  EXPECT_EQ(
      server.run("WEIR.LEAVE a 'concurrency 2/30s' " + text(done.elements[1], "permit")).integer,
      1);
}

TEST(Permits, AreCountedAsTheyAreShown) {
  CommandRunner server(Named{{"jobs", "concurrency 1/30s"}});
  const std::string permit = text(server.run("WEIR.ENTER a @jobs"), "permit");
  server.run("WEIR.ENTER a @jobs");
  server.run("WEIR.RENEW a @jobs " + permit);
  server.run("WEIR.LEAVE a @jobs " + permit);
  server.run("WEIR.LEAVE a @jobs " + permit);
  server.run("WEIR.RENEW a @jobs " + permit);
  const std::string metrics = server.service().metrics.text(server.service().table.stats());
  for (const char* line :
       {"weir_decisions_total{rule=\"jobs\",result=\"allowed\",source=\"store\"} 1\n",
        "weir_decisions_total{rule=\"jobs\",result=\"limited\",source=\"store\"} 1\n",
        "weir_permits_total{result=\"left\"} 1\n", "weir_permits_total{result=\"left_late\"} 1\n",
        "weir_permits_total{result=\"renewed\"} 1\n",
        "weir_permits_total{result=\"renewed_late\"} 1\n"}) {
    EXPECT_THAT(metrics, HasSubstr(line));
  }
}

TEST(Permits, AreDocumentedByTheirCommands) {
  CommandRunner server;
  for (const char* name : {"weir.enter", "weir.leave", "weir.renew"}) {
    EXPECT_THAT(server.bytes(std::string("COMMAND DOCS ") + name), HasSubstr("permit")) << name;
    EXPECT_EQ(server.run(std::string("COMMAND GETKEYS ") + name + " job @x 1").elements.at(0).text,
              "job");
  }
}

}  // namespace
}  // namespace weir::test
