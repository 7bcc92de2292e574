#include <gmock/gmock.h>

#include "test/server/commands/command_runner.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using wire::ReplyType;

TEST(ConnectionCommands, AnswerWhatClientsSendAtConnect) {
  CommandRunner server;
  EXPECT_EQ(server.bytes("PING"), "+PONG\r\n");
  EXPECT_EQ(server.bytes("PING hi"), "$2\r\nhi\r\n");
  EXPECT_EQ(server.bytes("ECHO hi"), "$2\r\nhi\r\n");
  EXPECT_EQ(server.bytes("CLIENT SETINFO LIB-NAME ioredis"), "+OK\r\n");
  EXPECT_EQ(server.bytes("CLIENT SETNAME worker"), "+OK\r\n");
  EXPECT_EQ(server.bytes("CLIENT GETNAME"), "$6\r\nworker\r\n");
  EXPECT_EQ(server.run("CLIENT ID").type, ReplyType::integer);
  EXPECT_EQ(server.bytes("SELECT 0"), "+OK\r\n");
  EXPECT_THAT(server.run("INFO").text, HasSubstr("loading:0\r\n"));
  EXPECT_THAT(server.run("INFO").text, HasSubstr("blocked_clients:0\r\n"));
  EXPECT_THAT(server.run("INFO server").text, HasSubstr("redis_version:7"));
  EXPECT_EQ(server.bytes("CONFIG GET save appendonly"),
            "*4\r\n$4\r\nsave\r\n$0\r\n\r\n$10\r\nappendonly\r\n$2\r\nno\r\n");
  EXPECT_EQ(server.bytes("CONFIG GET maxmemory"), "*0\r\n");
  EXPECT_EQ(server.bytes("DBSIZE"), ":0\r\n");
}

TEST(Hello, ChoosesTheDialect) {
  CommandRunner server;
  EXPECT_EQ(server.run("HELLO").type, ReplyType::array);
  const wire::Reply three = server.run("HELLO 3 SETNAME worker");
  EXPECT_EQ(three.type, ReplyType::map);
  EXPECT_EQ(three.field("proto")->integer, 3);
  EXPECT_EQ(three.field("server")->text, "weir");
  EXPECT_EQ(server.connection().name, "worker");
  EXPECT_EQ(server.bytes("CLIENT GETNAME"), "$6\r\nworker\r\n");
  EXPECT_EQ(server.run("HELLO 2").type, ReplyType::array);
}

TEST(Hello, RefusedChangesNothing) {
  CommandRunner server;
  server.run("HELLO 3");
  EXPECT_THAT(server.error("HELLO 4"), HasSubstr("NOPROTO"));
  EXPECT_THAT(server.error("HELLO 99"), HasSubstr("NOPROTO"));
  EXPECT_THAT(server.error("HELLO x"), HasSubstr("NOPROTO"));
  EXPECT_THAT(server.error("HELLO 2 AUTH default secret"), HasSubstr("no password"));
  EXPECT_THAT(server.error("HELLO 2 SETNAME 'a b'"), HasSubstr("usage: HELLO"));
  EXPECT_THAT(server.error("HELLO 2 NONSENSE"), HasSubstr("usage: HELLO"));
  EXPECT_EQ(server.connection().protocol, wire::Protocol::resp3);
}

TEST(ConnectionCommands, SayWhatIsWrong) {
  CommandRunner server;
  EXPECT_EQ(server.error("GET key"),
            "ERR unknown command 'GET'; this server limits rates with CL.THROTTLE WEIR.TAKE "
            "WEIR.PEEK WEIR.TAKEALL WEIR.CANCEL WEIR.REFUND WEIR.RESET WEIR.ENTER WEIR.LEAVE "
            "WEIR.RENEW DEL; COMMAND DOCS lists all");
  EXPECT_THAT(server.error("evalsha 0123 0"),
              HasSubstr("ERR no scripts: this server limits rates"));
  EXPECT_THAT(server.error("\"a\\r\\n-b\""), HasSubstr("unknown command 'a?"
                                                       "?-b'"));
  EXPECT_THAT(server.error("SELECT 1"), HasSubstr("one database"));
  EXPECT_THAT(server.error("AUTH x"), HasSubstr("no password"));
  EXPECT_THAT(server.error("ECHO"), HasSubstr("usage: ECHO message"));
  EXPECT_THAT(server.error("CLIENT KILL x"),
              HasSubstr("unknown subcommand or wrong number of arguments for 'KILL'; usage: "
                        "CLIENT ID"));
  EXPECT_THAT(server.error("COMMAND NONSENSE"), HasSubstr("'NONSENSE'; usage: COMMAND [COUNT"));
  EXPECT_THAT(server.error("CLUSTER SLOTS"), HasSubstr("cluster support disabled"));
  EXPECT_THAT(server.error("CONFIG SET a b"), HasSubstr("weir serve --help"));
}

