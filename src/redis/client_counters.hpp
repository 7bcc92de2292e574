// What happened to a client's calls, as one thread counts and others read.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::redis {

/// Threads  one writes, any read
class Counter {
 public:
  void add(std::int64_t more) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  std::uint64_t read() const noexcept {
    return static_cast<std::uint64_t>(value_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<std::int64_t> value_{0};
};

struct ClientCounters {
  Counter calls;
  Counter connections;
  Counter failed_attempts;
  Counter redirects;
  Counter late_replies;
  Counter connected_nodes;
};

}  // namespace weir::redis
