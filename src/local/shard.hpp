// One shard of the keyed table: states in one array, in the order of their hashes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "weir/local/rule.hpp"

namespace weir {

/// States by key and rule. Not thread-safe: the table holds the shard's lock; only prefetch() is
/// free of it.
///
/// A name's hash says where in the array it would lie; it lies there or a few cells further, for
/// the cells are sorted by hash. So a look-up touches one or two neighbouring cache lines, stops at
/// the first greater hash, and a larger array is filled in one pass over the smaller. It grows by a
/// sixth, so that little of it is ever empty.
/// Source  O. Amble and D. E. Knuth, "Ordered hash tables", 1974
class StateStore {
 public:
  using Index = std::size_t;
  static constexpr Index none = ~Index{0};

  struct Name {
    const Rule* rule;
    std::string_view key;
    std::uint64_t hash;  ///< of its low half; the table uses the other to choose the shard
  };

  StateStore() = default;
  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;
  ~StateStore() {
    for (Index at = 0; at < cell_count(homes()); ++at) {
      if (cells()[at].rule) drop(cells()[at]);
    }
    std::free(cells());
  }

  Index find(const Name& name) const noexcept {
    if (size_ == 0) return none;
    const auto tag = static_cast<std::uint32_t>(name.hash);
    const Cell* const cells = this->cells();
    for (Index at = home(tag, homes()); cells[at].rule && cells[at].tag <= tag; ++at) {
      if (cells[at].tag == tag && matches(cells[at], name)) return at;
    }
    return none;
  }

  /// Has the processor fetch what find() will look at. Needs no lock: the address may be stale by
  /// then, but nothing is read from it.
  void prefetch(std::uint64_t hash) const noexcept {
    const auto* const array = reinterpret_cast<const char*>(cells());
    if (!array) return;
    const char* const at = array + home(static_cast<std::uint32_t>(hash), homes()) * sizeof(Cell);
    __builtin_prefetch(at);
    __builtin_prefetch(at + 64);
  }

  /// The most memory that keeping the name's state can ever take.
  static std::size_t largest_bytes(const Name& name) noexcept {
    return largest_bytes(*name.rule, name.key.size());
  }

  Limit::State& state(Index index) noexcept { return cells()[index].state; }

  /// Requires that the name is not there. On bad_alloc nothing has changed. Moves other states.
  Index insert(const Name& name, Limit::State&& state) {
    if (size_ + 1 > most_in(homes()) && !resize(homes_for(size_ + 1))) throw std::bad_alloc();
    std::unique_ptr<char[]> outside;
    if (name.key.size() > inlined) outside = std::make_unique<char[]>(name.key.size());

    const auto tag = static_cast<std::uint32_t>(name.hash);
    Cell* const cell = make_room(tag);
    new (cell)
        Cell{std::move(state), name.rule, {}, static_cast<std::uint32_t>(name.key.size()), tag};
    char* to = outside ? outside.get() : cell->key.data();
    std::copy(name.key.begin(), name.key.end(), to);
    if (outside) {
      outside_bytes_ += name.key.size();
      const char* kept = outside.release();
      std::memcpy(cell->key.data(), &kept, sizeof kept);
    }
    ++size_;
    committed_ += largest_bytes(name);
    return static_cast<Index>(cell - cells());
  }

  /// Moves other states.
  void erase(Index index) noexcept {
    Cell* const cells = this->cells();
    committed_ -= largest_bytes(*cells[index].rule, cells[index].key_size);
    drop(cells[index]);
    Index end = index + 1;
    while (cells[end].rule && end != home(cells[end].tag, homes())) ++end;
    relocate(cells + index, cells + index + 1, end - index - 1);
    std::memset(static_cast<void*>(cells + end - 1), 0, sizeof(Cell));
    --size_;
  }

  /// Looks at the next `budget` states in turn, or at fewer where cells are empty, and erases those
  /// that are fresh at `now`; returns how many.
  std::size_t sweep(Instant now, std::size_t budget) noexcept {
    const std::size_t count = cell_count(homes());
    std::size_t looked = 0;
    std::size_t erased = 0;
    for (std::size_t left = std::min(count, 4 * budget); left > 0 && looked < budget;) {
      if (hand_ >= count) hand_ = 0;
      const Cell& cell = cells()[hand_];
      if (cell.rule) ++looked;
      if (cell.rule && Limit::Machine::fresh_at(cell.rule->limit.config(), cell.state) <= now) {
        erase(hand_);  // which may have moved the next one here
        ++erased;
      } else {
        ++hand_;
        --left;
      }
    }
    // After a flood the memory is given back; where there is none to shrink into, it stays.
    if (erased > 0 && size_ < homes() / 4 && homes() > 8 * least_homes) resize(homes_for(size_));
    return erased;
  }

  /// Calls action(rule, key, state) for the states with the least hashes from `from` on, until it
  /// returns false; returns where to go on, or nothing at the end. Who goes on so sees every state
  /// that is there all the time exactly once, whatever comes and goes meanwhile: states with one
  /// hash are never parted, even where the action wants to stop.
  template <typename Do>
  std::optional<std::uint32_t> visit(std::uint32_t from, Do&& action) const {
    if (size_ == 0) return {};
    bool more = true;
    std::uint32_t last = from;
    for (Index at = home(from, homes()); at < cell_count(homes()); ++at) {
      const Cell& cell = cells()[at];
      if (!cell.rule || cell.tag < from) continue;
      if (!more && cell.tag != last) return cell.tag;
      last = cell.tag;
      more = action(*cell.rule, key_of(cell), cell.state) && more;
    }
    return {};
  }

