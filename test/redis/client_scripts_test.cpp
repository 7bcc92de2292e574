// The client and servers that misbehave by a script.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "test/redis/asking.hpp"
#include "test/redis/scripted_server.hpp"
#include "weir/redis/client.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using test::ask;
using test::ask_until_answered;
using test::begin;
using test::bulk;
using test::greet;
using test::result;
using test::ScriptedServer;
using Said = ScriptedServer::Said;

std::unique_ptr<Client> connect(const std::string& url, const Client::Settings& settings = {}) {
  auto client = Client::connect(url, settings);
  if (!client) throw std::runtime_error(client.error().message);
  return std::move(client).value();
}

TEST(ClientByScript, SpeaksTheOldProtocolWhereTheNewOneIsUnknown) {
  ScriptedServer server([](const ScriptedServer::Words& command) -> Said {
    const std::string greeting = greet(command);
    return {greeting.empty() ? bulk(command.back()) : greeting};
  });
  const auto client = connect("redis://:secret@127.0.0.1:" + std::to_string(server.port()) + "/2");
  EXPECT_EQ(ask(*client, {"ECHO", "hi"}).text, "hi");
}

TEST(ClientByScript, ReadsRepliesHoweverTheyAreSplit) {
  // Each ECHO is answered but for its last bytes, which come before the next answer.
  std::string owed;
  std::size_t cut = 0;
  ScriptedServer server([&](const ScriptedServer::Words& command) -> Said {
    const std::string greeting = greet(command);
    if (!greeting.empty()) return {greeting};
    const std::string reply = owed + bulk(command.back());
    if (command.back() == "end") return {std::exchange(owed, "").append(bulk("end"))};
    const std::size_t held_back = cut++ % reply.size();
    owed = reply.substr(reply.size() - held_back);
    return {reply.substr(0, reply.size() - held_back)};
  });
  const auto client = connect(server.url());
  std::vector<std::future<StoreReply>> replies;
  for (int i = 0; i < 200; ++i) replies.push_back(begin(*client, {"ECHO", std::to_string(i)}));
  replies.push_back(begin(*client, {"ECHO", "end"}));
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(result(std::move(replies[static_cast<std::size_t>(i)])).text, std::to_string(i));
  }
}

TEST(ClientByScript, TellsSentFromUnsentWhereTheConnectionEnds) {
  std::atomic<bool> open = true;
  ScriptedServer server([&](const ScriptedServer::Words& command) -> Said {
    if (!open) return {"-ERR max number of clients reached\r\n", Said::Then::close};
    const std::string greeting = greet(command);
    if (!greeting.empty()) return {greeting};
    if (command.back() != "fatal") return {bulk(command.back())};
    open = false;
    return {"", Said::Then::close};
  });
  const auto client = connect(server.url());
  EXPECT_EQ(ask(*client, {"ECHO", "hi"}).text, "hi");
  const StoreReply lost = ask(*client, {"ECHO", "fatal"});
  EXPECT_EQ(lost.outcome, CallOutcome::indeterminate);
  EXPECT_NE(lost.text.find("closed the connection"), std::string::npos) << lost.text;
  const StoreReply refused = ask(*client, {"ECHO", "hi"});
  EXPECT_EQ(refused.outcome, CallOutcome::not_sent);
  EXPECT_NE(refused.text.find("max number of clients"), std::string::npos) << refused.text;
  open = true;
  EXPECT_EQ(ask_until_answered(*client, {"ECHO", "hi"}).text, "hi");
}

TEST(ClientByScript, LeavesAServerThatSaysMoreThanItWasAsked) {
  std::atomic<int> asked = 0;
  ScriptedServer server([&](const ScriptedServer::Words& command) -> Said {
    const std::string greeting = greet(command);
    if (!greeting.empty()) return {greeting};
    return {asked++ == 0 ? bulk("hi") + "+what\r\n" : bulk(command.back())};
  });
  const auto client = connect(server.url());
  EXPECT_EQ(ask(*client, {"ECHO", "hi"}).text, "hi");
  EXPECT_EQ(ask_until_answered(*client, {"ECHO", "mine"}).text, "mine");
  EXPECT_EQ(client->stats().connections, 2u);
}

TEST(ClientByScript, EndsCallsAboveItsBoundsAtOnce) {
  ScriptedServer server([](const ScriptedServer::Words& command) -> Said {
    return {greet(command)};  // and nothing to a call
  });
  Client::Settings settings;
  settings.calls_in_flight = 4;
  auto client = connect(server.url(), settings);
  std::vector<std::future<StoreReply>> replies;
  for (int i = 0; i < 5; ++i) {
    replies.push_back(begin(*client, {"ECHO", "hi"}));
  }
  const StoreReply above = result(std::move(replies.back()));
  EXPECT_EQ(above.outcome, CallOutcome::not_sent);
  EXPECT_EQ(above.text, "too many calls are under way");
  settings = {.unsent_bytes = 16};
  const auto narrow = connect(server.url(), settings);
  EXPECT_EQ(ask(*narrow, {"ECHO", "much more than this"}).outcome, CallOutcome::not_sent);
}

