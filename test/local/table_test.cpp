#include "weir/local/table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace weir {
namespace {

using enum Verdict;
using namespace std::chrono_literals;
using std::string;

constexpr Instant start{std::chrono::seconds{1'750'000'000}};

class TableTest : public testing::Test {
 protected:
  const Rule* rule(std::string_view text) { return rules_.find(text).value(); }

  static Verdict take(Table& table, const Rule* rule, std::string_view key, Instant now,
                      Cost cost = 1) {
    return table.take({rule, key}, {now, cost, Span{0}}).decision.verdict;
  }

  static Table::Settings small(std::size_t max_keys) {
    return {.max_keys = max_keys, .shards = 2, .hash_key = {1, 2}};
  }

  Rules rules_;
};

TEST_F(TableTest, KeysAreBytesOfAnyKindAndLength) {
  Table table;
  const Rule* once = rule("1/1h");
  std::set<string> keys{"", string(1, '\0'), string(2, '\0'), "a", string("a\0", 2), "\xff\xfe"};
  // Around the length up to which keys lie inside the entry, and far beyond.
  for (const std::size_t size : {8u, 15u, 16u, 17u, 18u, 1'000u, 100'000u}) {
    keys.insert(string(size, 'x'));
    keys.insert(string(size - 1, 'x') + "y");
    keys.insert("y" + string(size - 1, 'x'));
  }
  for (const string& key : keys) EXPECT_EQ(take(table, once, key, start), granted) << key.size();
  for (const string& key : keys) EXPECT_EQ(take(table, once, key, start), denied) << key.size();
  EXPECT_EQ(table.stats().keys, keys.size());
  for (const string& key : keys) EXPECT_TRUE(table.reset({once, key})) << key.size();
  for (const string& key : keys) EXPECT_FALSE(table.reset({once, key})) << key.size();
  EXPECT_EQ(table.stats().keys, 0u);
}

TEST_F(TableTest, KeysAreCopied) {
  Table table;
  string key = "a key that does not lie inside the entry";
  EXPECT_EQ(take(table, rule("1/1h"), key, start), granted);
  key.assign(key.size(), 'z');
  EXPECT_EQ(take(table, rule("1/1h"), key, start), granted);
  EXPECT_EQ(take(table, rule("1/1h"), "a key that does not lie inside the entry", start), denied);
}

TEST_F(TableTest, TwoRulesOnOneKeyNeverMeet) {
  Table table({.shards = 1});
  const Rule* one = rule("1/1h");
  const Rule* other = rule("fixed-window 1/1h");
  const Rule* named = rules_.add({"login", "1/1h"}).value();
  for (const string key : {"", "user", "a key that does not lie inside the entry"}) {
    for (const Rule* each : {one, other, named}) {
      EXPECT_EQ(take(table, each, key, start), granted) << key;
      EXPECT_EQ(take(table, each, key, start), denied) << key;
    }
    EXPECT_TRUE(table.reset({other, key}));
    EXPECT_EQ(take(table, one, key, start), denied) << key;
    EXPECT_EQ(take(table, named, key, start), denied) << key;
    EXPECT_EQ(take(table, other, key, start), granted) << key;
  }
}

TEST_F(TableTest, AThousandKeysOfEachLengthStayApart) {
  Table table({.shards = 4});
  const Rule* twice = rule("2/1h");
  const auto key = [](std::size_t at) { return string(at % 40, 'k') + std::to_string(at); };
  for (int round = 0; round < 2; ++round) {
    for (std::size_t at = 0; at < 1'000; ++at) {
      ASSERT_EQ(take(table, twice, key(at), start), granted) << at;
    }
  }
  for (std::size_t at = 0; at < 1'000; at += 3) EXPECT_TRUE(table.reset({twice, key(at)}));
  for (std::size_t at = 0; at < 1'000; ++at) {
    ASSERT_EQ(take(table, twice, key(at), start), at % 3 == 0 ? granted : denied) << at;
  }
}

TEST_F(TableTest, WhatTakesNothingKeepsNothing) {
  Table table;
  const Subject subject{rule("2/1h"), "user"};
  EXPECT_EQ(table.take(subject, {start, 0, {}}).decision.verdict, granted);
  EXPECT_EQ(table.take(subject, {start, 3, {}}).decision.verdict, impossible);
  EXPECT_EQ(table.peek(subject, {start, 1, {}}).decision.verdict, granted);
  EXPECT_EQ(table.cancel(subject, start, {1, start, Turn::own, {}}), 0);
  EXPECT_EQ(table.refund(subject, start, 1), 0);
  EXPECT_EQ(table.stats().keys, 0u);
}

TEST_F(TableTest, PeekTellsWhatTakeWouldAndTakesNothing) {
  Table table;
  const Subject subject{rule("2/1h"), "user"};
  EXPECT_EQ(table.peek(subject, {start, 1, {}}).decision.remaining, 2);
  (void)table.take(subject, {start, 1, {}});
  EXPECT_EQ(table.peek(subject, {start, 1, {}}).decision.remaining, 1);
  EXPECT_EQ(table.peek(subject, {start, 2, {}}).decision.verdict, denied);
  EXPECT_EQ(table.peek(subject, {start, 1, {}}).decision.verdict, granted);
}

TEST_F(TableTest, AReadingThatComesLateIsRaised) {
  Table table({.shards = 1});
  const Subject subject{rule("1/1s"), "user"};
  EXPECT_EQ(table.take(subject, {start + 5s, 1, {}}).decided_at, start + 5s);
  const Answer late = table.take({subject.rule, "other"}, {start, 1, {}});
  EXPECT_EQ(late.decided_at, start + 5s);
  EXPECT_EQ(late.decision.ready_at, start + 5s);
  EXPECT_EQ(table.peek(subject, {start, 1, {}}).decision.ready_at, start + 6s);
}

TEST_F(TableTest, DropsExactlyTheFreshStates) {
  Table table({.shards = 1});
  const Rule* second = rule("1/1s");
  const Rule* minute = rule("sliding-log 1/1m");
  for (int at = 0; at < 100; ++at) {
    const string key = std::to_string(at);
    ASSERT_EQ(take(table, at % 2 == 0 ? second : minute, key, start), granted);
  }
  table.sweep(start + 1s - 1us, 1'000);
  EXPECT_EQ(table.stats().keys, 100u);
  table.sweep(start + 1s, 1'000);
  EXPECT_EQ(table.stats().keys, 50u);
  EXPECT_EQ(table.stats().dropped, 50u);
  for (int at = 1; at < 100; at += 2) {
    EXPECT_EQ(take(table, minute, std::to_string(at), start + 1min - 1us), denied) << at;
  }
  table.sweep(start + 1min, 1'000);
  EXPECT_EQ(table.stats().keys, 0u);
}

TEST_F(TableTest, DropsFreshStatesAsItIsUsed) {
  Table table({.shards = 1});
  const Rule* often = rule("1/1ms");
  for (int at = 0; at < 100'000; ++at) {
    ASSERT_EQ(take(table, often, std::to_string(at), start + at * 100us), granted);
  }
  EXPECT_LT(table.stats().keys, 200u);  // ten at a time are not fresh
  EXPECT_LT(table.stats().bytes, 100'000u);
}

TEST_F(TableTest, FreshStatesMakeRoomAtTheCap) {
  Table table(small(10));
  const Rule* second = rule("1/1s");
  for (int round = 0; round < 20; ++round) {
    for (int at = 0; at < 10; ++at) {
      const string key = std::to_string(round * 10 + at);
      ASSERT_EQ(take(table, second, key, start + round * 10s), granted) << key;
    }
  }
  EXPECT_LE(table.stats().keys, 10u);
  EXPECT_GT(table.stats().dropped, 150u);
}

TEST_F(TableTest, AResetForgetsTheKey) {
  Table table;
  const Rule* once = rule("1/1h");
  EXPECT_EQ(take(table, once, "user", start), granted);
  EXPECT_TRUE(table.reset({once, "user"}));
  EXPECT_FALSE(table.reset({once, "user"}));
  EXPECT_EQ(take(table, once, "user", start), granted);
}

TEST_F(TableTest, AGrantIsGivenBackUntilItsInstant) {
  Table table;
  const Subject subject{rule("2/1h"), "user"};
  Grant grant;
  (void)table.take(subject, {start, 2, {}}, &grant);
  EXPECT_EQ(table.cancel(subject, start + 1us, grant), 0);
  Grant later;
  const Answer answer = table.take(subject, {start + 1us, 2, Span{2h}}, &later);
  ASSERT_EQ(answer.decision.verdict, deferred);
  EXPECT_EQ(table.cancel(subject, answer.decision.ready_at, later), 2);
  EXPECT_EQ(table.take(subject, {answer.decision.ready_at, 2, {}}).decision.verdict, granted);
}

TEST_F(TableTest, AKeyThatLeavesTheSharedStatesIsNotForgiven) {
  for (const char* text : {"5/1h", "leaky-bucket 5/1h queue 4", "fixed-window 5/1h",
                           "sliding-window 5/1h", "sliding-log 5/1h", "5/1h & 10/1d"}) {
    Table table(small(1));
    EXPECT_EQ(take(table, rule("1/1s"), "first", start), granted);
    EXPECT_EQ(table.take({rule(text), "user"}, {start, 3, {}}).decision.verdict, granted) << text;
    EXPECT_EQ(table.stats().shared_answers, 1u);
    table.sweep(start + 1s, 1'000);  // now there is room
    ASSERT_EQ(table.stats().keys, 0u);
    const Request two{start + 1s, 2, Span{1h}};
    EXPECT_TRUE(taken(table.take({rule(text), "user"}, two).decision.verdict)) << text;
    EXPECT_EQ(table.stats().keys, 1u);
    EXPECT_EQ(table.stats().shared_answers, 1u);
    EXPECT_EQ(take(table, rule(text), "user", start + 1s), denied) << text;
  }
}

TEST_F(TableTest, APenaltyOnSharedStatesIsKept) {
  Table table(small(1));
  const Rule* blocking = rule("2/1s block 1m");
  EXPECT_EQ(take(table, rule("1/1h"), "first", start), granted);
  EXPECT_EQ(take(table, blocking, "user", start, 2), granted);
  EXPECT_EQ(take(table, blocking, "user", start), denied);
  EXPECT_EQ(take(table, blocking, "user", start + 1min - 1us), denied);
  EXPECT_EQ(take(table, blocking, "user", start + 1min), granted);
}

}  // namespace
}  // namespace weir
