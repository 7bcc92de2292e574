// What a table shows of itself, what another keeps of it, and the memory that it may take.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "local/shard.hpp"
#include "weir/local/table.hpp"

namespace weir {
namespace {

using std::string;
using namespace std::chrono_literals;

constexpr Instant start{std::chrono::seconds{1'750'000'000}};

class RestoreTest : public testing::Test {
 protected:
  const Rule* rule(const char* text) { return rules_.find(text).value(); }

  Rules rules_;
};

std::size_t restore_all(const Table& from, Table& to, Instant now) {
  std::size_t kept = 0;
  Table::Cursor cursor;
  bool more = true;
  while (more) {
    more = from.each(cursor, [&](const Table::Kept& shown) {
      Limit::State state = shown.state;
      const auto restored = to.restore({&shown.rule, shown.key}, std::move(state), now);
      kept += restored == Table::Restored::kept ? 1 : 0;
      return kept % 3 != 0;
    });
  }
  return kept;
}

TEST_F(RestoreTest, AnotherTableGoesOnWhereTheFirstWas) {
  const Rule* const rules[] = {rule("5/1h"), rule("sliding-log 4/1h"),
                               rule("5/1m & fixed-window 6/1h"), rule("sliding-window 5/1h"),
                               rule("concurrency 4/1h")};
  Table first;
  std::mt19937 random(5);
  for (int call = 0; call < 4'000; ++call) {
    const Rule* rule = rules[random() % 5];
    (void)first.take({rule, "key that is long " + std::to_string(random() % 200)}, {start});
  }
  Table second;
  EXPECT_EQ(restore_all(first, second, start), first.stats().keys);
  EXPECT_EQ(second.stats().keys, first.stats().keys);
  for (int call = 0; call < 4'000; ++call) {
    const string key = "key that is long " + std::to_string(random() % 250);
    const Subject subject{rules[random() % 5], key};
    const Instant now = start + Span{call};
    ASSERT_EQ(first.take(subject, {now}).decision, second.take(subject, {now}).decision) << key;
  }
}

TEST_F(RestoreTest, FreshStatesAndThoseBeyondTheCapAreNotKept) {
  Table first;
  for (int key = 0; key < 100; ++key) {
    (void)first.take({rule(key % 2 == 0 ? "1/1s" : "1/1h"), std::to_string(key)}, {start});
  }
  Table later;
  EXPECT_EQ(restore_all(first, later, start + 10s), 50u);
  Table small({.max_keys = 20});
  EXPECT_EQ(restore_all(first, small, start + 10s), 20u);
  EXPECT_EQ(small.stats().keys, 20u);
}

TEST_F(RestoreTest, ALateReadingNeitherKeepsWhatIsFreshNorSetsTheClockBack) {
  Table table({.shards = 1});
  (void)table.take({rule("5/1m"), "other"}, {start + 1h});
  Limit::State state;
  (void)step<Limit::Machine>(rule("5/1m")->limit.config(), state, {start});
  EXPECT_EQ(table.restore({rule("5/1m"), "key"}, Limit::State(state), start),
            Table::Restored::fresh);
  Table unread({.shards = 1});
  (void)unread.restore({rule("5/1m"), "key"}, std::move(state), start + 1s);
  EXPECT_EQ(unread.take({rule("5/1m"), "key"}, {start}).decided_at, start + 1s);
}

TEST_F(RestoreTest, AKeyThatIsKnownKeepsItsState) {
  Table first;
  Table second;
  const Subject subject{rule("3/1h"), "user"};
  (void)first.take(subject, {start});
  for (int call = 0; call < 3; ++call) (void)second.take(subject, {start});
  restore_all(first, second, start);
  EXPECT_EQ(second.take(subject, {start}).decision.verdict, Verdict::denied);
  EXPECT_EQ(second.stats().keys, 1u);
}

/// States come and go between two looks, and the array is replaced; those that stay are seen once.
TEST_F(RestoreTest, WhoStaysIsShownOnceWhateverComesAndGoes) {
  const Rule* rule = rules_.find("1/1h").value();
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    StateStore store;
    const auto name = [&](int number, const string& key) {
      // Few hashes, so that many states share one.
      return StateStore::Name{rule, key, static_cast<std::uint64_t>(number % 23) << 27};
    };
    const auto add = [&](int number) {
      const string key = std::to_string(number);
      if (store.find(name(number, key)) == StateStore::none) store.insert(name(number, key), {});
    };
    const auto remove = [&](int number) {
      const string key = std::to_string(number);
      const auto index = store.find(name(number, key));
      if (index != StateStore::none) store.erase(index);
    };
    for (int number = 0; number < 60; ++number) add(number);  // the even ones stay
    std::map<string, int> seen;
    std::optional<std::uint32_t> from = 0;
    while (from) {
      int shown = 0;
      from = store.visit(*from, [&](const Rule&, std::string_view key, const Limit::State&) {
        ++seen[string(key)];
        return ++shown < 5;
      });
      for (int change = 0; change < 12; ++change) {
        const int number = static_cast<int>(random() % 400) * 2 + 1;
        if (random() % 3 == 0) {
          remove(number % 60);
        } else {
          add(number + 60);
        }
      }
    }
    for (int number = 0; number < 60; number += 2) {
      EXPECT_EQ(seen[std::to_string(number)], 1) << number;
    }
    for (const auto& [key, times] : seen) EXPECT_EQ(times, 1) << key;
  }
}

TEST_F(RestoreTest, MemoryHasACapWhateverItIsTakenFor) {
  constexpr std::size_t most = std::size_t{1} << 20;
  for (const char* text : {"5/1h", "sliding-log 100/1h", "concurrency 30/1h",
                           "5/1h & sliding-window 9/1h parts 100"}) {
    for (const std::size_t key_size : {8u, 1000u}) {
      Table table({.max_bytes = most});
      for (int key = 0; key < 20'000; ++key) {
        string name = std::to_string(key);
        name.resize(key_size, '.');
        for (int call = 0; call < 3; ++call) (void)table.take({rule(text), name}, {start});
      }
      EXPECT_LE(table.stats().bytes, most + 64 * 1024) << text << key_size;
      EXPECT_GT(table.stats().bytes, most / 2) << text << key_size;
      EXPECT_GT(table.stats().shared_answers, 0u);
      // Room comes back with those who leave.
      for (int key = 0; key < 20'000; ++key) {
        string name = std::to_string(key);
        name.resize(key_size, '.');
        (void)table.reset({rule(text), name});
      }
      EXPECT_EQ(table.stats().keys, 0u);
      EXPECT_EQ(table.take({rule("7/1h"), "newcomer"}, {start}).decision.verdict, Verdict::granted);
      EXPECT_EQ(table.stats().keys, 1u);
    }
  }
}

}  // namespace
}  // namespace weir