  /// Calls action(state) for each state of the rule.
  template <typename Do>
  void each_of(const Rule& rule, Do&& action) {
    for (Index at = 0; at < cell_count(homes()); ++at) {
      if (cells()[at].rule == &rule) action(cells()[at].state);
    }
  }

  struct Heir {
    const Rule& from;
    const Rule& to;
  };
  /// All states of one rule, or one state, become another's.
  void hand_over(const Heir& heir) noexcept {
    for (Index at = 0; at < cell_count(homes()); ++at) {
      if (cells()[at].rule == &heir.from) hand_over(at, heir.to);
    }
  }
  void hand_over(Index index, const Rule& to) noexcept {
    Cell& cell = cells()[index];
    committed_ += largest_bytes(to, cell.key_size);
    committed_ -= largest_bytes(*cell.rule, cell.key_size);
    cell.rule = &to;
  }

  std::size_t size() const noexcept { return size_; }
  /// What the states that are kept may ever take.
  std::size_t committed() const noexcept { return committed_; }
  /// What the array and the keys take now, and the states' own memory at most.
  std::size_t bytes() const noexcept {
    return std::max(cell_count(homes()) * sizeof(Cell) + outside_bytes_, committed_);
  }

 private:
  static constexpr std::size_t inlined = 16;
  static constexpr std::size_t least_homes = 8;

  struct Cell {
    Limit::State state;
    const Rule* rule;               ///< null: empty
    std::array<char, inlined> key;  ///< or a pointer to a longer one
    std::uint32_t key_size;
    std::uint32_t tag;
  };

  /// Where a tag lies if nothing is in its way: tags in order have homes in order.
  static constexpr Index home(std::uint32_t tag, std::size_t homes) noexcept {
    return static_cast<Index>((std::uint64_t{tag} * homes) >> 32);
  }
  /// Behind the last home there is room for what was pushed over it, and one cell is always empty.
  static constexpr std::size_t cell_count(std::size_t homes) noexcept {
    return homes == 0 ? 0 : homes + homes / 64 + 17;
  }
  static constexpr std::size_t most_in(std::size_t homes) noexcept { return homes * 84 / 100; }
  static constexpr std::size_t homes_for(std::size_t size) noexcept {
    return std::max(least_homes, size * 100 / 72);
  }

  static std::size_t largest_bytes(const Rule& rule, std::size_t key_size) noexcept {
    constexpr std::size_t cell = sizeof(Cell) * 102 / 72 + 1;  // with its share of empty ones
    constexpr std::size_t block = 16;  // what an allocation costs beside its bytes
    const std::size_t outside = key_size > inlined ? key_size + block : 0;
    return cell + outside + rule.state_bytes_elsewhere;
  }

  Cell* cells() const noexcept { return cells_.load(std::memory_order_relaxed); }
  std::size_t homes() const noexcept { return homes_.load(std::memory_order_relaxed); }

  /// States own at most memory elsewhere, never a pointer to themselves: their bytes may move.
  static void relocate(Cell* to, const Cell* from, std::size_t count) noexcept {
    std::memmove(static_cast<void*>(to), static_cast<const void*>(from), count * sizeof(Cell));
  }

  static const char* outside_of(const Cell& cell) noexcept {
    const char* kept = nullptr;
    std::memcpy(&kept, cell.key.data(), sizeof kept);
    return kept;
  }

  static std::string_view key_of(const Cell& cell) noexcept {
    return {cell.key_size > inlined ? outside_of(cell) : cell.key.data(), cell.key_size};
  }

  static bool matches(const Cell& cell, const Name& name) noexcept {
    return cell.rule == name.rule && key_of(cell) == name.key;
  }

  void drop(Cell& cell) noexcept {
    if (cell.key_size > inlined) {
      outside_bytes_ -= cell.key_size;
      const std::unique_ptr<const char[]> kept(outside_of(cell));
    }
    cell.~Cell();
  }

  /// An empty cell where the tag belongs.
  Cell* make_room(std::uint32_t tag) {
    for (;;) {
      Cell* const cells = this->cells();
      Index at = home(tag, homes());
      while (cells[at].rule && cells[at].tag <= tag) ++at;
      Index hole = at;
      while (cells[hole].rule) ++hole;
      if (hole + 1 < cell_count(homes())) {
        relocate(cells + at + 1, cells + at, hole - at);
        return cells + at;
      }
      if (!resize(homes() * 2)) throw std::bad_alloc();  // a run too long for the end
    }
  }

  /// Moves everything to an array of another size; false where there is no memory for one.
  bool resize(std::size_t wanted) noexcept {
    const Cell* const from = cells();
    for (std::size_t homes = wanted;; homes *= 2) {
      const std::size_t count = cell_count(homes);
      Cell* const to = static_cast<Cell*>(std::calloc(count, sizeof(Cell)));  // empty: all zero
      if (!to) return false;
      Index end = 0;
      Index hand = 0;
      std::size_t left = size_;
      for (Index at = 0; left > 0 && end + 1 < count; ++at) {
        if (!from[at].rule) continue;
        end = std::max(end, home(from[at].tag, homes));
        if (at <= hand_) hand = end;
        relocate(to + end, from + at, 1);
        ++end;
        --left;
      }
      if (left > 0) {  // a run too long for the end
        std::free(to);
        continue;
      }
      std::free(cells());
      cells_.store(to, std::memory_order_relaxed);
      homes_.store(homes, std::memory_order_relaxed);
      hand_ = hand;
      return true;
    }
  }

  std::atomic<Cell*> cells_{nullptr};
  std::atomic<std::size_t> homes_{0};
  std::size_t size_ = 0;
  std::size_t hand_ = 0;  ///< where the sweep stands
  std::size_t outside_bytes_ = 0;
  std::size_t committed_ = 0;
};

}  // namespace weir
