#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>

#include "local/shard.hpp"

namespace weir {
namespace {

using std::string;

class StateStoreTest : public testing::Test {
 protected:
  /// A state that can be told from others: it is fresh at this many ticks.
  static Limit::State state(std::int64_t fresh_at) {
    return Gcra::State{{Instant{Span{fresh_at}}, 0}};
  }

  Rules rules_;
  const Rule* one_ = rules_.find("1/1s").value();
  const Rule* other_ = rules_.find("2/1s").value();
};

TEST_F(StateStoreTest, TellsEqualHashesApartByRuleAndKey) {
  StateStore store;
  const StateStore::Name names[] = {{one_, "key", 7}, {other_, "key", 7}, {one_, "kez", 7},
                                    {one_, "", 7},    {other_, "", 7},    {one_, "key ", 7}};
  std::int64_t number = 0;
  for (const auto& name : names) {
    EXPECT_EQ(store.find(name), StateStore::none);
    store.insert(name, state(++number));
  }
  number = 0;
  for (const auto& name : names) {
    const auto index = store.find(name);
    ASSERT_NE(index, StateStore::none);
    EXPECT_TRUE(store.state(index) == state(++number));
  }
}

/// With few different hashes all entries lie in long runs, which erasing must close again.
TEST_F(StateStoreTest, IsAMapHoweverTheHashesCollide) {
  for (const std::uint64_t hashes : {1u, 3u, 64u, 1'000'000u}) {
    std::mt19937_64 random(hashes);
    const auto below = [&](std::uint64_t end) {
      return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random);
    };
    StateStore store;
    std::map<std::pair<const Rule*, string>, std::int64_t> model;
    std::int64_t now = 0;
    for (int event = 0; event < 5'000; ++event) {
      const std::uint64_t number = below(120);
      const string key = number % 3 == 0 ? std::to_string(number)
                                         : "longer than sixteen bytes " + std::to_string(number);
      const Rule* rule = below(2) == 0 ? one_ : other_;
      // Near the highest tag, so that runs also reach the end of the array.
      const std::uint64_t hash = 0xffffffff - (number * 7 + rule->id) % hashes;
      const auto index = store.find({rule, key, hash});
      const auto known = model.find({rule, key});
      ASSERT_EQ(index != StateStore::none, known != model.end()) << event;
      if (known != model.end()) {
        ASSERT_TRUE(store.state(index) == state(known->second)) << event;
      }
      if (known == model.end()) {
        const auto fresh_at = now + static_cast<std::int64_t>(below(300));
        store.insert({rule, key, hash}, state(fresh_at));
        model[{rule, key}] = fresh_at;
      } else if (below(2) == 0) {
        store.erase(index);
        model.erase(known);
      }
      now += static_cast<std::int64_t>(below(2));
      if (event % 50 == 0) {
        store.sweep(Instant{Span{now}}, 10'000);
        std::erase_if(model, [&](const auto& entry) { return entry.second <= now; });
      }
      ASSERT_EQ(store.size(), model.size()) << event;
    }
    EXPECT_GT(model.size(), 30u);
  }
}

TEST_F(StateStoreTest, SweepsAllInTurnsAndNoMoreThanAsked) {
  StateStore store;
  for (std::uint64_t at = 0; at < 200; ++at) {
    store.insert({one_, std::to_string(at), at}, state(static_cast<std::int64_t>(at)));
  }
  EXPECT_EQ(store.sweep(Instant{Span{-1}}, 1'000), 0u);
  std::size_t erased = 0;
  for (int turn = 0; turn < 20; ++turn) {
    const std::size_t now = store.sweep(Instant{Span{99}}, 10);
    EXPECT_LE(now, 10u);
    erased += now;
  }
  EXPECT_EQ(erased, 100u);
  EXPECT_EQ(store.size(), 100u);
}

TEST_F(StateStoreTest, UsesFreedEntriesAgain) {
  StateStore store;
  const string key(40, 'k');
  const auto with = [&](int at) { return key + std::to_string(at); };
  for (int at = 0; at < 64; ++at) {
    store.insert({one_, with(at), static_cast<std::uint64_t>(at)}, state(0));
  }
  const std::size_t bytes = store.bytes();
  for (int at = 64; at < 10'000; ++at) {
    const string old = with(at - 64);
    store.erase(store.find({one_, old, static_cast<std::uint64_t>(at - 64)}));
    store.insert({one_, with(at), static_cast<std::uint64_t>(at)}, state(0));
  }
  EXPECT_EQ(store.size(), 64u);
  EXPECT_LE(store.bytes(), bytes + 64 * 3);  // the numbers in the keys have grown
}

}  // namespace
}  // namespace weir
