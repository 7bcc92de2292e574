// What a few of many keys have of their own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace weir {

/// Entries by the names of their keys (`name`), added one at a time and never taken away: who finds
/// one may use it at leisure.
///
/// Threads  find() from any thread; the rest under the owner's lock
/// Cost     a look-up: a line of memory, mostly
template <typename Entry>
class Overrides {
 public:
  static constexpr std::size_t most = 1'024;

  Overrides() { kept_.reserve(most); }

  Entry* find(std::uint64_t name) const noexcept {
    for (std::size_t at = name % places;; at = (at + 1) % places) {
      Entry* const found = table_[at].load(std::memory_order_acquire);
      if (!found || found->name == name) return found;
    }
  }

  std::size_t size() const noexcept { return kept_.size(); }

  /// Requires one that is not there, and that there are fewer than `most`.
  void add(std::unique_ptr<Entry> added) noexcept {
    Entry* const last = added.get();
    kept_.push_back(std::move(added));
    std::size_t at = last->name % places;
    while (table_[at].load(std::memory_order_relaxed)) at = (at + 1) % places;
    table_[at].store(last, std::memory_order_release);
  }

 private:
  static constexpr std::size_t places = 2 * most;

  std::array<std::atomic<Entry*>, places> table_{};
  std::vector<std::unique_ptr<Entry>> kept_;
};

}  // namespace weir
