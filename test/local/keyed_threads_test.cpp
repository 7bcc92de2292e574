// Keyed words under more threads than cores.
#include <algorithm>
#include <array>
#include <barrier>

#include "test/local/keyed_threads.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Limiter = KeyedTokenBucket<std::uint64_t>;

TEST(ThreadsOnKeyedWords, GrantNoMoreThanTheBound) {
  expect_within_bound({.threads = 8, .calls = 20'000, .others = 3'000});
}

TEST(ThreadsOnKeyedWords, GrantNoMoreThanTheBoundWhenThereAre64) {
  expect_within_bound({.threads = 64, .calls = 2'000, .others = 3'000});
}

/// Time stands still, so what is granted can be counted to the unit.
TEST(ThreadsOnKeyedWords, GrantABurstOnceWhoeverComesAndGoes) {
  constexpr SteadyInstant now{1'000h};
  constexpr std::size_t keys = 40;
  for (int round = 0; round < 20; ++round) {
    Limiter limiter({.count = 1, .period = 24h, .burst = 100, .max_keys = 60});
    std::array<std::atomic<Cost>, keys> granted{};
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        for (unsigned call = 0; call < 2'000; ++call) {
          const std::size_t key = call * (2 * thread + 1) % keys;
          if (limiter.try_acquire(key, 1, now)) granted[key].fetch_add(1);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t key = 0; key < keys; ++key) {
      ASSERT_EQ(granted[key], 100) << "key " << key << ", round " << round;
    }
  }
}

/// In each round all keys are repaid, and half of those who ask are others: they take over slots
/// just when the rest come back to theirs.
TEST(ThreadsOnKeyedWords, GrantEachKeyOnceWhileOthersWantItsSlot) {
  constexpr std::size_t keys = 600;
  constexpr std::size_t asking = 150;
  constexpr std::ptrdiff_t count = 4;
  Limiter limiter({.count = 1, .period = 1s, .burst = 1, .max_keys = 170});
  std::array<std::atomic<int>, keys> granted{};
  std::barrier all(count);
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < count; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t round = 1; round <= 30; ++round) {
        const auto key_at = [&](std::size_t at) { return (round * (asking / 2) + at) % keys; };
        all.arrive_and_wait();
        for (std::size_t call = 0; call < asking; ++call) {
          const std::size_t key = key_at((call * 7 + thread * 40) % asking);
          const SteadyInstant now{std::chrono::seconds(round)};
          if (limiter.try_acquire(key, 1, now)) granted[key].fetch_add(1);
        }
        all.arrive_and_wait();
        for (std::size_t at = thread; at < asking; at += count) {
          EXPECT_EQ(granted[key_at(at)].exchange(0), 1) << "key " << key_at(at) << ", " << round;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(limiter.stats().shared_answers, 0u);
}

/// All come with the same new keys in the same order: each has one slot, and one grant.
TEST(ThreadsOnKeyedWords, GrantANewKeyOnceWhoeverBringsItFirst) {
  constexpr std::size_t keys = 100'000;
  Limiter limiter({.count = 1, .period = 24h, .burst = 1, .max_keys = 2 * keys});
  std::vector<std::atomic<std::uint8_t>> granted(keys);
  std::atomic<std::size_t> newest{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      // Who lags behind catches up, so that they meet.
      for (std::size_t key = 0; key < keys; key = std::max(key + 1, newest.load())) {
        if (key > newest.load()) newest.store(key);
        if (limiter.try_acquire(key, 1, SteadyInstant{1'000h})) granted[key].fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t key = 0; key < keys; ++key) EXPECT_LE(granted[key], 1) << key;
}

TEST(ThreadsOnKeyedWords, GiveBackWhatTheyTookAndNoMore) {
  constexpr SteadyInstant now{1'000h};
  Limiter limiter({.count = 1, .period = 24h, .burst = 1'000, .max_keys = 60});
  std::atomic<Cost> kept{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (unsigned call = 0; call < 2'000; ++call) {
        if (!limiter.try_acquire(7, 1, now)) continue;
        kept.fetch_add(1);
        if ((call + thread) % 3 > 0) kept.fetch_sub(limiter.refund(7, 1, now));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(limiter.peek(7, 0, now).remaining, 1'000 - kept);
}

/// The numbers stay the same, so whatever is converted must grant the burst once all the same.
TEST(ThreadsOnKeyedWords, GrantABurstOnceWhileNumbersChange) {
  constexpr SteadyInstant now{1'000h};
  constexpr std::size_t keys = 50;
  const Quota quotas[] = {{1, 24h, 100}, {1, 48h, 100}};
  for (const Inherit how : {Inherit::as_is, Inherit::proportional, Inherit::additive}) {
    Limiter limiter({.count = 1, .period = 24h, .burst = 100, .max_keys = 1'000});
    std::array<std::atomic<Cost>, keys> granted{};
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 6; ++thread) {
      threads.emplace_back([&, thread] {
        for (unsigned call = 0; call < 10'000; ++call) {
          const std::size_t key = call * (2 * thread + 1) % keys;
          if (limiter.try_acquire(key, 1, now)) granted[key].fetch_add(1);
        }
      });
    }
    std::thread changer([&] {
      for (unsigned change = 0; !done; ++change) {
        limiter.reconfigure(quotas[change % 2], how, now);
        if (change == 3) {
          EXPECT_TRUE(limiter.override_for(0, quotas[0], how, now));
        }
        std::this_thread::yield();
      }
    });
    for (std::thread& thread : threads) thread.join();
    done = true;
    changer.join();
    for (std::size_t key = 0; key < keys; ++key) {
      EXPECT_LE(granted[key], 100) << "key " << key;
      EXPECT_GE(granted[key], 90) << "key " << key;
    }
  }
}

}  // namespace
}  // namespace weir
