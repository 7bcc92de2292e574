#include "redis/sentinel.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using Action = Sentinels::Action;

constexpr SteadyInstant start{1h};
const Node first{"s1", 26379};
const Node second{"s2", 26379};
const Node old_master{"10.0.0.1", 6379};
const Node new_master{"10.0.0.2", 6380};

wire::Reply read(std::string_view bytes) {
  wire::Reply reply;
  wire::ReplyReader reader;
  EXPECT_EQ(reader.read(bytes, reply).status, wire::ReadStatus::complete) << bytes;
  return reply;
}

wire::Reply address(const Node& node) {
  return read("*2\r\n+" + node.host + "\r\n+" + std::to_string(node.port) + "\r\n");
}
wire::Reply role(const std::string& name) { return read("*3\r\n+" + name + "\r\n:9\r\n*0\r\n"); }

Sentinels two_sentinels() { return Sentinels({.nodes = {first, second}, .master = "mymaster"}); }

void expect_todo(Sentinels& sentinels, Action action, const Node& node, SteadyInstant now = start) {
  const auto todo = sentinels.next(now);
  EXPECT_EQ(todo.action, action);
  EXPECT_EQ(todo.node, node) << print(todo.node);
}

/// Finds old_master by the first sentinel.
Sentinels settled() {
  Sentinels sentinels = two_sentinels();
  sentinels.hear_address(address(old_master), start);
  sentinels.hear_role(old_master, role("master"), start);
  EXPECT_EQ(sentinels.master(), old_master);
  return sentinels;
}

TEST(RedisSentinel, TheMasterIsWhoASentinelNamesAndWhoSaysSoItself) {
  Sentinels sentinels = two_sentinels();
  expect_todo(sentinels, Action::ask_address, first);
  EXPECT_EQ(sentinels.address_question(),
            "*3\r\n$8\r\nSENTINEL\r\n$23\r\nGET-MASTER-ADDR-BY-NAME\r\n$8\r\nmymaster\r\n");
  sentinels.hear_address(address(old_master), start);
  EXPECT_FALSE(sentinels.master());
  expect_todo(sentinels, Action::ask_role, old_master);
  sentinels.hear_role(old_master, role("master"), start);
  EXPECT_EQ(sentinels.master(), old_master);
  EXPECT_EQ(sentinels.next(start).action, Action::none);
}

TEST(RedisSentinel, ASentinelThatNamesAReplicaIsPassedOver) {
  Sentinels sentinels = two_sentinels();
  sentinels.hear_address(address(old_master), start);
  sentinels.hear_role(old_master, role("slave"), start);
  expect_todo(sentinels, Action::ask_address, second);
  sentinels.hear_address(address(new_master), start);
  sentinels.hear_role(new_master, role("master"), start);
  EXPECT_EQ(sentinels.master(), new_master);
}

TEST(RedisSentinel, WhatMakesNoSenseLeadsToTheNext) {
  for (const char* const bad :
       {"_\r\n", "*0\r\n", "*2\r\n+a\r\n+x\r\n", "*2\r\n+a\r\n+0\r\n", "*2\r\n+\r\n+1\r\n",
        "*3\r\n+a\r\n+1\r\n+2\r\n", "-ERR No such master with that name\r\n", "+OK\r\n"}) {
    Sentinels sentinels = two_sentinels();
    sentinels.hear_address(read(bad), start);
    expect_todo(sentinels, Action::ask_address, second);
  }
  for (const char* const bad : {"_\r\n", "*0\r\n", "+master\r\n", "-NOPERM x\r\n"}) {
    Sentinels sentinels = two_sentinels();
    sentinels.hear_address(address(old_master), start);
    sentinels.hear_role(old_master, read(bad), start);
    expect_todo(sentinels, Action::ask_address, second);
  }
}

TEST(RedisSentinel, AfterTheLastOfARoundThereIsAWaitThatGrows) {
  Sentinels sentinels(
      {.nodes = {first, second}, .master = "m", .backoff = {.first_for = 10ms, .longest_for = 1s}});
  SteadyInstant now = start;
  for (const auto plain : {10ms, 20ms, 40ms}) {
    sentinels.failed(first, now);
    expect_todo(sentinels, Action::ask_address, second, now);
    sentinels.failed(second, now);
    const auto todo = sentinels.next(now);
    ASSERT_EQ(todo.action, Action::wait);
    EXPECT_GE(todo.until, now + plain);
    EXPECT_LE(todo.until, now + plain + plain / 2);
    EXPECT_EQ(sentinels.next(todo.until - 1ns).action, Action::wait);
    now = todo.until;
    expect_todo(sentinels, Action::ask_address, first, now);
  }
}