TEST(ClientByScript, WaitsForAFirstAttemptUntilTheDeadlineAtMost) {
  ScriptedServer server([](const ScriptedServer::Words&) -> Said { return {}; });
  const auto client = connect(server.url());
  const auto begin_at = std::chrono::steady_clock::now();
  const StoreReply reply = ask(*client, {"PING"}, 20ms);
  EXPECT_EQ(reply.outcome, CallOutcome::not_sent);
  EXPECT_NE(reply.text.find("not connected yet"), std::string::npos) << reply.text;
  EXPECT_GE(std::chrono::steady_clock::now() - begin_at, 20ms);
}

TEST(ClientByScript, FollowsARedirectThreeTimesAtMost) {
  std::atomic<int> port = 0;
  std::atomic<int> asked = 0;
  ScriptedServer server([&](const ScriptedServer::Words& command) -> Said {
    const std::string greeting = greet(command);
    if (!greeting.empty()) return {greeting};
    const std::string own = std::to_string(port);
    if (command[0] == "CLUSTER") {
      // It leaves out its own host, and names a replica that has copied nothing by "?".
      return {"*1\r\n*4\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:" + own +
              "\r\n*2\r\n$1\r\n?\r\n:0\r\n"};
    }
    ++asked;
    if (command.back() == "nowhere") return {"-MOVED 12182 ?:0\r\n"};
    return {"-MOVED 12182 :" + own + "\r\n"};
  });
  port = server.port();
  const auto client = connect("redis+cluster://127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(ask(*client, {"GET", "foo"}).text, "MOVED 12182 :" + std::to_string(port));
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(client->stats().redirects, 3u);
  EXPECT_EQ(ask(*client, {"GET", "nowhere"}).text, "MOVED 12182 ?:0");
  EXPECT_EQ(asked, 5);
}

TEST(ClientByScript, SaysWhyThereIsNoMapOfACluster) {
  for (const std::string& map :
       {std::string("-ERR This instance has cluster support disabled\r\n"), std::string("*0\r\n"),
        std::string("*1\r\n*3\r\n:0\r\n:99999\r\n*0\r\n"),
        std::string("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$3\r\na b\r\n:6379\r\n")}) {
    ScriptedServer server([&](const ScriptedServer::Words& command) -> Said {
      const std::string greeting = greet(command);
      return {greeting.empty() ? map : greeting};
    });
    const auto client = connect("redis+cluster://127.0.0.1:" + std::to_string(server.port()));
    const StoreReply reply = ask(*client, {"GET", "foo"});
    EXPECT_EQ(reply.outcome, CallOutcome::not_sent);
    EXPECT_TRUE(reply.text.starts_with("127.0.0.1:")) << reply.text;
  }
}

TEST(ClientByScript, AsksSentinelsAnewWhereAMasterOnlyReads) {
  std::atomic<bool> reads_only = false;
  std::atomic<int> addresses = 0;
  ScriptedServer master([&](const ScriptedServer::Words& command) -> Said {
    const std::string greeting = greet(command);
    if (!greeting.empty()) return {greeting};
    if (command[0] == "ROLE") return {"*3\r\n" + bulk("master") + ":0\r\n*0\r\n"};
    if (reads_only.exchange(false)) return {"-READONLY You can't write\r\n"};
    return {bulk(command.back())};
  });
  ScriptedServer sentinel([&](const ScriptedServer::Words& command) -> Said {
    const std::string greeting = greet(command);
    if (!greeting.empty()) return {greeting};
    // The first answer leads nowhere.
    if (addresses++ == 0) return {"*2\r\n" + bulk("a b") + bulk("0")};
    return {"*2\r\n" + bulk("127.0.0.1") + bulk(std::to_string(master.port()))};
  });
  const auto client =
      connect("redis+sentinel://127.0.0.1:" + std::to_string(sentinel.port()) + "/weir");
  EXPECT_EQ(ask_until_answered(*client, {"ECHO", "hi"}).text, "hi");
  EXPECT_EQ(addresses, 2);
  reads_only = true;
  EXPECT_EQ(ask(*client, {"ECHO", "again"}).text, "again");
  EXPECT_EQ(addresses, 3);
}

TEST(ClientByScript, RefusesSettingsAndUrlsInWords) {
  EXPECT_EQ(Client::connect("http://h").error().message.substr(0, 8), "column 1");
  EXPECT_EQ(Client::connect("redis://h?password-file=/none").error().message,
            "cannot read the password from /none: No such file or directory");
  EXPECT_EQ(Client::connect("redis://h", {.calls_in_flight = 0}).error().message,
            "calls_in_flight: expected 1 or more");
}

}  // namespace
}  // namespace weir::redis
