// Callers of limits in a store, and a record of all that they were told.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "test/history/check.hpp"
#include "weir/redis/client.hpp"
#include "weir/redis/limiter.hpp"

namespace weir::test {

/// One call, and what came of it. Two limits are asked in turn: one that is saturated, whose
/// admissions are held against its bound, and one that never refuses, whose units are counted in
/// the store afterwards.
struct Call {
  enum class Of : std::uint8_t { bucket, account };

  std::int64_t called_at_ns = 0;
  std::int64_t returned_at_ns = 0;
  std::uint32_t client = 0;
  std::uint16_t key = 0;
  Of of = Of::bucket;
  bool admitted = false;
  bool mistaken = false;  ///< the answer is of the other limit
  redis::Source source = redis::Source::store;
  redis::TroubleKind trouble = redis::TroubleKind::none;
};

/// Now, on the clock of Call.
std::int64_t now_ns();

/// The limits that are asked, and how many keys of each there are.
struct Asked {
  static constexpr const char* bucket_text = "100/1s";
  static constexpr history::Bucket bucket{.burst = 100, .count = 100, .period_ns = 1'000'000'000};
  static constexpr const char* account_text = "fixed-window 1000000/1d";
  static constexpr Cost account_limit = 1'000'000;
  static constexpr std::uint16_t buckets = 4;
  static constexpr std::uint16_t accounts = 16;
};

/// Threads that ask a store through a client of their own, each at its pace, until told to stop.
///
/// Memory   most_calls, touched ahead, so that what grows is the client's
class Load {
 public:
  struct Settings {
    std::string url{};
    redis::Policy policy{};
    std::uint32_t threads = 4;
    std::chrono::microseconds pace{1000};  ///< a thread's call begins so long after its last
    std::uint32_t first_client = 0;
    std::size_t most_calls = 400'000;
  };

  explicit Load(const Settings& settings);
  ~Load() { stop(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// How many calls were decided by this source so far.
  std::uint64_t decided_by(redis::Source source) const;
  /// Waits until the store has decided so many more calls.
  void await_store(std::uint64_t calls);
  redis::Client::Stats stats() const { return client_->stats(); }

  /// Ends the threads; returns all calls, in no order.
  std::vector<Call> stop();

 private:
  void ask(std::uint32_t thread);

  Settings settings_;
  std::unique_ptr<redis::Client> client_;
  std::shared_ptr<redis::Limits> limits_;
  redis::Limiter<> bucket_;
  redis::Limiter<> account_;
  std::vector<Call> calls_;
  std::atomic<std::size_t> next_{0};
  std::array<std::atomic<std::uint64_t>, 6> decided_{};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

/// The bytes of a key, from 0.
std::string key_of(std::uint16_t number);

/// What the accounts say was charged, asked with much patience over a connection of its own.
std::int64_t charged(const std::string& url);

}  // namespace weir::test
