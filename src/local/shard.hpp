// One shard of the keyed table: an open-addressed index over entries in fixed chunks.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/local/rule.hpp"

namespace weir {

/// States by key and rule, in the order of the slots they were given. Not thread-safe: the table
/// holds the shard's lock.
class StateStore {
 public:
  using Index = std::uint32_t;
  static constexpr Index none = ~Index{0};

  struct Name {
    const Rule* rule;
    std::string_view key;
    std::uint64_t hash;
  };

  StateStore() = default;
  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;
  ~StateStore() {
    for (Index at = 0; at < used_; ++at) drop_key(entry(at));
  }

  Index find(const Name& name) const noexcept {
    if (slots_.empty()) return none;
    const auto tag = static_cast<std::uint32_t>(name.hash);
    for (std::size_t at = tag & mask(); slots_[at].entry != none; at = (at + 1) & mask()) {
      if (slots_[at].tag == tag && matches(entry(slots_[at].entry), name)) return slots_[at].entry;
    }
    return none;
  }

  Limit::State& state(Index index) noexcept { return entry(index).state; }

  /// Requires that the name is not there. On bad_alloc nothing has changed.
  Index insert(const Name& name, Limit::State&& state) {
    if ((size_ + 1) * 4 > slots_.size() * 3) grow_index();
    if (free_ == none && used_ == chunks_.size() * chunk_size) {
      chunks_.push_back(std::make_unique<Chunk>());
    }
    std::unique_ptr<char[]> outside;
    if (name.key.size() > inlined) outside = std::make_unique<char[]>(name.key.size());

    const Index index = free_ != none ? free_ : used_++;
    Entry& entry = this->entry(index);
    if (index == free_) free_ = entry.tag;
    entry.state = std::move(state);
    entry.rule = name.rule;
    entry.tag = static_cast<std::uint32_t>(name.hash);
    entry.key_size = static_cast<std::uint32_t>(name.key.size());
    char* to = outside ? outside.get() : entry.key.data();
    std::copy(name.key.begin(), name.key.end(), to);
    if (outside) {
      outside_bytes_ += name.key.size();
      const char* kept = outside.release();
      std::memcpy(entry.key.data(), &kept, sizeof kept);
    }
    place({entry.tag, index});
    ++size_;
    return index;
  }

  void erase(Index index) noexcept {
    Entry& entry = this->entry(index);
    unplace(index);
    drop_key(entry);
    entry.state = {};
    entry.rule = nullptr;
    entry.tag = free_;
    free_ = index;
    --size_;
  }

  /// Looks at the next entries in turn and erases those that are fresh at `now`; returns how many.
  std::size_t sweep(Instant now, std::size_t budget) noexcept {
    std::size_t erased = 0;
    for (std::size_t looked = 0; looked < budget && looked < used_; ++looked) {
      hand_ = hand_ + 1 < used_ ? hand_ + 1 : 0;
      const Entry& entry = this->entry(hand_);
      if (!entry.rule) continue;
      if (Limit::Machine::fresh_at(entry.rule->limit.config(), entry.state) > now) continue;
      erase(hand_);
      ++erased;
    }
    return erased;
  }

  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept {
    return chunks_.size() * sizeof(Chunk) + slots_.size() * sizeof(Slot) + outside_bytes_;
  }

 private:
  static constexpr std::size_t inlined = 16;
  static constexpr std::size_t chunk_size = 64;

  struct Entry {
    Limit::State state;
    const Rule* rule = nullptr;       ///< null: free, and `tag` is the next free entry
    std::array<char, inlined> key{};  ///< the key, or a pointer to a longer one
    std::uint32_t key_size = 0;
    std::uint32_t tag = 0;
  };
  using Chunk = std::array<Entry, chunk_size>;

  struct Slot {
    std::uint32_t tag;
    Index entry;
  };

  std::size_t mask() const noexcept { return slots_.size() - 1; }
  Entry& entry(Index at) noexcept { return (*chunks_[at / chunk_size])[at % chunk_size]; }
  const Entry& entry(Index at) const noexcept {
    return (*chunks_[at / chunk_size])[at % chunk_size];
  }

  static const char* outside_of(const Entry& entry) noexcept {
    const char* kept = nullptr;
    std::memcpy(&kept, entry.key.data(), sizeof kept);
    return kept;
  }

  static bool matches(const Entry& entry, const Name& name) noexcept {
    if (entry.rule != name.rule || entry.key_size != name.key.size()) return false;
    const char* kept = entry.key_size > inlined ? outside_of(entry) : entry.key.data();
    return std::memcmp(kept, name.key.data(), name.key.size()) == 0;
  }

  void drop_key(Entry& entry) noexcept {
    if (!entry.rule || entry.key_size <= inlined) return;
    outside_bytes_ -= entry.key_size;
    const std::unique_ptr<const char[]> kept(outside_of(entry));
  }

  void place(Slot slot) noexcept {
    std::size_t at = slot.tag & mask();
    while (slots_[at].entry != none) at = (at + 1) & mask();
    slots_[at] = slot;
  }

  /// Takes a slot out and moves later ones of its run back, so that no run has a hole.
  void unplace(Index index) noexcept {
    std::size_t hole = entry(index).tag & mask();
    while (slots_[hole].entry != index) hole = (hole + 1) & mask();
    for (std::size_t at = (hole + 1) & mask(); slots_[at].entry != none; at = (at + 1) & mask()) {
      const std::size_t home = slots_[at].tag & mask();
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole].entry = none;
  }

  void grow_index() {
    std::vector<Slot> before(std::max<std::size_t>(8, slots_.size() * 2), Slot{0, none});
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.entry != none) place(slot);
    }
  }

  std::vector<Slot> slots_;  ///< a power of two, at most three quarters full
  std::vector<std::unique_ptr<Chunk>> chunks_;
  Index used_ = 0;     ///< entries handed out so far
  Index free_ = none;  ///< the first of the freed entries
  Index hand_ = 0;     ///< where the sweep stands
  std::size_t size_ = 0;
  std::size_t outside_bytes_ = 0;
};

}  // namespace weir
