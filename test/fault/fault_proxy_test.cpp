// Each fault of the proxy as a plain client of a redis-server sees it.
#include "test/fault/fault_proxy.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "test/redis/await.hpp"
#include "test/redis/redis_connection.hpp"
#include "test/wire/redis_server.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

class FaultProxyTest : public testing::Test {
 protected:
  static constexpr const char* ping = "*1\r\n$4\r\nPING\r\n";
  static std::string echo(const std::string& text) {
    return "*2\r\n$4\r\nECHO\r\n$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  }
  static std::string bulk(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  }

  wire::RedisServer server_;
  FaultProxy proxy_{server_.port()};
};

TEST(FaultWay, WhatItHoldsWaitsWhileItIsStalled) {
  const SteadyTime now{};
  FaultWay way(1);
  way.take("held", now);
  way.set({.stalled = true});
  EXPECT_EQ(way.due(now), "");
  EXPECT_FALSE(way.has_room());
  way.set({});
  EXPECT_EQ(way.due(now), "held");
}

TEST_F(FaultProxyTest, WithoutFaultsAllPasses) {
  RedisConnection connection(proxy_.port());
  const std::string much(1 << 20, 'x');
  EXPECT_EQ(connection.run({"SET", "key", much}).text, "OK");
  EXPECT_EQ(connection.run({"GET", "key"}).text, much);
  wire::Connection another(proxy_.port());
  another.send(ping);
  another.finish();
  const wire::Heard heard = another.hear_all();
  EXPECT_EQ(heard.bytes, "+PONG\r\n");
  EXPECT_TRUE(heard.closed);
  await("the second has ended", [this] { return proxy_.stats().open == 1; });
  const auto stats = proxy_.stats();
  EXPECT_EQ(stats.connections, 2u);
  EXPECT_EQ(stats.resets, 0u);
  EXPECT_GT(stats.replies.bytes, much.size());
}

TEST_F(FaultProxyTest, DelayHoldsBackEachReply) {
  RedisConnection connection(proxy_.port());
  proxy_.set({.replies = {.delay = 30ms, .jitter = 10ms}});
  const auto begun_at = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(connection.run({"PING"}).text, "PONG");
  EXPECT_GE(std::chrono::steady_clock::now() - begun_at, 90ms);
}

TEST_F(FaultProxyTest, PiecesArriveOneByOne) {
  wire::Connection connection(proxy_.port());
  // At 1000 bytes a second a reader that waits sees each byte by itself.
  proxy_.set(
      {.requests = {.piece_bytes = 1}, .replies = {.piece_bytes = 1, .bytes_per_second = 1000}});
  connection.send(ping);
  std::string said;
  int reads = 0;
  while (said.size() < 7) {
    said += connection.hear().bytes;
    ++reads;
  }
  EXPECT_EQ(said, "+PONG\r\n");
  EXPECT_GE(reads, 3);
}

TEST_F(FaultProxyTest, BytesASecondAreKept) {
  RedisConnection connection(proxy_.port());
  connection.must({"SET", "key", std::string(50'000, 'x')});
  proxy_.set({.replies = {.bytes_per_second = 200'000}});
  const auto begun_at = std::chrono::steady_clock::now();
  connection.must({"GET", "key"});
  connection.must({"PING"});
  EXPECT_GE(std::chrono::steady_clock::now() - begun_at, 240ms);
}

TEST_F(FaultProxyTest, AResetComesAmidAReply) {
  wire::Connection connection(proxy_.port());
  proxy_.set({.replies = {.reset_after = 4}});
  connection.send(ping);
  const wire::Heard heard = connection.hear_all();
  EXPECT_TRUE(heard.bytes == "+PON" || heard.bytes.empty()) << heard.bytes;  // RST may overtake.
  EXPECT_TRUE(heard.closed);
  await("it is counted", [this] { return proxy_.stats().resets == 1; });
  proxy_.heal();
  EXPECT_EQ(RedisConnection(proxy_.port()).run({"PING"}).text, "PONG");
}

TEST_F(FaultProxyTest, AHalfCloseEndsRepliesAndLetsRequestsPass) {
  wire::Connection connection(proxy_.port());
  proxy_.set({.replies = {.close_after = 4}});
  connection.send(ping);
  const wire::Heard heard = connection.hear_all();
  EXPECT_EQ(heard.bytes, "+PON");
  EXPECT_TRUE(heard.closed);
  connection.send("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$1\r\n1\r\n");
  await("the request has arrived", [this] {
    return RedisConnection(server_.port()).run({"GET", "key"}).text == "1";
  });
}

TEST_F(FaultProxyTest, AStalledWayPassesNothingUntilItHeals) {
  wire::Connection connection(proxy_.port());
  proxy_.set({.replies = {.stalled = true}});
  connection.send(echo("one"));
  RedisConnection here(server_.port());
  await("the request has arrived", [&] {
    return here.must({"INFO", "commandstats"}).text.find("cmdstat_echo:calls=1") !=
           std::string::npos;
  });
  EXPECT_EQ(proxy_.stats().replies.bytes, 0u);
  proxy_.heal();
  EXPECT_EQ(connection.hear().bytes, bulk("one"));
}

TEST_F(FaultProxyTest, OneReplyIsDroppedWhole) {
  wire::Connection connection(proxy_.port());
  proxy_.set({.replies = {.drop_reply = 1}});
  connection.send(echo("one") + echo("two") + echo("three"));
  connection.finish();
  EXPECT_EQ(connection.hear_all().bytes, bulk("one") + bulk("three"));
  EXPECT_EQ(proxy_.stats().replies.dropped_replies, 1u);
}

TEST_F(FaultProxyTest, AReplyIsLostWithItsConnection) {
  wire::Connection connection(proxy_.port());
  proxy_.set({.replies = {.lose_reply = 0}});
  connection.send("*2\r\n$4\r\nINCR\r\n$3\r\nkey\r\n");
  const wire::Heard heard = connection.hear_all();
  EXPECT_EQ(heard.bytes, "");
  EXPECT_TRUE(heard.closed);
  EXPECT_EQ(RedisConnection(server_.port()).run({"GET", "key"}).text, "1");
}

TEST_F(FaultProxyTest, OneBitOfAByteIsFlipped) {
  wire::Connection connection(proxy_.port());
  proxy_.set({.replies = {.corrupt_at = 5}});
  connection.send(echo("abcdef"));
  const std::string said = connection.hear().bytes;
  const std::string sent = bulk("abcdef");
  ASSERT_EQ(said.size(), sent.size());
  for (std::size_t i = 0; i < said.size(); ++i) EXPECT_EQ(said[i] == sent[i], i != 5) << i;
  EXPECT_EQ(proxy_.stats().replies.corrupted, 1u);
}

TEST_F(FaultProxyTest, WhatIsReadIsDuplicated) {
  wire::Connection connection(proxy_.port());
  proxy_.set({.requests = {.duplicate_ppm = 1'000'000}});
  connection.send("*2\r\n$4\r\nINCR\r\n$3\r\nkey\r\n");
  connection.finish();
  EXPECT_EQ(connection.hear_all().bytes, ":1\r\n:2\r\n");
}

TEST_F(FaultProxyTest, ChanceIsTheSameWithTheSameSeed) {
  const auto replies = [this](std::uint64_t seed) {
    FaultProxy proxy(server_.port(), seed);
    proxy.set({.replies = {.corrupt_ppm = 200'000, .lose_reply_ppm = 100'000}});
    std::string said;
    for (int i = 0; i < 10; ++i) {
      wire::Connection connection(proxy.port());
      connection.send(echo("abcdefghij"));
      connection.finish();
      said += connection.hear_all().bytes + "|";
    }
    return said;
  };
  EXPECT_EQ(replies(7), replies(7));
  EXPECT_NE(replies(7), replies(8));
}

TEST_F(FaultProxyTest, EachConnectionHasFaultsOfItsOwn) {
  proxy_.set([](std::uint64_t connection) {
    return ConnectionFaults{.replies = {.stalled = connection == 0}};
  });
  wire::Connection first(proxy_.port());
  RedisConnection second(proxy_.port());
  first.send(ping);
  EXPECT_EQ(second.run({"PING"}).text, "PONG");
  EXPECT_EQ(proxy_.stats().replies.bytes, 7u);
}

TEST_F(FaultProxyTest, AllConnectionsAreResetAndNewOnesGoElsewhere) {
  wire::RedisServer another;
  RedisConnection(another.port()).must({"SET", "key", "another"});
  wire::Connection connection(proxy_.port());
  connection.send(ping);
  EXPECT_EQ(connection.hear().bytes, "+PONG\r\n");
  proxy_.forward_to(another.port());
  proxy_.reset_all();
  EXPECT_TRUE(connection.hear().closed);
  EXPECT_EQ(RedisConnection(proxy_.port()).run({"GET", "key"}).text, "another");
}

TEST_F(FaultProxyTest, WhoeverConnectsIsResetWhileNobodyIsBehindIt) {
  server_.kill();
  wire::Connection connection(proxy_.port());
  EXPECT_TRUE(connection.hear().closed);
}

}  // namespace
}  // namespace weir::test
