// A small table, a few keys whose shards are known, and what must hold after any schedule.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "local/shard.hpp"
#include "test/model/turns.hpp"
#include "weir/local/table.hpp"

namespace weir::model {

/// A key whose hash the test chooses, and with it the shard and the place in it.
struct Key {
  const char* name;
  std::uint64_t hash;
};

constexpr std::uint64_t hash_in(std::uint64_t shard, std::uint64_t tag) {
  return tag * 7 << 44 | shard << 32 | tag << 20;
}

/// Of two shards, a and c lie in the first, b and d in the second.
inline constexpr std::array<Key, 4> keys{
    {{"a", hash_in(0, 1)}, {"b", hash_in(1, 2)}, {"c", hash_in(0, 3)}, {"d", hash_in(1, 4)}}};
inline constexpr std::size_t a = 0, b = 1, c = 2, d = 3;

/// What the table is full by.
enum class Cap : std::uint8_t { count, memory };

inline constexpr Instant start{std::chrono::seconds{1'750'000'000}};

inline Rules rules;
/// Its states own memory. Made before the threads begin: the guard of a local would be a point.
inline const Rule* const two_an_hour = rules.find("sliding-log 2/1h").value();

struct Places {
  std::size_t count;  ///< of keys that fit
  Cap cap;
};

class Stage {
 public:
  explicit Stage(Places places) : places_(places), table_(settings(places)) {
    watch(&table_, sizeof table_);
  }

  Table& table() { return table_; }
  static Subject subject(std::size_t key) { return subject(keys[key]); }
  static Subject subject(const Key& key) { return {two_an_hour, key.name, nullptr, key.hash}; }

  // Each thread counts apart: what they shared would make them agree where the table does not.
  void take(std::size_t thread, std::size_t key, Cost cost = 1) {
    const Answer answer = table_.take(subject(key), {start, cost, {}});
    if (taken(answer.decision.verdict)) granted_[thread][key] += cost;
  }
  void take_both(std::size_t thread, std::size_t first, std::size_t second) {
    const std::array claims{Claim{subject(first), 1}, Claim{subject(second), 1}};
    const JointAnswer answer = table_.take_all(claims, {start, 0, {}});
    if (!taken(answer.decision.verdict)) return;
    ++granted_[thread][first];
    ++granted_[thread][second];
    ++joint_[thread];
  }
  void gave_back(std::size_t thread, std::size_t key, Cost units) {
    granted_[thread][key] -= units;
  }

  Cost granted(std::size_t key) const {
    Cost sum = 0;
    for (const auto& of_thread : granted_) sum += of_thread[key];
    return sum;
  }
  Cost joint() const {
    Cost sum = 0;
    for (const Cost of_thread : joint_) sum += of_thread;
    return sum;
  }
  Cost remaining(std::size_t key) {
    return table_.peek(subject(key), {start, 0, {}}).decision.remaining;
  }

  /// What holds after any schedule; the bound where no key was reset meanwhile.
  std::string judge() {
    for (std::size_t key = 0; key < keys.size(); ++key) {
      if (granted(key) > 2) return std::string("above the bound: ") + keys[key].name;
    }
    return judge_counts();
  }

  /// The counters agree with what is kept, and come back to nothing.
  std::string judge_counts() {
    const std::size_t counted = table_.stats().keys;
    std::multiset<std::string> kept;
    Table::Cursor cursor;
    while (table_.each(cursor, [&](const Table::Kept& state) {
      kept.emplace(state.key);
      return true;
    })) {
    }
    if (kept.size() != counted) {
      return std::to_string(counted) + " keys counted, " + std::to_string(kept.size()) + " kept";
    }
    if (counted > places_.count) return "more keys than there is room for";
    for (const Key& key : keys) {
      if (kept.count(key.name) > 1) return std::string("kept twice: ") + key.name;
      if (table_.reset(subject(key)) != (kept.count(key.name) == 1)) {
        return std::string("shown and not found, or found and not shown: ") + key.name;
      }
    }
    if (table_.stats().keys != 0) return "keys counted where none are kept";
    return judge_room();
  }

 private:
  static std::size_t largest_bytes() { return StateStore::largest_bytes({two_an_hour, "a", 0}); }

  static Table::Settings settings(Places places) {
    Table::Settings settings{.shards = 2, .hash_key = {1, 2}};
    const std::size_t own = largest_bytes() * places.count;
    if (places.cap == Cap::count) {
      settings.max_keys = places.count;
      settings.max_bytes = std::size_t{64} << 10;  // so that shared states are few and soon made
    } else {
      settings.max_bytes = own;
      while (settings.max_bytes - settings.max_bytes / 4 < own) ++settings.max_bytes;
    }
    return settings;
  }

  /// As many new keys fit as at first, and not one more: what was set aside was all given back.
  std::string judge_room() {
    constexpr Instant now = start + std::chrono::hours{3};  // when no shared state refuses
    const std::uint64_t shared_before = table_.stats().shared_answers;
    for (std::size_t at = 0; at <= places_.count; ++at) {
      const std::string name(1, static_cast<char>('A' + at));
      const Key key{name.c_str(), hash_in(at % 2, 100 + at)};
      (void)table_.take(subject(key), {now, 1, {}});
      const bool shared = table_.stats().shared_answers > shared_before;
      if (shared != (at == places_.count)) {
        return shared ? "room was lost" : "room was won";
      }
    }
    return {};
  }

  Places places_;
  Table table_;
  std::array<std::array<Cost, 4>, most_threads> granted_{};
  std::array<Cost, most_threads> joint_{};
};

}  // namespace weir::model