TEST(RedisSentinel, DoubtBeginsWithTheSentinelThatToldTheTruth) {
  Sentinels sentinels = two_sentinels();
  sentinels.failed(first, start);
  sentinels.hear_address(address(old_master), start);
  sentinels.hear_role(old_master, role("master"), start);
  sentinels.doubt();
  EXPECT_FALSE(sentinels.master());
  expect_todo(sentinels, Action::ask_address, second);
}

TEST(RedisSentinel, ASwitchIsBelievedOnceTheNewMasterSaysSo) {
  Sentinels sentinels = settled();
  EXPECT_TRUE(sentinels.hear_switch("mymaster 10.0.0.1 6379 10.0.0.2 6380"));
  EXPECT_FALSE(sentinels.master()) << "nothing more is sent to the old one";
  expect_todo(sentinels, Action::ask_role, new_master);
  sentinels.hear_role(new_master, role("master"), start);
  EXPECT_EQ(sentinels.master(), new_master);
}

TEST(RedisSentinel, ASwitchOfAnotherMasterOrWithoutSenseChangesNothing) {
  Sentinels sentinels = settled();
  for (const char* const message :
       {"", "mymaster", "mymaster 10.0.0.1 6379", "mymaster 10.0.0.1 6379 10.0.0.2",
        "mymaster 10.0.0.1 6379 10.0.0.2 0", "mymaster 10.0.0.1 6379 10.0.0.2 6380 x",
        "mymaster2 10.0.0.1 6379 10.0.0.2 6380", "mymaster 10.0.0.1 6379  6380"}) {
    EXPECT_FALSE(sentinels.hear_switch(message)) << message;
    EXPECT_EQ(sentinels.master(), old_master) << message;
  }
}

TEST(RedisSentinel, TheRoleOfTheOldNodeIsNotTakenForThatOfTheNewOne) {
  Sentinels sentinels = two_sentinels();
  sentinels.hear_address(address(old_master), start);
  EXPECT_TRUE(sentinels.hear_switch("mymaster 10.0.0.1 6379 10.0.0.2 6380"));
  sentinels.hear_role(old_master, role("master"), start);
  EXPECT_FALSE(sentinels.master());
  sentinels.failed(old_master, start);
  expect_todo(sentinels, Action::ask_role, new_master);
}

TEST(RedisSentinel, ALateFailureInAWaitPassesOverNobody) {
  Sentinels sentinels = two_sentinels();
  sentinels.failed(first, start);
  sentinels.failed(second, start);
  sentinels.failed(first, start);
  const auto todo = sentinels.next(start);
  ASSERT_EQ(todo.action, Action::wait);
  expect_todo(sentinels, Action::ask_address, first, todo.until);
}

TEST(RedisSentinel, ASwitchInAWaitToANodeThatFailsLeadsBackToTheSentinels) {
  Sentinels sentinels = two_sentinels();
  sentinels.failed(first, start);
  sentinels.failed(second, start);
  EXPECT_TRUE(sentinels.hear_switch("mymaster 10.0.0.1 6379 10.0.0.2 6380"));
  expect_todo(sentinels, Action::ask_role, new_master);
  sentinels.failed(new_master, start);
  EXPECT_EQ(sentinels.next(start).action, Action::wait);
}

TEST(RedisSentinel, WithoutANodeOrANameThereIsNothingToAsk) {
  EXPECT_THROW(Sentinels({.master = "m"}), std::invalid_argument);
  EXPECT_THROW(Sentinels({.nodes = {first}}), std::invalid_argument);
}

// Sentinels that lie, fail and disagree: never is one believed whom the node itself contradicts,
// and once all is well the master is found within a round.
TEST(RedisSentinelLaw, TheTruthIsFoundOnceAllIsWell) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 500; ++round) {
    Sentinels sentinels({.nodes = {first, second, {"s3", 1}}, .master = "mymaster"});
    SteadyInstant now = start;
    int questions_when_well = 0;
    for (int step = 0; step < 120 && questions_when_well < 10; ++step) {
      const bool well = step >= 60;
      const auto todo = sentinels.next(now);
      if (sentinels.master()) {
        EXPECT_EQ(*sentinels.master(), new_master);
        if (well) break;
        sentinels.doubt();
        continue;
      }
      questions_when_well += well ? 1 : 0;
      const bool lies = !well && random() % 2 == 0;
      if (todo.action == Action::wait) {
        now = todo.until;
        questions_when_well = 0;
      } else if (!well && random() % 4 == 0) {
        sentinels.failed(todo.node, now);
      } else if (!well && random() % 6 == 0) {
        sentinels.hear_switch("mymaster 10.0.0.2 6380 10.0.0.1 6379");
      } else if (todo.action == Action::ask_address) {
        sentinels.hear_address(address(lies ? old_master : new_master), now);
      } else {
        sentinels.hear_role(todo.node, role(todo.node == new_master ? "master" : "slave"), now);
      }
    }
    EXPECT_EQ(sentinels.master(), new_master) << "round " << round;
  }
}

}  // namespace
}  // namespace weir::redis
