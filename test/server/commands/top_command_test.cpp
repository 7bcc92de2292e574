#include <gmock/gmock.h>

#include "test/server/commands/command_runner.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> texts(const wire::Reply& list, std::string_view field) {
  std::vector<std::string> found;
  for (const wire::Reply& each : list.elements) found.push_back(each.field(field)->text);
  return found;
}

class TopCommand : public testing::Test {
 protected:
  /// WEIR.TOP a second later.
  wire::Reply top(std::string_view line = "WEIR.TOP") {
    server.now += 1s;
    server.hot_keys().tick(server.now);
    return server.run(line);
  }

  CommandRunner server{Named{{"login", "2/1m"}}};
};

TEST_F(TopCommand, TellsWhichKeysAreAskedForAndRefusedMost) {
  for (int call = 0; call < 10; ++call) server.run("WEIR.TAKE alice @login");
  for (int call = 0; call < 5; ++call) server.run("WEIR.TAKE bob 100/1s");
  server.run("CL.THROTTLE carol 15 30 60");
  server.run("CL.THROTTLE carol 15 30 60 2");
  server.run("WEIR.PEEK dave 100/1s");  // takes nothing
  const wire::Reply reply = top();
  const wire::Reply& hottest = *reply.field("hottest");
  EXPECT_THAT(texts(hottest, "key"), ElementsAre("alice", "bob", "carol"));
  EXPECT_THAT(texts(hottest, "limit"), ElementsAre("@login", "100/1s", "cl.throttle"));
  EXPECT_THAT(texts(hottest, "calls_per_s"), ElementsAre("10.0", "5.0", "2.0"));
  EXPECT_THAT(texts(hottest, "error_per_s"), ElementsAre("0.0", "0.0", "0.0"));
  const wire::Reply& refused = *reply.field("most_refused");
  EXPECT_THAT(texts(refused, "key"), ElementsAre("alice"));
  EXPECT_THAT(texts(refused, "calls_per_s"), ElementsAre("8.0"));
  EXPECT_EQ(reply.field("at_us")->integer, server.now.time_since_epoch().count());
}

TEST_F(TopCommand, TellsTheDecisionsUnderEachLimit) {
  for (int call = 0; call < 5; ++call) server.run("WEIR.TAKE alice @login");
  server.run("WEIR.TAKE alice @login COST 9");
  const wire::Reply reply = top();
  const wire::Reply& limits = *reply.field("limits");
  EXPECT_THAT(texts(limits, "limit"), ElementsAre("cl.throttle", "login", "other"));
  const wire::Reply& login = limits.elements.at(1);
  EXPECT_EQ(login.field("granted")->integer, 2);
  EXPECT_EQ(login.field("deferred")->integer, 0);
  EXPECT_EQ(login.field("denied")->integer, 3);
  EXPECT_EQ(login.field("impossible")->integer, 1);
}

TEST_F(TopCommand, CountsEachKeyOfARequestOverSeveral) {
  server.run("WEIR.TAKEALL 2 alice acme @login 100/1s");
  EXPECT_EQ(top().field("hottest")->elements.size(), 2U);
}

TEST_F(TopCommand, GivesALongKeysBeginAndItsLength) {
  server.run("WEIR.TAKE " + std::string(100, 'k') + " @login");
  const wire::Reply key = top().field("hottest")->elements.at(0);
  EXPECT_EQ(key.field("key")->text, std::string(64, 'k'));
  EXPECT_EQ(key.field("key_bytes")->integer, 100);
}

TEST_F(TopCommand, GivesAsManyKeysAsAskedFor) {
  for (int key = 0; key < 20; ++key) server.run("WEIR.TAKE " + std::to_string(key) + " @login");
  EXPECT_EQ(top().field("hottest")->elements.size(), 10U);
  EXPECT_EQ(top("weir.top count 3").field("hottest")->elements.size(), 3U);
  EXPECT_EQ(top("WEIR.TOP COUNT 128").field("hottest")->elements.size(), 20U);
}

TEST_F(TopCommand, SaysWhatItExpected) {
  for (const char* line : {"WEIR.TOP 3", "WEIR.TOP COUNT", "WEIR.TOP COUNT 0", "WEIR.TOP COUNT 129",
                           "WEIR.TOP COUNT x", "WEIR.TOP KEYS 3", "WEIR.TOP COUNT 3 3"}) {
    EXPECT_EQ(server.error(line), "ERR COUNT must be between 1 and 128; usage: WEIR.TOP [COUNT n]")
        << line;
  }
}

TEST_F(TopCommand, DoesNotWaitForExec) {
  server.run("MULTI");
  EXPECT_THAT(server.error("WEIR.TOP"), HasSubstr("only commands that have keys"));
}

}  // namespace
}  // namespace weir::test
