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
  EXPECT_THAT(server.error("GET key"), HasSubstr("unknown command 'GET'"));
  EXPECT_THAT(server.error("\"a\\r\\n-b\""), HasSubstr("unknown command 'a?"
                                                       "?-b'"));
  EXPECT_THAT(server.error("SELECT 1"), HasSubstr("one database"));
  EXPECT_THAT(server.error("AUTH x"), HasSubstr("no password"));
  EXPECT_THAT(server.error("ECHO"), HasSubstr("usage: ECHO message"));
  EXPECT_THAT(server.error("CLIENT KILL x"), HasSubstr("usage: CLIENT"));
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
