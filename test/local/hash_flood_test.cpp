// Keys chosen to collide: under a hash that the attacker knows they all lie in one place, under the
// table's own they lie like any others.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "local/shard.hpp"
#include "weir/local/table.hpp"

namespace weir {
namespace {

using std::string;

constexpr HashKey guessed{0, 0};
constexpr HashKey own{0x243f6a8885a308d3, 0x13198a2e03707344};
constexpr std::size_t wanted = 1000;
constexpr Instant start{std::chrono::hours(1)};

/// Whether the table would put it where the others are: in its first shard, at its first homes.
bool collides(std::uint64_t hash) {
  return ((hash >> 32) & 63) == 0 && static_cast<std::uint32_t>(hash) >> 24 == 0;
}

/// About 16 million hashes.
const std::vector<string>& colliding_keys() {
  static const std::vector<string> keys = [] {
    std::vector<string> found;
    for (std::uint64_t number = 0; found.size() < wanted; ++number) {
      const string key = "k" + std::to_string(number);
      if (collides(keyed_hash(guessed, key))) found.push_back(key);
    }
    return found;
  }();
  return keys;
}

std::vector<string> other_keys(int seed) {
  std::vector<string> keys;
  for (std::size_t at = 0; at < wanted; ++at) {
    keys.push_back("r" + std::to_string(seed) + "-" + std::to_string(at));
  }
  return keys;
}

/// The longest row of neighbours without an empty cell: no look-up takes more probes.
std::size_t longest_run(const std::vector<string>& keys, const HashKey& hash_key) {
  Rules rules;
  const Rule* rule = rules.find("5/1h").value();
  StateStore store;
  const auto name = [&](const string& key) {
    return StateStore::Name{rule, key, keyed_hash(hash_key, key)};
  };
  for (const string& key : keys) (void)store.insert(name(key), {});
  std::vector<StateStore::Index> cells;
  for (const string& key : keys) cells.push_back(store.find(name(key)));
  std::sort(cells.begin(), cells.end());
  std::size_t longest = 1;
  for (std::size_t at = 1, run = 1; at < cells.size(); ++at) {
    run = cells[at] == cells[at - 1] + 1 ? run + 1 : 1;
    longest = std::max(longest, run);
  }
  return longest;
}

/// How many of the keys the fullest of the table's shards holds.
std::size_t fullest_shard(const std::vector<string>& keys, const HashKey& hash_key) {
  Rules rules;
  const Rule* rule = rules.find("5/1h").value();
  // The table hashes under the key and the rule's number; so would the attacker.
  Table table({.hash_key = {hash_key.first, hash_key.second ^ rule->id}});
  for (const string& key : keys) (void)table.take({rule, key}, {start});
  std::vector<std::size_t> shards(64);
  Table::Cursor cursor;
  for (bool more = true; more;) {
    const std::size_t shard = cursor.shard;
    more = table.each(cursor, [&](const Table::Kept&) {
      ++shards[shard];
      return true;
    });
  }
  return *std::max_element(shards.begin(), shards.end());
}

/// A table full of keys, and the least time that a take of one of them took.
struct Timed {
  Timed(const std::vector<string>& wanted_keys, const HashKey& hash_key)
      : keys(wanted_keys),
        rule(rules.find("1000/1h").value()),
        table({.hash_key = {hash_key.first, hash_key.second ^ rule->id}}) {
    run();
  }

  void run() {
    const auto begin = std::chrono::steady_clock::now();
    for (const string& key : keys) (void)table.take({rule, key}, {start});
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count() / static_cast<double>(keys.size()));
  }

  const std::vector<string> keys;
  Rules rules;
  const Rule* rule;
  Table table;
  double least = 1e9;
};

TEST(HashFlood, TheKeysDoCollideWhereTheSecretIsKnown) {
  EXPECT_EQ(fullest_shard(colliding_keys(), guessed), wanted);
  EXPECT_GE(longest_run(colliding_keys(), guessed), wanted / 2);
}

TEST(HashFlood, UnderTheTablesSecretTheyLieLikeOthers) {
  std::size_t run = 0;
  std::size_t fullest = 0;
  for (int seed = 0; seed < 10; ++seed) {
    run = std::max(run, longest_run(other_keys(seed), own));
    fullest = std::max(fullest, fullest_shard(other_keys(seed), own));
  }
  EXPECT_LE(longest_run(colliding_keys(), own), 2 * run);
  EXPECT_LE(fullest_shard(colliding_keys(), own), fullest * 3 / 2);
  std::printf(
      "longest row of neighbours: %zu chosen keys %zu, random ones up to %zu, "
      "chosen ones with the secret known %zu\n",
      wanted, longest_run(colliding_keys(), own), run, longest_run(colliding_keys(), guessed));
  Timed random(other_keys(0), own);
  Timed chosen(colliding_keys(), own);
  Timed known(colliding_keys(), guessed);
  for (int turn = 0; turn < 200; ++turn) {
    for (Timed* each : {&random, &chosen, &known}) each->run();
  }
  std::printf("a take: random keys %.0f ns, chosen %.0f ns, chosen with the secret known %.0f ns\n",
              random.least, chosen.least, known.least);
}

}  // namespace
}  // namespace weir
