// How fast is a gate that holds a place for each call? One call enters and leaves. The first lines
// are what nothing can be faster than here, two increments of an atomic word, and what the standard
// library has. Ratios to the increments, taken in one run, are what to compare.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <semaphore>

#include "weir/local/adaptive.hpp"
#include "weir/local/circuit_breaker.hpp"
#include "weir/local/concurrency.hpp"
#include "weir/local/leased_concurrency.hpp"
#include "weir/local/partitioned_concurrency.hpp"
#include "weir/overload/auto_concurrency.hpp"
#include "weir/overload/gradient2.hpp"
#include "weir/overload/windowed.hpp"

namespace weir {
namespace {

void two_increments(benchmark::State& state) {
  static std::atomic<std::uint64_t> word{0};
  for (auto _ : state) {
    word.fetch_add(1, std::memory_order_acq_rel);
    word.fetch_sub(1, std::memory_order_acq_rel);
  }
}
BENCHMARK(two_increments);
BENCHMARK(two_increments)->Threads(2);

void counting_semaphore(benchmark::State& state) {
  static std::counting_semaphore<> semaphore(1000);
  for (auto _ : state) {
    if (!semaphore.try_acquire()) state.SkipWithError("refused");
    semaphore.release();
  }
}
BENCHMARK(counting_semaphore);
BENCHMARK(counting_semaphore)->Threads(2);

void mutex(benchmark::State& state) {
  static std::mutex one;
  for (auto _ : state) {
    const std::lock_guard lock(one);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(mutex);
BENCHMARK(mutex)->Threads(2);

template <typename Limit>
void enter_and_leave(benchmark::State& state, Limit& limit) {
  for (auto _ : state) {
    auto permit = limit.try_enter();
    if (!permit) [[unlikely]] {
      state.SkipWithError("refused");
      break;
    }
    permit.end(CallEnd::success);
  }
}

template <typename Limit>
void refuse(benchmark::State& state, Limit& limit) {
  const auto held = limit.try_enter();
  for (auto _ : state) {
    if (limit.try_enter()) [[unlikely]] {
      state.SkipWithError("let in");
      break;
    }
  }
}

void limit_lets_in(benchmark::State& state) {
  static ConcurrencyLimit limit({.limit = 1000});
  enter_and_leave(state, limit);
}
BENCHMARK(limit_lets_in);
BENCHMARK(limit_lets_in)->Threads(2);

void limit_refuses(benchmark::State& state) {
  ConcurrencyLimit limit({.limit = 1});
  refuse(state, limit);
}
BENCHMARK(limit_refuses);

/// One waits, for more than there is, and what is more urgent passes it: with the lock.
void limit_lets_in_while_one_waits(benchmark::State& state) {
  struct Waits final : Waiter {
    void moved() noexcept override {}
  } waits;
  ConcurrencyLimit limit({.limit = 1000, .queue = 1});
  const auto held = limit.try_enter();
  waits.entry = {.weight = 1000};
  static_cast<void>(limit.host().enter_or_join(waits, {}));
  for (auto _ : state) {
    auto permit = limit.try_enter({.priority = Priority::critical});
    if (!permit) [[unlikely]] {
      state.SkipWithError("refused");
      break;
    }
    permit.end(CallEnd::success);
  }
  static_cast<void>(limit.host().give_up(waits, Refusal::stopped, {}));
}
BENCHMARK(limit_lets_in_while_one_waits);

void leased_limit_lets_in(benchmark::State& state) {
  LeasedConcurrencyLimit limit({.limit = 1000, .lease_for = std::chrono::minutes{1}});
  enter_and_leave(state, limit);
}
BENCHMARK(leased_limit_lets_in);

void partition_lets_in(benchmark::State& state) {
  PartitionedConcurrencyLimit limit(
      {.limit = 1000, .partitions = {{"first", 0.5}, {"second", 0.25}, {"third", 0}}});
  enter_and_leave(state, limit.partition(0));
}
BENCHMARK(partition_lets_in);

/// Hears of each call, and so two clock readings are in it.
struct Count {
  std::int64_t* calls;
  void operator()(const CallSample&) const noexcept { ++*calls; }
};
void limit_lets_in_and_tells(benchmark::State& state) {
  std::int64_t calls = 0;
  BasicConcurrencyLimit<DefaultClock, Count> limit({.limit = 1000}, {}, {&calls});
  enter_and_leave(state, limit);
  if (calls == 0) state.SkipWithError("told nothing");
}
BENCHMARK(limit_lets_in_and_tells);

void breaker_lets_in(benchmark::State& state) {
  static CircuitBreaker breaker({.error_ratio = 0.5});
  enter_and_leave(state, breaker);
}
BENCHMARK(breaker_lets_in);
BENCHMARK(breaker_lets_in)->Threads(2);

void breaker_of_the_last_calls_lets_in(benchmark::State& state) {
  static CircuitBreaker breaker({.error_ratio = 0.5, .window_calls = 100});
  enter_and_leave(state, breaker);
}
BENCHMARK(breaker_of_the_last_calls_lets_in);

/// The entering alone: a load and a reading of the clock.
void breaker_lets_in_what_is_withdrawn(benchmark::State& state) {
  static CircuitBreaker breaker({.error_ratio = 0.5});
  for (auto _ : state) breaker.try_enter().withdraw();
}
BENCHMARK(breaker_lets_in_what_is_withdrawn);
BENCHMARK(breaker_lets_in_what_is_withdrawn)->Threads(2);

void breaker_refuses(benchmark::State& state) {
  CircuitBreaker breaker({.error_ratio = 0.5});
  breaker.force_open();
  for (auto _ : state) {
    if (breaker.try_enter()) [[unlikely]] {
      state.SkipWithError("let in");
      break;
    }
  }
}
BENCHMARK(breaker_refuses);

/// One that learns: beside the clock readings, a lock that is tried and a sample.
template <Estimator E>
void adaptive_limit_lets_in(benchmark::State& state) {
  static AdaptiveLimit<E> limit;
  enter_and_leave(state, limit);
}
BENCHMARK(adaptive_limit_lets_in<Windowed<Gradient2>>);
BENCHMARK(adaptive_limit_lets_in<AutoConcurrency>);
BENCHMARK(adaptive_limit_lets_in<AutoConcurrency>)->Threads(2);

}  // namespace
}  // namespace weir
