// The client and a real redis-server.
#include "weir/redis/client.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "test/redis/asking.hpp"
#include "test/wire/redis_server.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using test::ask;
using test::ask_until_answered;
using test::begin;
using test::result;
using Kind = StoreReply::Kind;

std::string url_of(const wire::RedisServer& server) {
  return "redis://127.0.0.1:" + std::to_string(server.port());
}

std::unique_ptr<Client> connect(const std::string& url, const Client::Settings& settings = {}) {
  auto client = Client::connect(url, settings);
  if (!client) throw std::runtime_error(client.error().message);
  return std::move(client).value();
}

StoreReply answer(Kind kind, std::string text) {
  return {.outcome = CallOutcome::answered, .kind = kind, .text = std::move(text)};
}

TEST(Client, AnswersInTheWordsOfLimiters) {
  const wire::RedisServer server;
  const auto client = connect(url_of(server));
  EXPECT_EQ(ask(*client, {"SET", "k", "v"}), answer(Kind::text, "OK"));
  EXPECT_EQ(ask(*client, {"GET", "k"}), answer(Kind::text, "v"));
  EXPECT_EQ(ask(*client, {"GET", "none"}), answer(Kind::none, ""));
  EXPECT_EQ(ask(*client, {"STRLEN", "k"}).integers, std::vector<std::int64_t>{1});
  EXPECT_EQ(ask(*client, {"EVAL", "return {1, -2}", "0"}).integers,
            (std::vector<std::int64_t>{1, -2}));
  const StoreReply error = ask(*client, {"LPUSH", "k", "v"});
  EXPECT_EQ(error.kind, Kind::error);
  EXPECT_TRUE(error.text.starts_with("WRONGTYPE")) << error.text;
  const StoreReply other = ask(*client, {"CONFIG", "GET", "maxmemory"});
  EXPECT_EQ(other.outcome, CallOutcome::answered);
  EXPECT_EQ(other.kind, Kind::error);
}

