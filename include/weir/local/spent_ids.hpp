// Ids that count once.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_set>

#include "weir/local/keyed_hash.hpp"

namespace weir {

/// Remembers the ids of what may be done once: at least the last `remembered` of them, at most
/// twice as many. Ids are known by a keyed 64-bit hash, so strangers cannot make two that clash.
///
/// Threads  safe from any thread
/// Cost     one hash, one lock
class SpentIds {
 public:
  static constexpr std::size_t remembered = 65'536;

  /// What an id is spent on; the same id on another key is another id.
  struct Id {
    std::uint32_t rule;
    std::string_view key;
    std::string_view id;
  };

  /// True the first time.
  bool spend(const Id& id) {
    const std::uint64_t hash = hash_of(id);
    const std::lock_guard lock(mutex_);
    if (older_.contains(hash) || !newer_.insert(hash).second) return false;
    if (newer_.size() == remembered) {
      older_.swap(newer_);
      newer_.clear();
    }
    return true;
  }

  /// What it was spent on was not done: it may be spent again.
  void forget(const Id& id) {
    const std::uint64_t hash = hash_of(id);
    const std::lock_guard lock(mutex_);
    newer_.erase(hash);
    older_.erase(hash);
  }

 private:
  std::uint64_t hash_of(const Id& id) const noexcept {
    const HashKey inner{hash_key_.first, hash_key_.second ^ id.rule};
    const HashKey outer{keyed_hash(inner, id.key), hash_key_.first};
    return keyed_hash(outer, id.id);
  }

  HashKey hash_key_ = HashKey::random();
  std::mutex mutex_;
  std::unordered_set<std::uint64_t> newer_;
  std::unordered_set<std::uint64_t> older_;
};

}  // namespace weir