TEST(CommandCommand, TellsOfEveryCommand) {
  CommandRunner server;
  const std::int64_t count = server.run("COMMAND COUNT").integer;
  EXPECT_EQ(server.run("COMMAND").elements.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(server.run("COMMAND DOCS").elements.size(), 2 * static_cast<std::size_t>(count));
  const wire::Reply info = server.run("COMMAND INFO cl.throttle nonsense");
  ASSERT_EQ(info.elements.size(), 2U);
  EXPECT_EQ(info.elements[0].elements[0].text, "cl.throttle");
  EXPECT_EQ(info.elements[0].elements[3].integer, 1);
  EXPECT_EQ(info.elements[1].type, ReplyType::null);
  EXPECT_EQ(server.run("COMMAND DOCS weir.take").elements[0].text, "weir.take");
}

TEST(CommandCommand, ListsNames) {
  CommandRunner server;
  const wire::Reply list = server.run("COMMAND LIST");
  EXPECT_EQ(list.elements.size(), static_cast<std::size_t>(server.run("COMMAND COUNT").integer));
  EXPECT_EQ(list.elements[0].text, "cl.throttle");
  EXPECT_EQ(server.run("COMMAND INFO").elements.size(), list.elements.size());
}

TEST(CommandCommand, TellsWhereTheKeysAre) {
  CommandRunner server;
  const auto places = [&](const std::string& name) {
    const wire::Reply info = server.run("COMMAND INFO " + name).elements.at(0);
    std::string told;
    for (const wire::Reply& flag : info.elements.at(2).elements) told += flag.text + ' ';
    for (std::size_t at = 3; at < 6; ++at) {
      told += std::to_string(info.elements.at(at).integer) + ' ';
    }
    return told;
  };
  EXPECT_EQ(places("WEIR.TAKE"), "write fast 1 1 1 ");
  EXPECT_EQ(places("WEIR.PEEK"), "readonly fast 1 1 1 ");
  EXPECT_EQ(places("WEIR.TAKEALL"), "write fast movablekeys 0 0 0 ");
  EXPECT_EQ(places("DEL"), "write fast 1 -1 1 ");
  EXPECT_EQ(places("PING"), "readonly fast 0 0 0 ");
}

TEST(CommandCommand, FindsTheKeysOfACall) {
  CommandRunner server;
  const auto keys = [&](const std::string& call) {
    std::string found;
    for (const wire::Reply& key : server.run("COMMAND GETKEYS " + call).elements) {
      found += key.text + ' ';
    }
    return found;
  };
  EXPECT_EQ(keys("CL.THROTTLE alice 15 30 60"), "alice ");
  EXPECT_EQ(keys("WEIR.TAKEALL 2 alice acme 5/1m 9/1m COST 2"), "alice acme ");
  EXPECT_EQ(keys("DEL alice bob"), "alice bob ");
  for (const char* wrong :
       {"PING", "GET alice", "WEIR.TAKE alice", "WEIR.TAKEALL 0 a 1/1s", "WEIR.TAKEALL 3 a 1/1s",
        "WEIR.TAKEALL x a 1/1s", "WEIR.TAKEALL 9223372036854775807 a 1/1s"}) {
    EXPECT_THAT(server.error(std::string("COMMAND GETKEYS ") + wrong),
                HasSubstr("expected a command that has keys"));
  }
}

// redis-cli makes its hints and its help of these; without a group it dies of a signal.
TEST(CommandCommand, DocumentsEachArgument) {
  CommandRunner server;
  const wire::Reply docs = server.run("COMMAND DOCS weir.take").elements.at(1);
  EXPECT_EQ(docs.field("group")->text, "limits");
  std::vector<std::string> names;
  for (const wire::Reply& argument : docs.field("arguments")->elements) {
    names.push_back(argument.field("name")->text);
  }
  EXPECT_THAT(names, testing::ElementsAre("key", "limit", "[COST n]", "[PATIENCE ms]"));
}

TEST(Multi, RunsWhatWaitsAtExec) {
  CommandRunner server;
  EXPECT_EQ(server.bytes("MULTI"), "+OK\r\n");
  EXPECT_EQ(server.bytes("WEIR.TAKE alice 1/1m"), "+QUEUED\r\n");
  EXPECT_EQ(server.bytes("CL.THROTTLE 'a b' 15 30 60"), "+QUEUED\r\n");
  EXPECT_EQ(server.bytes("WEIR.TAKE alice 1/x"), "+QUEUED\r\n");
  EXPECT_EQ(server.bytes("WEIR.TAKE alice 1/1m"), "+QUEUED\r\n");
  const wire::Reply replies = server.run("EXEC");
  ASSERT_EQ(replies.elements.size(), 4U);
  EXPECT_EQ(replies.elements[0].elements[1].text, "granted");
  EXPECT_EQ(replies.elements[1].elements[1].integer, 16);
  EXPECT_EQ(replies.elements[2].type, ReplyType::error);
  EXPECT_EQ(replies.elements[3].elements[1].text, "denied");
  EXPECT_EQ(server.bytes("PING"), "+PONG\r\n");
  EXPECT_THAT(server.error("EXEC"), HasSubstr("EXEC without MULTI"));
}

TEST(Multi, TakesNothingAfterAMistake) {
  for (const char* mistake : {"GET alice", "WEIR.TAKE alice", "PING", "COMMAND"}) {
    CommandRunner server;
    server.run("MULTI");
    server.run("WEIR.TAKE alice 1/1m");
    EXPECT_EQ(server.run(mistake).type, ReplyType::error) << mistake;
    EXPECT_THAT(server.error("EXEC"), HasSubstr("EXECABORT"));
    EXPECT_EQ(server.run("DBSIZE").integer, 0);
  }
}

TEST(Multi, IsForgottenOnDemand) {
  CommandRunner server;
  EXPECT_THAT(server.error("DISCARD"), HasSubstr("DISCARD without MULTI"));
  for (const char* end : {"DISCARD", "RESET"}) {
    server.run("MULTI");
    EXPECT_THAT(server.error("MULTI"), HasSubstr("nested"));
    server.run("WEIR.TAKE alice 1/1m");
    server.run(end);
    EXPECT_THAT(server.error("EXEC"), HasSubstr("EXEC without MULTI"));
  }
  EXPECT_EQ(server.run("DBSIZE").integer, 0);
}

TEST(Multi, IsBounded) {
  CommandRunner server;
  server.run("MULTI");
  const std::string take = "DEL " + std::string(1000, 'a');
  int queued = 0;
  while (server.bytes(take) == "+QUEUED\r\n") ++queued;
  EXPECT_EQ(queued, 262'144 / (1003 + 3 * 4));
  EXPECT_LE(server.connection().transaction->kept(), 262'144U);
  EXPECT_THAT(server.error("EXEC"), HasSubstr("EXECABORT"));
}

TEST(Quit, ClosesAfterItsReply) {
  CommandRunner server;
  EXPECT_EQ(server.bytes("QUIT"), "+OK\r\n");
  EXPECT_TRUE(server.connection().closing);
}

TEST(Reset, MakesTheConnectionAsGoodAsNew) {
  CommandRunner server;
  server.run("HELLO 3 SETNAME worker");
  EXPECT_EQ(server.bytes("RESET"), "+RESET\r\n");
  EXPECT_EQ(server.bytes("CLIENT GETNAME"), "$-1\r\n");
}

}  // namespace
}  // namespace weir::test
