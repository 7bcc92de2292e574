// Whether the store that the server shares answers.
#pragma once

#include <atomic>
#include <cstdint>

#include "redis/remote_table.hpp"
#include "server/log.hpp"

namespace weir::server {

/// What the last answers said of it; tells in the log when that changes.
///
/// Threads  safe from any
/// Cost     one relaxed load where nothing changes
class StoreHealth {
 public:
  explicit StoreHealth(Log& log) : log_(log) {}

  void answered();
  /// One that refuses answers too.
  void failed(const redis::Trouble& trouble);

  bool answers() const noexcept { return told_.load(std::memory_order_relaxed) == Told::answers; }

 private:
  enum class Told : std::uint8_t { nothing, answers, gone };

  /// True where that is news.
  bool tell(Told told) noexcept {
    return told_.load(std::memory_order_relaxed) != told && told_.exchange(told) != told;
  }

  Log& log_;
  std::atomic<Told> told_{Told::nothing};
};

}  // namespace weir::server
