// What lies in the store, byte by byte, and under which key.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "redis/limit_config.hpp"
#include "redis/stored_form.hpp"
#include "redis/stored_key.hpp"
#include "test/redis/lua_store.hpp"

namespace weir::redis {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    constexpr const char* digits = "0123456789abcdef";
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

struct Golden {
  const char* limit;
  std::vector<std::int64_t> takes;  ///< at 1 s, 1 s + 1 us ...
  const char* bytes;
};

// Whoever changes one of these has lost the states of every store: a new form needs a new version.
const Golden goldens[] = {
    {"100/1s burst 7", {2}, "743100000000c0202f410000000000000000"},
    {"3/7ms burst 4", {1}, "743100000000ba962e41000000000000f03f"},
    {"leaky-bucket 7/3ms queue 20", {3}, "6c31000000008a8e2e410000000000001440"},
    {"fixed-window 50/1s", {5}, "66310000000080842e410000000000001440"},
    {"sliding-window 20/1s parts 1",
     {4, 2},
     "7731000000008084"
     "2e4100000000000000000000000000001840"},
    {"sliding-log 3/100ms", {1, 2}, "6f310000000080842e410000000082842e410000000082842e41"},
    {"concurrency 4/10s",
     {1, 2},
     "63310000000082842e410000000082842e4100000000000008400000000018fb6441000000008084"
     "2e41000000000000f03f0000002018fb64410000000082842e410000000000000040"},
    {"calendar-window 9/hour zone Asia/Kathmandu", {2, 1}, "6b3100000060d71de4c10000000000000840"},
    {"1/1s block 300ms",
     {1, 1},
     "6d310000000021d63341000000000000084000000000000000000000000080843e410000000000000000"},
};

std::string stored_after(const Golden& golden) {
  const Limit limit = Limit::of(golden.limit);
  LuaStore store(Loaded::library);
  Instant now{std::chrono::seconds{1}};
  for (const std::int64_t cost : golden.takes) {
    store.set_time(now);
    const auto reply = store.call({ScriptVerb::take,
                                   machine_letter(limit),
                                   {"k"},
                                   {config_text(limit).value(), std::to_string(cost), "-1"}});
    EXPECT_EQ(reply.error, "");
    now += Span{1};
  }
  return store.get("k").value_or("");
}

TEST(StoredForm, TheBytesOfEachMachineAreThese) {
  for (const Golden& golden : goldens) {
    EXPECT_EQ(hex(stored_after(golden)), golden.bytes) << golden.limit;
  }
}

TEST(StoredForm, WhatLuaWritesCppWritesToo) {
  for (const Golden& golden : goldens) {
    const std::string bytes = stored_after(golden);
    const auto state = read_stored(bytes);
    ASSERT_TRUE(state) << golden.limit;
    EXPECT_EQ(write_stored(*state), bytes) << golden.limit;
  }
}

TEST(StoredForm, BytesOfNoStateAreRefused) {
  const std::string good = stored_after(goldens[0]);
  EXPECT_TRUE(read_stored(good));
  EXPECT_FALSE(read_stored(""));
  EXPECT_FALSE(read_stored("t1"));
  EXPECT_FALSE(read_stored(good + "x"));
  EXPECT_FALSE(read_stored("t2" + good.substr(2)));
  EXPECT_FALSE(read_stored("x1" + good.substr(2)));
  const std::string half("\0\0\0\0\0\0\xe0\x3f", 8);
  std::string halves = "t1";  // a sum of strings: a false warning of g++ 12
  halves.append(half).append(half);
  EXPECT_FALSE(read_stored(halves));
  EXPECT_FALSE(read_stored("r1" + good.substr(2)));
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {  // whatever comes back is a state, or none
    std::string bytes(1, "tlfwomckr"[random() % 9]);
    bytes.push_back('1');
    for (std::size_t size = 8 * (random() % 8); size > 0; --size) {
      bytes += static_cast<char>(random() % 4 == 0 ? random() : 0);
    }
    const auto state = read_stored(bytes);
    if (state) {
      EXPECT_EQ(read_stored(write_stored(*state)), state);
    }
  }
}

TEST(StoredKey, BracesAreEscapedAndNoTwoNamesMeet) {
  EXPECT_EQ(stored_key({"user:7", "5/1m"}), "weir:{user:7}:5/1m");
  EXPECT_EQ(stored_key({"", "5/1m"}), "weir:{%}:5/1m");
  EXPECT_EQ(stored_key({"a}:5/1s{b%", "5/1m"}), "weir:{a%7D:5/1s%7Bb%25}:5/1m");
  std::set<std::string> seen;
  const std::vector<std::string> words{"", "%", "a", "}", "{", "%7D", "a}:b", "}:", "%25"};
  for (const auto& key : words) {
    for (const auto& limit : words) seen.insert(stored_key({key, limit}));
  }
  EXPECT_EQ(seen.size(), words.size() * words.size());
}

TEST(LimitConfig, IsTheMachinesLetterTheSlackAndItsNumbers) {
  const auto text = [](const char* limit) { return config_text(Limit::of(limit)).value(); };
  EXPECT_EQ(text("100/1s"), "t 60000000 10000 0 1 100");
  EXPECT_EQ(text("3/7ms burst 4"), "t 60000000 2333 1 3 4");
  EXPECT_EQ(text("leaky-bucket 10/1s queue 5"), "l 60000000 100000 0 1 6");
  EXPECT_EQ(text("fixed-window 50/1s"), "f 60000000 50 1000000");
  EXPECT_EQ(text("sliding-window 6/70ms parts 3"), "w 60000000 6 23334 4");
  EXPECT_EQ(text("sliding-log 3/100ms"), "o 60000000 3 100000");
  EXPECT_EQ(text("concurrency 10/30s"), "c 60000000 10 30000000");
  EXPECT_EQ(text("calendar-window 7/week"), "k 60000000 7 3 0,0");
  EXPECT_EQ(text("calendar-window 5/day zone Europe/Berlin"),
            "k 60000000 5 2 3600,0,2020,3,5,0,7200,7200,10,5,0,10800,3600");
  EXPECT_EQ(text("5/1s block 300ms & fixed-window 7/1m"),
            "m 60000000 2 300000 t 200000 0 1 5 0 f 7 60000000");
}

TEST(LimitConfig, TheSlackCoversTheLimitsOwnQueue) {
  EXPECT_EQ(config_text(Limit::of("leaky-bucket 1/1s queue 100")).value(),
            "l 100000000 1000000 0 1 101");
}

TEST(LimitConfig, WhatAStoreCannotKeepIsRefused) {
  EXPECT_EQ(config_text(Limit::of("5/1s initial 2")).error(), Unstorable::starts_short);
  const std::string count = std::to_string((std::int64_t{1} << 60) - 1);
  const auto fine = Limit::parse(count + "/1125899906842624us burst 1");
  if (fine) {
    EXPECT_EQ(config_text(*fine).error(), Unstorable::too_fine);
  }
}

}  // namespace
}  // namespace weir::redis
