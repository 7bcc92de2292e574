// Token buckets of many keys: what happens at the edges of their memory, and each verb.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "weir/local/keyed_token_bucket.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using std::string;
using std::chrono::nanoseconds;
using Limiter = KeyedTokenBucket<string, ManualClock>;

constexpr SteadyInstant start{1'000h};

/// A key alone, told only of what it was granted: would it have been granted that too?
class Alone {
 public:
  bool grants(const KeyedWords::Config& config, SteadyInstant now, Cost cost) {
    const Instant at{Span{static_cast<std::int64_t>(config.scale.ticks(now.time_since_epoch()))}};
    return step<Gcra>(config.bucket, state_, {at, cost, Span{0}}).verdict == Verdict::granted;
  }

 private:
  Gcra::State state_;
};

class KeyedWordsTest : public testing::Test {
 protected:
  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
  }
  static Limiter::Settings five_a_minute(std::size_t max_keys) {
    return {.count = 5, .period = 1min, .burst = 5, .max_keys = max_keys, .hash_key = {1, 2}};
  }

  ManualTime time_{start};
  ManualClock clock_{time_};
  std::mt19937_64 random_{7};
};

TEST_F(KeyedWordsTest, UnderAFloodGrantNoKeyMoreThanItWouldBeGrantedAlone) {
  const Quota quota{5, 1min, 5};
  const auto config = KeyedWords::configure(quota).value();
  Limiter limiter(five_a_minute(500), clock_);
  std::map<string, Alone> alone;
  std::size_t granted = 0;
  SteadyInstant newest = start;
  for (int event = 0; event < 200'000; ++event) {
    newest += nanoseconds{below(4'000'000)};
    // A few keys knock often, most of them once or twice; every fourth reading is late.
    const string key = std::to_string(below(below(4) == 0 ? 60 : 20'000));
    const SteadyInstant now = below(4) == 0 ? newest - nanoseconds{below(80'000'000'000)} : newest;
    const Cost cost = 1 + below(2);
    if (!limiter.try_acquire(key, cost, now)) continue;
    ++granted;
    ASSERT_TRUE(alone[key].grants(config, now, cost)) << "key " << key << ", event " << event;
  }
  EXPECT_GT(granted, 10'000u);
  EXPECT_GT(limiter.stats().shared_answers, 2'000u);
}

TEST_F(KeyedWordsTest, UnderAFloodAnswerThoseWhoHaveASlotAsIfThereWereNone) {
  constexpr std::size_t own = 200;
  const auto config = KeyedWords::configure({5, 1min, 5}).value();
  Limiter limiter(five_a_minute(own), clock_);
  std::vector<Alone> pure(own);
  const auto ask = [&](std::size_t at, Cost cost) {
    const bool granted{limiter.try_acquire("own" + std::to_string(at), cost)};
    return granted == pure[at].grants(config, time_.now(), cost);
  };
  for (std::size_t at = 0; at < own; ++at) ASSERT_TRUE(ask(at, 5));
  ASSERT_EQ(limiter.stats().shared_answers, 0u);
  // Not so long that any of them rests until it is repaid.
  for (int event = 0; event < 20'000; ++event) {
    time_.advance(nanoseconds{below(2'900'000)});
    (void)limiter.try_acquire("stranger" + std::to_string(event));
    if (event % 5 == 0) {
      const auto at = static_cast<std::size_t>(below(own));
      ASSERT_TRUE(ask(at, 1 + below(3))) << "own key " << at << ", event " << event;
    }
  }
  EXPECT_GT(limiter.stats().shared_answers, 50u);
}

TEST_F(KeyedWordsTest, WhoseSlotsWereTakenOverGrantLateReadingsNothingTwice) {
  Limiter limiter(five_a_minute(1), clock_);
  for (int key = 0; key < 50; ++key) {
    ASSERT_TRUE(limiter.try_acquire(std::to_string(key), 5, start));
  }
  // A minute later all are repaid, and others come, each repaid before the next one.
  for (int key = 0; key < 5'000; ++key) {
    const SteadyInstant later = start + 1min + key * 12s;
    ASSERT_TRUE(limiter.try_acquire("other" + std::to_string(key), 1, later));
  }
  ASSERT_EQ(limiter.stats().shared_answers, 0u);
  // A thread that read its clock before that asks for the first ones.
  for (int key = 0; key < 50; ++key) {
    EXPECT_FALSE(limiter.try_acquire(std::to_string(key), 5, start + 30s)) << key;
  }
}

TEST_F(KeyedWordsTest, KeepHardlyAnyOfMaxKeysOnSharedWords) {
  for (const std::size_t keys : {1'000U, 100'000U}) {
    Limiter limiter(five_a_minute(keys), clock_);
    std::size_t denied = 0;
    for (std::size_t key = 0; key < keys; ++key) {
      denied += limiter.try_acquire(std::to_string(key), 5) ? 0U : 1U;
    }
    const auto stats = limiter.stats();
    std::cout << keys << " keys: " << stats.shared_answers << " on shared words, " << denied
              << " denied; " << stats.bytes << " bytes, " << stats.slots << " slots, " << stats.keys
              << " keys counted\n";
    EXPECT_LE(stats.shared_answers, keys / 10'000);
    EXPECT_EQ(denied, 0u);
    EXPECT_NEAR(static_cast<double>(stats.keys), static_cast<double>(keys),
                static_cast<double>(keys) / 50);
    EXPECT_LE(stats.bytes, keys * 31 + 5'300);
  }
}

TEST_F(KeyedWordsTest, InABatchDecideAsOneByOne) {
  Limiter batch(five_a_minute(1'000), clock_);
  Limiter single(five_a_minute(1'000), clock_);
  for (int round = 0; round < 300; ++round) {
    time_.advance(nanoseconds{below(20'000'000'000)});
    std::vector<string> keys(static_cast<std::size_t>(below(70)));
    for (string& key : keys) key = std::to_string(below(100));
    const Cost cost = below(7);
    std::vector<Outcome> outcomes(keys.size());
    batch.try_acquire_many(keys, cost, outcomes);
    for (std::size_t at = 0; at < keys.size(); ++at) {
      ASSERT_EQ(outcomes[at], single.try_acquire(keys[at], cost)) << keys[at];
    }
  }
}

TEST_F(KeyedWordsTest, AnswerWhatIsNeverGranted) {
  Limiter limiter(five_a_minute(10), clock_);
  const Outcome never{Verdict::impossible, Refusal::limit, SteadyInstant::max()};
  for (const Cost cost :
       {Cost{6}, Cost{-1}, std::numeric_limits<Cost>::min(), std::numeric_limits<Cost>::max()}) {
    EXPECT_EQ(limiter.try_acquire("a", cost), never) << cost;
    EXPECT_EQ(limiter.peek("a", cost).outcome, never) << cost;
  }
  EXPECT_TRUE(limiter.try_acquire("a", 5));
  EXPECT_EQ(limiter.try_acquire("a", -1), never);
  EXPECT_EQ(limiter.try_acquire("a", 6), never);
  EXPECT_TRUE(limiter.try_acquire("a", 0));
  EXPECT_FALSE(limiter.try_acquire("a", 1));
  EXPECT_EQ(limiter.refund("a", -3), 0);
  EXPECT_EQ(limiter.refund("a", 0), 0);
  EXPECT_EQ(limiter.refund("nobody", 3), 0);
  EXPECT_FALSE(limiter.reset("nobody"));
}

TEST_F(KeyedWordsTest, RefuseNumbersThatMakeNoLimit) {
  EXPECT_THROW(Limiter({1, 1s, 1, 0}, clock_), std::invalid_argument);
  EXPECT_THROW(Limiter({1, 1s, 1, ~std::size_t{0}}, clock_), std::invalid_argument);
  EXPECT_THROW(Limiter({0, 1s, 1, 10}, clock_), std::invalid_argument);
  EXPECT_THROW(Limiter({2, 1ns, 1, 10}, clock_), std::invalid_argument);
  EXPECT_THROW(Limiter({1, 1s, 0, 10}, clock_), std::invalid_argument);
  Limiter limiter(five_a_minute(10), clock_);
  EXPECT_THROW(limiter.reconfigure({1, 1s, -1}), std::invalid_argument);
  EXPECT_THROW((void)limiter.override_for("a", {1, 0s, 1}), std::invalid_argument);
}

TEST_F(KeyedWordsTest, ForgetAKeyThatIsReset) {
  Limiter limiter(five_a_minute(10), clock_);
  ASSERT_TRUE(limiter.try_acquire("a", 5));
  ASSERT_TRUE(limiter.try_acquire("b", 5));
  EXPECT_TRUE(limiter.reset("a"));
  EXPECT_EQ(limiter.peek("a").remaining, 5);
  EXPECT_EQ(limiter.peek("b").remaining, 0);
}

TEST_F(KeyedWordsTest, GiveAKeyAQuotaOfItsOwn) {
  Limiter limiter(five_a_minute(10), clock_);
  ASSERT_TRUE(limiter.try_acquire("vip", 2));
  ASSERT_TRUE(limiter.override_for("vip", {100, 1min, 100}));
  EXPECT_EQ(limiter.peek("vip").limit, 100);
  EXPECT_EQ(limiter.peek("vip").remaining, 98) << "what was used counts";
  EXPECT_TRUE(limiter.try_acquire("vip", 98));
  EXPECT_FALSE(limiter.try_acquire("vip"));
  EXPECT_EQ(limiter.peek("other").limit, 5);
  EXPECT_EQ(limiter.refund("vip", 10), 10);
  EXPECT_EQ(limiter.peek("vip").remaining, 10);

  ASSERT_TRUE(limiter.override_for("vip", {20, 1min, 20}));
  EXPECT_EQ(limiter.peek("vip").limit, 20);
  EXPECT_FALSE(limiter.try_acquire("vip"));
  limiter.reconfigure({7, 1min, 7});
  EXPECT_EQ(limiter.peek("vip").limit, 20) << "not of the others' numbers";
  EXPECT_TRUE(limiter.reset("vip"));
  EXPECT_EQ(limiter.peek("vip").remaining, 20);
}

TEST_F(KeyedWordsTest, GiveAsManyKeysAQuotaAsMay) {
  Limiter limiter(five_a_minute(10), clock_);
  const auto name = [](std::size_t at) { return "vip" + std::to_string(at); };
  for (std::size_t at = 0; at < KeyedWords::most_overrides; ++at) {
    ASSERT_TRUE(limiter.override_for(name(at), {static_cast<Cost>(at) + 1, 1min, 1'000}));
  }
  EXPECT_FALSE(limiter.override_for("one more", {1, 1s, 1}));
  EXPECT_TRUE(limiter.override_for(name(3), {1, 1min, 42}));
  EXPECT_EQ(limiter.peek(name(3)).limit, 42);
  EXPECT_EQ(limiter.peek(name(1'023)).limit, 1'000);
  EXPECT_EQ(limiter.peek("one more").limit, 5);
  EXPECT_EQ(limiter.stats().overrides, KeyedWords::most_overrides);
}

TEST_F(KeyedWordsTest, ForgiveNoDebtThatTakesTooLongToTell) {
  Limiter limiter({.count = 1'000'000'000, .period = 1s, .burst = 1'000'000'000, .max_keys = 10},
                  clock_);
  ASSERT_TRUE(limiter.try_acquire("a", 1'000'000'000));
  limiter.reconfigure({1, 24h * 365, 5}, Inherit::additive);
  EXPECT_FALSE(limiter.try_acquire("a"));
  time_.advance(24h * 365 * 6);
  EXPECT_FALSE(limiter.try_acquire("a"));
}

TEST_F(KeyedWordsTest, TellOfEveryDecision) {
  struct Heard {
    std::vector<std::tuple<string, Cost, Verdict>>* all;
    void operator()(std::string_view key, Cost cost, const Outcome& outcome) const {
      all->emplace_back(string(key), cost, outcome.verdict);
    }
  };
  std::vector<std::tuple<string, Cost, Verdict>> all;
  KeyedTokenBucket<string, ManualClock, Heard> limiter({1, 1s, 1, 10}, clock_, Heard{&all});
  (void)limiter.try_acquire("a");
  const string keys[] = {"a", "b"};
  Outcome outcomes[2];
  limiter.try_acquire_many(keys, 1, outcomes);
  const std::vector<std::tuple<string, Cost, Verdict>> right{
      {"a", 1, Verdict::granted}, {"a", 1, Verdict::denied}, {"b", 1, Verdict::granted}};
  EXPECT_EQ(all, right);
}

enum class Tenant : std::uint8_t { red, blue };
struct Address {
  std::uint32_t ip;
  std::uint16_t port;
  std::uint16_t zone;
};
struct User {
  string first;
  int unread = 0;
};
std::string_view key_bytes(const User& user) { return user.first; }

template <typename Key>
void expect_apart(const Key& one, const Key& other) {
  KeyedTokenBucket<Key> limiter({.count = 1, .period = 24h, .burst = 1, .max_keys = 10});
  EXPECT_TRUE(limiter.try_acquire(one));
  EXPECT_FALSE(limiter.try_acquire(one));
  EXPECT_TRUE(limiter.try_acquire(other));
}

TEST(KeyedTokenBucket, KnowsKeysOfManyTypes) {
  expect_apart<int>(-1, 1);
  expect_apart<std::uint64_t>(1, std::uint64_t{1} << 63);
  expect_apart<Tenant>(Tenant::red, Tenant::blue);
  expect_apart<std::string_view>("a", "b");
  expect_apart<string>("", string(1, '\0'));
  expect_apart<Address>({1, 2, 3}, {1, 2, 4});
  expect_apart<User>({"Ann", 1}, {"Bob", 1});
  expect_apart<bool>(false, true);
  KeyedTokenBucket<User> limiter({.count = 1, .period = 24h, .burst = 1, .max_keys = 10});
  EXPECT_TRUE(limiter.try_acquire({"Ann", 1}));
  EXPECT_FALSE(limiter.try_acquire({"Ann", 2}));
}

TEST(KeyNames, TellTextsOfEveryLengthApart) {
  const KeyNames names(HashKey{1, 2});
  std::map<std::uint64_t, string> seen;
  for (std::size_t size = 0; size <= 80; ++size) {
    std::vector<string> texts{string(size, '\0'), string(size, 'a')};
    for (std::size_t at = 0; at < size; ++at) {
      texts.push_back(string(size, 'a'));
      texts.back()[at] = 'b';
    }
    for (const string& text : texts) {
      const auto [known, fresh] = seen.emplace(names.name(text), text);
      EXPECT_TRUE(fresh || known->second == text) << size;
    }
  }
  EXPECT_EQ(names.name("any"), KeyNames(HashKey{1, 2}).name("any"));
  EXPECT_NE(names.name("any"), KeyNames(HashKey{1, 3}).name("any"));
}

TEST(KeyNames, SpreadKeysThatAreNearEachOther) {
  const KeyNames names(HashKey{5, 6});
  for (const std::uint64_t stride :
       {std::uint64_t{1}, std::uint64_t{256}, std::uint64_t{1} << 40}) {
    std::array<int, 256> upper{};
    std::array<int, 256> lower{};
    for (std::uint64_t at = 0; at < 25'600; ++at) {
      const std::uint64_t name = names.name(at * stride);
      ++upper[name >> 56];
      ++lower[name & 255];
    }
    for (const auto& counts : {upper, lower}) {
      EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 50);
      EXPECT_LT(*std::max_element(counts.begin(), counts.end()), 160);
    }
  }
}

}  // namespace
}  // namespace weir
