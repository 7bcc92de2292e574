// How fast is a limiter in this process? By clock, grants and refusals apart. The first lines are
// what nothing can be faster than here: one reading of a clock, one swap of a word. Ratios to the
// steady clock, taken in one run, are what to compare.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>

#include "weir/local/lease.hpp"
#include "weir/local/limiter.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

template <typename Clock>
using Bucket = BasicLimiter<AtomicWord, Clock>;

constexpr AtomicWord::Settings always{.count = 1'000'000'000, .period = 1s, .burst = 1 << 30};
constexpr AtomicWord::Settings never_again{.count = 1, .period = 24h, .burst = 1};

void reading_the_steady_clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(std::chrono::steady_clock::now());
}
BENCHMARK(reading_the_steady_clock);

void bare_counter_read(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(__builtin_ia32_rdtsc());
}
BENCHMARK(bare_counter_read);

void bare_swap(benchmark::State& state) {
  std::atomic<std::uint64_t> word{0};
  for (auto _ : state) {
    std::uint64_t seen = word.load(std::memory_order_relaxed);
    benchmark::DoNotOptimize(word.compare_exchange_strong(seen, seen + 1));
  }
}
BENCHMARK(bare_swap);

void reading_the_tsc_clock(benchmark::State& state) {
  const TscClock clock;
  for (auto _ : state) benchmark::DoNotOptimize(clock.now());
}
BENCHMARK(reading_the_tsc_clock);

template <typename Limiter>
void grant(benchmark::State& state, Limiter& limiter) {
  for (auto _ : state) {
    const bool granted = static_cast<bool>(limiter.try_acquire());
    if (!granted) [[unlikely]] {
      state.SkipWithError("refused");
      break;
    }
  }
}

template <typename Limiter>
void refuse(benchmark::State& state, Limiter& limiter) {
  static_cast<void>(limiter.drain(1));
  for (auto _ : state) {
    const bool granted = static_cast<bool>(limiter.try_acquire());
    if (granted) [[unlikely]] {
      state.SkipWithError("granted");
      break;
    }
  }
}

template <typename Clock>
void bucket_grants(benchmark::State& state) {
  Bucket<Clock> bucket(always);
  grant(state, bucket);
}
template <typename Clock>
void bucket_refuses(benchmark::State& state) {
  Bucket<Clock> bucket(never_again);
  refuse(state, bucket);
}
BENCHMARK(bucket_grants<TscClock>);
BENCHMARK(bucket_refuses<TscClock>);
BENCHMARK(bucket_grants<SteadyClock>);
BENCHMARK(bucket_refuses<SteadyClock>);
BENCHMARK(bucket_grants<CoarseClock>);
BENCHMARK(bucket_refuses<CoarseClock>);

const PublishedTick& tick() {
  static const PublishedTick tick;
  return tick;
}
void bucket_grants_by_tick(benchmark::State& state) {
  Bucket<TickClock> bucket(always, TickClock(tick()));
  grant(state, bucket);
}
void bucket_refuses_by_tick(benchmark::State& state) {
  Bucket<TickClock> bucket(never_again, TickClock(tick()));
  refuse(state, bucket);
}
BENCHMARK(bucket_grants_by_tick);
BENCHMARK(bucket_refuses_by_tick);

/// By a caller that has read a clock already, for many decisions.
template <bool Granted>
void ask_at_a_given_time(benchmark::State& state, const AtomicWord::Settings& settings) {
  TokenBucket bucket(settings);
  const SteadyInstant start = bucket.clock().now();
  if (!Granted) static_cast<void>(bucket.drain(1));
  std::int64_t asked = 0;
  std::int64_t granted = 0;
  for (auto _ : state) {
    ++asked;
    granted += bucket.try_acquire(1, start + std::chrono::nanoseconds{asked}) ? 1 : 0;
  }
  if (granted != (Granted ? asked : 0)) state.SkipWithError("not as expected");
}
void bucket_grants_at_a_given_time(benchmark::State& state) {
  ask_at_a_given_time<true>(state, always);
}
void bucket_refuses_at_a_given_time(benchmark::State& state) {
  ask_at_a_given_time<false>(state, never_again);
}
BENCHMARK(bucket_grants_at_a_given_time);
BENCHMARK(bucket_refuses_at_a_given_time);

void lease_grants(benchmark::State& state) {
  TokenBucket bucket(always);
  Lease lease(bucket, state.range(0));
  grant(state, lease);
}
BENCHMARK(lease_grants)->Arg(32)->Arg(256);

/// All threads on one bucket.
void shared_bucket_grants(benchmark::State& state) {
  static TokenBucket bucket(always);
  grant(state, bucket);
}
void shared_bucket_refuses(benchmark::State& state) {
  static TokenBucket bucket(never_again);
  refuse(state, bucket);
}
BENCHMARK(shared_bucket_grants)->Threads(2);
BENCHMARK(shared_bucket_refuses)->Threads(2);

void bucket_tells_when(benchmark::State& state) {
  Bucket<TscClock> bucket(never_again);
  static_cast<void>(bucket.drain(1));
  const SteadyInstant now = bucket.clock().now();
  for (auto _ : state) benchmark::DoNotOptimize(bucket.try_acquire(1, now).ready_at);
}
BENCHMARK(bucket_tells_when);

void limit(benchmark::State& state, const char* text) {
  Limiter limiter = Limiter::of(text);
  SteadyInstant now = limiter.clock().now();
  for (auto _ : state) benchmark::DoNotOptimize(limiter.try_acquire(1, now += 1us));
}
BENCHMARK_CAPTURE(limit, token_bucket, "1000000/s");
BENCHMARK_CAPTURE(limit, sliding_window, "sliding-window 1M/s");
BENCHMARK_CAPTURE(limit, two, "1000000/s & 100000000/1h");

}  // namespace
}  // namespace weir

BENCHMARK_MAIN();
