// Any limit for each of many keys: what keyed limiters are made of.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weir/local/key_name.hpp"
#include "weir/local/outcome.hpp"
#include "weir/local/table.hpp"

namespace weir {

template <typename Entry>
class Overrides;

/// Where keyed limiters keep their states. Limiters that share one can be asked together.
///
/// Threads  safe from any thread
class KeyedStore {
 public:
  /// A change of a limit holds the locks of all shards, and ThreadSanitizer, which users run too,
  /// can follow 63 locks of a thread: so there are at most 32.
  explicit KeyedStore(Table::Settings settings)
      : table_((settings.shards = std::min<std::size_t>(settings.shards, 32), settings)),
        names_(settings.hash_key) {}

  Table& table() noexcept { return table_; }
  const KeyNames& names() const noexcept { return names_; }
  /// Of a rule: one that no other has here.
  std::uint32_t next_id() noexcept { return next_id_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Table table_;
  KeyNames names_;
  std::atomic<std::uint32_t> next_id_{0};
};

/// One limit for each key of a store, by the bytes of the key.
///
/// Numbers may change while others decide. Who decides looks afterwards whether they are the ones
/// it went by, and decides again where they are not: so nothing is granted that the new numbers do
/// not know of; that once, it may be charged twice. Numbers that were in force are kept to the end,
/// some 500 bytes each.
///
/// Threads  safe from any thread
/// Errors   std::invalid_argument for a limit that does not start full (`initial`): a key that was
///          dropped must answer as one that was kept; bad_alloc
class KeyedLimits {
 public:
  static constexpr std::size_t most_overrides = 1'024;

  KeyedLimits(std::shared_ptr<KeyedStore> store, const Limit& limit);
  ~KeyedLimits();
  KeyedLimits(const KeyedLimits&) = delete;
  KeyedLimits& operator=(const KeyedLimits&) = delete;

  /// What ask() needs and prefetch() finds out early.
  struct Named {
    std::string_view key;
    std::optional<std::uint64_t> hash{};
  };
  Named prefetch(std::string_view key) const noexcept;

  Outcome take(const Named& key, SteadyInstant now, Cost cost);
  Standing peek(std::string_view key, SteadyInstant now, Cost cost);
  Cost refund(std::string_view key, SteadyInstant now, Cost units);
  /// As Host::withdraw(); nothing for a key that shares.
  void withdraw(std::string_view key, SteadyInstant now, Cost units, const Outcome& granted);
  bool reset(std::string_view key);

  /// False where most_overrides keys have their own, or the store has no room.
  bool override_for(std::string_view key, const Limit& limit, Inherit how, SteadyInstant now);
  void reconfigure(const Limit& to, Inherit how, SteadyInstant now);

  struct Claim {
    KeyedLimits* limits;
    std::string_view key;
    Cost cost = 1;
  };
  struct Joint {
    Outcome outcome;
    std::size_t binding;  ///< the claim that refuses, else the one with least left
  };
  /// Takes every claim or none. Throws std::invalid_argument unless there are 1 to
  /// Table::most_claims of them, all of one store.
  static Joint take_all(std::span<const Claim> claims, SteadyInstant now);

  KeyedStore& store() const noexcept { return *store_; }

 private:
  struct Override;

  const Rule* make(const Limit& limit);
  const Rule& rule_for(std::string_view key) const noexcept;
  template <typename Do>
  auto under_rule(std::string_view key, Do&& action);

  std::shared_ptr<KeyedStore> store_;
  std::mutex mutex_;  ///< of changes
  std::vector<std::unique_ptr<const Rule>> rules_;
  std::atomic<const Rule*> rule_;
  std::atomic<Overrides<Override>*> overrides_{nullptr};
};

}  // namespace weir