TEST(Client, ManyThreadsEachHearWhatTheyAskedInTheirOrder) {
  const wire::RedisServer server;
  constexpr int calls = 1250;
  Client::Settings settings;
  settings.calls_in_flight = 8 * calls;
  const auto client = connect(url_of(server), settings);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  std::atomic<int> ended = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      auto next = std::make_shared<int>(0);
      for (int i = 0; i < calls; ++i) {
        const std::string id = std::to_string(t) + ":" + std::to_string(i);
        ask(*client, {"ECHO", id}, test::long_enough, [&, id, i, next](StoreReply&& reply) {
          if (reply == answer(Kind::text, id) && (*next)++ == i) ++right;
          ++ended;
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (ended < 8 * calls) std::this_thread::yield();
  EXPECT_EQ(right, 8 * calls);
  EXPECT_EQ(client->stats().calls, 8u * calls);
  EXPECT_EQ(client->stats().connections, 1u);
  EXPECT_EQ(client->stats().connected_nodes, 1u);
}

TEST(Client, ReconnectsToAKilledConnectionAndTellsWhatMayHaveRun) {
  const wire::RedisServer server;
  const auto client = connect(url_of(server));
  ask_until_answered(*client, {"PING"});
  auto blocked = begin(*client, {"BLPOP", "nothing", "0"});
  auto behind = begin(*client, {"ECHO", "behind"});
  const auto other = connect(url_of(server));
  while (ask_until_answered(*other, {"CLIENT", "LIST"}).text.find("cmd=blpop") ==
         std::string::npos) {
  }
  ask_until_answered(*other, {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  EXPECT_EQ(result(std::move(blocked)).outcome, CallOutcome::indeterminate);
  EXPECT_EQ(result(std::move(behind)).outcome, CallOutcome::indeterminate);
  EXPECT_EQ(ask(*client, {"ECHO", "again"}), answer(Kind::text, "again"));
  EXPECT_EQ(client->stats().connections, 2u);
}

TEST(Client, KeepsDeadlinesWhileTheServerHangsAndMatchesNoLateReply) {
  wire::RedisServer server;
  const auto client = connect(url_of(server));
  ask_until_answered(*client, {"PING"});
  server.freeze();
  auto shortest = std::chrono::nanoseconds::max();  // a busy machine holds up some of them
  for (int i = 0; i < 5; ++i) {
    const auto begin_at = std::chrono::steady_clock::now();
    const StoreReply reply = ask(*client, {"ECHO", "late" + std::to_string(i)}, 20ms);
    EXPECT_EQ(reply.outcome, CallOutcome::timed_out);
    shortest = std::min(shortest, std::chrono::steady_clock::now() - begin_at);
  }
  EXPECT_GE(shortest, 20ms);
  EXPECT_LT(shortest, 70ms);
  server.thaw();
  EXPECT_EQ(ask(*client, {"ECHO", "mine"}), answer(Kind::text, "mine"));
  EXPECT_EQ(client->stats().late_replies, 5u);
  EXPECT_EQ(client->stats().connections, 1u);
}

TEST(Client, GivesUpAConnectionThatOwesAnAnswerForTooLong) {
  wire::RedisServer server;
  Client::Settings settings;
  settings.connect_within = 100ms;
  const auto client = connect(url_of(server), settings);
  ask_until_answered(*client, {"PING"});
  server.freeze();
  StoreReply late;
  do {  // a busy machine may not come to send it
    late = ask(*client, {"ECHO", "late"}, 10ms);
  } while (late.outcome == CallOutcome::not_sent);
  EXPECT_EQ(late.outcome, CallOutcome::timed_out);
  auto behind = begin(*client, {"ECHO", "behind"});
  EXPECT_EQ(result(std::move(behind)).outcome, CallOutcome::indeterminate);
  // The kernel still takes connections for it; nobody says hello.
  StoreReply reply;
  do {
    reply = ask(*client, {"PING"}, 10ms);
    EXPECT_EQ(reply.outcome, CallOutcome::not_sent);
  } while (client->stats().failed_attempts == 0);
  server.thaw();
  EXPECT_EQ(ask_until_answered(*client, {"ECHO", "mine"}), answer(Kind::text, "mine"));
  EXPECT_EQ(client->stats().late_replies, 0u);
}

TEST(Client, TellsAtOnceWhileAServerIsGone) {
  auto server = std::make_unique<wire::RedisServer>();
  const auto client = connect(url_of(*server));
  ask_until_answered(*client, {"PING"});
  auto blocked = begin(*client, {"BLPOP", "nothing", "0"});
  while (ask(*client, {"PING"}, 1ms).outcome == CallOutcome::answered) {
  }
  server.reset();  // by SIGKILL
  EXPECT_EQ(result(std::move(blocked)).outcome, CallOutcome::indeterminate);
  StoreReply reply;
  const auto begin_at = std::chrono::steady_clock::now();
  do {
    reply = ask(*client, {"PING"}, test::long_enough);
    EXPECT_EQ(reply.outcome, CallOutcome::not_sent);
  } while (reply.text.find("refused") == std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begin_at, test::long_enough);
}

TEST(Client, EndsCallsUnderWayWithItself) {
  const wire::RedisServer server;
  auto client = connect(url_of(server));
  ask_until_answered(*client, {"PING"});
  auto blocked = begin(*client, {"BLPOP", "nothing", "0"});
  const auto other = connect(url_of(server));
  while (ask_until_answered(*other, {"CLIENT", "LIST"}).text.find("cmd=blpop") ==
         std::string::npos) {
  }
  auto last = begin(*client, {"ECHO", "last"});
  client.reset();
  EXPECT_EQ(result(std::move(blocked)).outcome, CallOutcome::indeterminate);
  EXPECT_NE(result(std::move(last)).outcome, CallOutcome::answered);
}

TEST(Client, UsesTheDatabaseThatItIsTold) {
  const wire::RedisServer server;
  const auto third = connect(url_of(server) + "/3");
  ask(*third, {"SET", "k", "third"});
  const auto first = connect(url_of(server));
  EXPECT_EQ(ask(*first, {"GET", "k"}).kind, Kind::none);
  EXPECT_EQ(ask(*third, {"GET", "k"}).text, "third");
}

TEST(Client, SaysWhyAPasswordIsRefused) {
  const wire::RedisServer server({.arguments = {"--requirepass", "open"}});
  const std::string where = "127.0.0.1:" + std::to_string(server.port());
  const auto right = connect("redis://:open@" + where);
  EXPECT_EQ(ask(*right, {"PING"}).text, "PONG");
  for (const std::string& url : {"redis://:shut@" + where, "redis://" + where}) {
    const auto wrong = connect(url);
    const StoreReply reply = ask(*wrong, {"PING"});
    EXPECT_EQ(reply.outcome, CallOutcome::not_sent);
    const bool told = reply.text.find("WRONGPASS") != std::string::npos ||
                      reply.text.find("NOAUTH") != std::string::npos;
    EXPECT_TRUE(told) << reply.text;
    EXPECT_EQ(reply.text.find("shut"), std::string::npos);
  }
}

TEST(Client, IsToldByAReplicaThatItOnlyReads) {
  const wire::RedisServer server({.arguments = {"--replicaof", "127.0.0.1 1"}});
  const auto client = connect(url_of(server));
  const StoreReply reply = ask(*client, {"SET", "k", "v"});
  EXPECT_EQ(reply.kind, Kind::error);
  EXPECT_TRUE(reply.text.starts_with("READONLY")) << reply.text;
}

}  // namespace
}  // namespace weir::redis
