// More threads than cores in one chain, counted from outside.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "weir/local/chain.hpp"
#include "weir/local/concurrency.hpp"
#include "weir/local/keeping.hpp"
#include "weir/local/keyed_limiter.hpp"
#include "weir/local/keyed_token_bucket.hpp"
#include "weir/local/of_key.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr SteadyInstant start{1h};
constexpr int crowd = 8;

/// Lets every third call in.
template <typename Clock>
class Picky {
 public:
  class Pass {
   public:
    explicit Pass(bool let_in) noexcept : let_in_(let_in) {}
    Pass(Pass&&) noexcept = default;
    Pass& operator=(Pass&&) noexcept = default;
    explicit operator bool() const noexcept { return let_in_; }
    struct Refused {
      SteadyInstant ready_at;
    };
    Refused refused() const noexcept { return {}; }
    void end(CallEnd) noexcept {}
    void end(CallEnd, SteadyInstant) noexcept {}
    void withdraw() noexcept {}

   private:
    bool let_in_;
  };

  explicit Picky(Clock clock) : clock_(clock) {}
  Pass try_enter(const Entry&, SteadyInstant) noexcept {
    return Pass(calls_.fetch_add(1, std::memory_order_relaxed) % 3 == 0);
  }
  const Clock& clock() const noexcept { return clock_; }

 private:
  Clock clock_;
  std::atomic<int> calls_{0};
};

/// How many of the crowd's calls the guard let in.
template <typename Guard>
Cost let_in_by(Guard& guard, int calls) {
  std::atomic<Cost> in{0};
  std::vector<std::thread> threads;
  threads.reserve(crowd);
  for (int thread = 0; thread < crowd; ++thread) {
    threads.emplace_back([&] {
      for (int call = 0; call < calls; ++call) {
        auto passage = guard.try_enter();
        if (!passage) continue;
        passage.end(CallEnd::success);
        in.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return in.load();
}

TEST(ChainThreads, WhileTimeStandsStillNothingIsLostOrMinted) {
  ManualTime time(start);
  const ManualClock clock(time);
  BasicLimiter<AtomicWord, ManualClock> word({.count = 1, .period = 1h, .burst = 3'000}, clock);
  auto log = BasicLimiter<LimitState, ManualClock>::of("sliding-log 3000/1h", clock);
  KeyedTokenBucket<int, ManualClock> words(
      {.count = 1, .period = 1h, .burst = 3'000, .max_keys = 100}, clock);
  KeyedLimiter<int, ManualClock> limits("3000/1h", {.max_keys = 100}, clock);
  Picky<ManualClock> picky(clock);
  auto guard = chain(word, log, on(words, 7), on(limits, 7), picky);
  const Cost in = let_in_by(guard, 500);
  EXPECT_GE(in, crowd * 500 / 3);
  EXPECT_LE(in, 3'000);
  EXPECT_EQ(word.peek().remaining, 3'000 - in);
  EXPECT_EQ(log.peek().remaining, 3'000 - in);
  EXPECT_EQ(words.peek(7).remaining, 3'000 - in);
  EXPECT_EQ(limits.peek(7).remaining, 3'000 - in);
}

TEST(ChainThreads, WhileTimeFlowsTheBoundHolds) {
  const Cost rate = 100'000;
  TokenBucket bucket({.count = rate, .period = 1s, .burst = 20});
  const TscClock clock;
  Picky<TscClock> picky(clock);
  auto guard = chain(bucket, picky);
  const SteadyInstant began = clock.now();
  const Cost in = let_in_by(guard, 4'000);
  const auto took = std::chrono::ceil<std::chrono::microseconds>(clock.now() - began);
  EXPECT_LE(in, 20 + rate * took.count() / 1'000'000 + 1);
  EXPECT_GE(in, 20);
}

TEST(ChainThreads, NoMoreAreInFlightThanMayAndWhoIsRefusedCostsNothing) {
  ManualTime time(start);
  const ManualClock clock(time);
  BasicLimiter<AtomicWord, ManualClock> word({.count = 1, .period = 1h, .burst = 10'000}, clock);
  BasicConcurrencyLimit<ManualClock> wide({.limit = crowd}, clock);
  BasicConcurrencyLimit<ManualClock> narrow({.limit = 2}, clock);
  auto guard = chain(wide, word, narrow);
  std::atomic<int> in_flight{0};
  std::atomic<int> most{0};
  std::atomic<Cost> in{0};
  std::vector<std::thread> threads;
  threads.reserve(crowd);
  for (int thread = 0; thread < crowd; ++thread) {
    threads.emplace_back([&] {
      for (int call = 0; call < 500; ++call) {
        auto passage = guard.try_enter();
        if (!passage) continue;
        const int now_in_flight = in_flight.fetch_add(1) + 1;
        for (int seen = most;
             seen < now_in_flight && !most.compare_exchange_weak(seen, now_in_flight);) {
        }
        in.fetch_add(1);
        if (call % 8 == 0) std::this_thread::yield();
        in_flight.fetch_sub(1);
        passage.end(CallEnd::success);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most.load(), 2);
  EXPECT_EQ(word.peek().remaining, 10'000 - in.load());
  EXPECT_EQ(wide.in_flight(), 0);
  EXPECT_EQ(narrow.in_flight(), 0);
}

TEST(ChainThreads, NoCrowdEatsIntoTheReserve) {
  ManualTime time(start);
  BasicLimiter<AtomicWord, ManualClock> word({.count = 1, .period = 1h, .burst = 1'000},
                                             ManualClock(time));
  auto log = BasicLimiter<LimitState, ManualClock>::of("sliding-log 1000/1h", ManualClock(time));
  const auto check = [](auto& limiter) {
    auto gate = keeping(limiter, {.normal = 100, .sheddable = 100, .background = 100});
    std::atomic<bool> below{false};
    std::thread watcher([&] {
      while (!below && limiter.peek().remaining > 100) std::this_thread::yield();
      for (int look = 0; look < 1'000; ++look) below = below || limiter.peek().remaining < 100;
    });
    EXPECT_EQ(let_in_by(gate, 300), 900);
    watcher.join();
    EXPECT_FALSE(below);
    EXPECT_EQ(limiter.drain(1'000), 100);
  };
  check(word);
  check(log);
}

}  // namespace
}  // namespace weir
