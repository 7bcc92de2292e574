#include "redis/handshake.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "wire/resp_request.hpp"

namespace weir::redis {
namespace {

using Step = Handshake::Step;
using Mode = ServerFacts::Mode;
using Role = ServerFacts::Role;

constexpr const char* ok = "+OK\r\n";
constexpr const char* hello3 =
    "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:3\r\n"
    "$2\r\nid\r\n:9\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
    "$7\r\nmodules\r\n*0\r\n";
constexpr const char* unknown = "-ERR unknown command `X`, with args beginning with: \r\n";
constexpr const char* info =
    "$58\r\n# Server\r\nredis_version:5.0.14\r\nredis_mode:cluster\r\nos:x y\r\n\r\n";

wire::Reply read(std::string_view bytes) {
  wire::Reply reply;
  wire::ReplyReader reader;
  EXPECT_EQ(reader.read(bytes, reply).status, wire::ReadStatus::complete) << bytes;
  return reply;
}

/// The words of a framed command: "HELLO 3".
std::string words_of(const std::string& frame) {
  wire::RequestParser parser;
  wire::Arguments arguments;
  EXPECT_EQ(parser.parse(frame, arguments).consumed, frame.size()) << "one command";
  std::string words;
  for (const std::string_view argument : arguments) {
    if (!words.empty()) words += ' ';
    words += argument;
  }
  return words;
}

using Words = std::vector<std::string>;

/// All that is said to a server that gives these replies; to each further command OK.
Words talk(Handshake& handshake, const std::vector<const char*>& replies) {
  Words said;
  while (!handshake.done() && !handshake.error()) {
    said.push_back(words_of(handshake.command()));
    handshake.hear(read(said.size() <= replies.size() ? replies[said.size() - 1] : ok));
    if (said.size() > 7) break;
  }
  EXPECT_EQ(handshake.command(), "") << "nothing more to say";
  return said;
}

TEST(RedisHandshake, ANewServerIsAskedNoMoreThanIsWanted) {
  Handshake handshake({});
  EXPECT_EQ(talk(handshake, {hello3}), (Words{"HELLO 3", "CLIENT SETNAME weir"}));
  ASSERT_TRUE(handshake.done());
  EXPECT_EQ(handshake.facts(), (ServerFacts{.protocol = ServerFacts::Protocol::resp3,
                                            .mode = Mode::standalone,
                                            .role = Role::master,
                                            .version = "7.0.15"}));
}

TEST(RedisHandshake, AllThatIsWantedIsSaidInOrder) {
  Handshake handshake({.user = "limits", .password = "s3cret", .client_name = "edge", .db = 3});
  EXPECT_EQ(talk(handshake, {hello3, ok, ok}),
            (Words{"HELLO 3 AUTH limits s3cret", "CLIENT SETNAME edge", "SELECT 3"}));
  EXPECT_TRUE(handshake.done());
}

TEST(RedisHandshake, AnOldServerIsSpokenToAsItCan) {
  for (const char* const no : {unknown, "-NOPROTO unsupported protocol version\r\n"}) {
    Handshake handshake({.password = "s3cret", .db = 1});
    EXPECT_EQ(talk(handshake, {no, ok, ok, ok, info}),
              (Words{"HELLO 3 AUTH default s3cret", "AUTH s3cret", "CLIENT SETNAME weir",
                     "SELECT 1", "INFO server"}));
    ASSERT_TRUE(handshake.done());
    EXPECT_EQ(handshake.facts(), (ServerFacts{.mode = Mode::cluster, .version = "5.0.14"}));
  }
  Handshake with_user({.user = "u", .password = "p"});
  EXPECT_EQ(talk(with_user, {unknown, ok, ok, info})[1], "AUTH u p");
  Handshake without({});
  EXPECT_EQ(talk(without, {unknown, ok, info}),
            (Words{"HELLO 3", "CLIENT SETNAME weir", "INFO server"}));
}

TEST(RedisHandshake, AnErrorNamesItsStepAndWhatTheServerSaid) {
  const auto error_after = [](const std::vector<const char*>& replies) {
    Handshake handshake({.password = "s3cret", .db = 3});
    talk(handshake, replies);
    return handshake.error().value_or(Handshake::Error{.step = Step::done});
  };
  EXPECT_EQ(error_after({"-WRONGPASS no\r\n"}),
            (Handshake::Error{Step::hello, ErrorKind::wrong_password, "WRONGPASS no"}));
  EXPECT_EQ(error_after({"-NOAUTH x\r\n"}).kind, ErrorKind::no_auth);
  EXPECT_EQ(error_after({"-LOADING x\r\n"}).kind, ErrorKind::loading);
  EXPECT_EQ(error_after({"+OK\r\n"}).step, Step::hello) << "no map";
  EXPECT_EQ(error_after({"%1\r\n+proto\r\n:2\r\n"}).step, Step::hello) << "another dialect";
  EXPECT_EQ(error_after({unknown, "-ERR invalid password\r\n"}),
            (Handshake::Error{Step::auth, ErrorKind::other, "ERR invalid password"}));
  EXPECT_EQ(error_after({hello3, ok, "-ERR DB index is out of range\r\n"}).step, Step::select);
  EXPECT_EQ(error_after({unknown, ok, ok, ok, "-NOAUTH x\r\n"}).step, Step::info);
}

TEST(RedisHandshake, ANameThatIsForbiddenIsDoneWithout) {
  Handshake handshake({});
  talk(handshake, {hello3, "-NOPERM this user has no permissions\r\n"});
  EXPECT_TRUE(handshake.done());
}

TEST(RedisHandshake, AModuleIsSeen) {
  const auto module_in = [](const char* name) {
    const std::string hello =
        "%2\r\n+proto\r\n:3\r\n+modules\r\n*2\r\n%1\r\n+name\r\n+other\r\n"
        "%2\r\n+ver\r\n:1\r\n+name\r\n+" +
        std::string(name) + "\r\n";
    Handshake handshake({});
    talk(handshake, {hello.c_str()});
    EXPECT_TRUE(handshake.done());
    return handshake.facts().module;
  };
  EXPECT_TRUE(module_in("weir"));
  EXPECT_FALSE(module_in("weird"));
}

TEST(RedisHandshake, WhatAServerSaysStaysShortAndInOneLine) {
  std::string rude = "!600\r\n";
  rude.append(300, '\n').append(300, 'x').append("\r\n");
  Handshake handshake({});
  talk(handshake, {rude.c_str()});
  ASSERT_TRUE(handshake.error());
  EXPECT_EQ(handshake.error()->message, std::string(200, '?'));
}

// Whatever a server answers, it ends within the five commands that are stated.
TEST(RedisHandshakeLaw, NoServerIsSpokenToForEver) {
  const char* const replies[] = {ok,       hello3,          unknown,         info,
                                 "*0\r\n", "_\r\n",         "-NOPERM x\r\n", "-ERR x\r\n",
                                 ":1\r\n", "*1\r\n+OK\r\n", "-NOPROTO x\r\n"};
  std::mt19937_64 random(5);
  int done = 0;
  for (int round = 0; round < 20'000; ++round) {
    Handshake handshake({.password = random() % 2 == 0 ? "" : "s3cret",
                         .db = static_cast<std::int32_t>(random() % 2)});
    int commands = 0;
    while (!handshake.command().empty()) {
      ASSERT_LE(++commands, 5);
      handshake.hear(read(random() % 2 == 0 ? ok : replies[random() % std::size(replies)]));
    }
    EXPECT_NE(handshake.done(), handshake.error().has_value());
    done += handshake.done() ? 1 : 0;
  }
  EXPECT_GT(done, 200);
}

}  // namespace
}  // namespace weir::redis
