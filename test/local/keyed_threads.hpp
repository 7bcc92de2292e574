// More threads than cores on keyed words: what was granted is counted against the promise.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "weir/local/keyed_token_bucket.hpp"

namespace weir {

struct ThreadedRun {
  std::size_t threads;
  int calls;           ///< of each
  std::size_t others;  ///< keys beside the hot ones, beyond what there is room for
};

/// All threads want the same few keys while others come and go. Their readings of the clock are
/// late by up to its whole range.
inline void expect_within_bound(const ThreadedRun& run) {
  using std::chrono::nanoseconds;
  constexpr SteadyInstant start{std::chrono::hours(1'000)};
  constexpr std::size_t hot = 8;
  // A microsecond a call; an interval of 1 ms, so that most calls are refused.
  const Quota quota{1'000, std::chrono::seconds(1), 50};
  KeyedTokenBucket<std::uint64_t> limiter({.count = quota.count,
                                           .period = quota.period,
                                           .burst = quota.burst,
                                           .max_keys = 100,
                                           .hash_key = {1, 2}});
  std::atomic<std::int64_t> microseconds{0};
  std::vector<std::vector<Cost>> granted(run.threads, std::vector<Cost>(hot));
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < run.threads; ++thread) {
    threads.emplace_back([&, thread] {
      std::minstd_rand random(static_cast<unsigned>(thread + 1));
      for (int call = 0; call < run.calls; ++call) {
        const std::int64_t us = microseconds.fetch_add(1, std::memory_order_relaxed);
        const std::int64_t late = random() % 3 == 0 ? random() % (us + 1) : 0;
        const SteadyInstant now = start + nanoseconds{(us - late) * 1'000};
        const Cost cost = 1 + static_cast<Cost>(random() % 2);
        const std::uint64_t key = random() % 2 == 0 ? random() % hot : hot + random() % run.others;
        const Outcome outcome = limiter.try_acquire(key, cost, now);
        if (outcome && key < hot) granted[thread][key] += cost;
        if (call % 64 == 0) (void)limiter.peek(key, 1, now);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto config = KeyedWords::configure(quota).value();
  const nanoseconds length{microseconds.load() * 1'000};
  const Span ticks{static_cast<std::int64_t>(config.scale.ticks(length)) + 1};
  for (std::size_t key = 0; key < hot; ++key) {
    Cost units = 0;
    for (const auto& of_thread : granted) units += of_thread[key];
    EXPECT_LE(units, Gcra::bound(config.bucket, ticks, 2)) << "key " << key;
    EXPECT_GE(units, quota.burst) << "key " << key;
  }
  EXPECT_GT(limiter.stats().shared_answers, 0u);
}

}  // namespace weir
