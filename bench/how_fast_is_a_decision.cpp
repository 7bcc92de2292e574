// How fast is a decision in this process: the bare step, and the keyed table around it? The clock
// is read in none of them but the first; a real caller adds it once for each batch.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weir/local/clock.hpp"
#include "weir/local/clocks.hpp"
#include "weir/local/keyed_limiter.hpp"
#include "weir/local/keyed_token_bucket.hpp"
#include "weir/local/table.hpp"

namespace weir {
namespace {

void ReadingTheClock(benchmark::State& state) {
  const UnixClock clock;
  for (auto _ : state) benchmark::DoNotOptimize(clock.now());
}
BENCHMARK(ReadingTheClock);

/// What a limiter in this process goes by: docs/clocks.md.
template <typename Clock, typename... Told>
void reading(benchmark::State& state, const Told&... told) {
  const Clock clock(told...);
  benchmark::DoNotOptimize(clock.now());  // TscClock calibrates
  for (auto _ : state) benchmark::DoNotOptimize(clock.now());
}
void ReadingSteadyClock(benchmark::State& state) { reading<SteadyClock>(state); }
void ReadingTscClock(benchmark::State& state) {
  reading<TscClock>(state);
  if (!TscClock::uses_tsc()) state.SetLabel("reads the steady clock here");
}
void ReadingCoarseClock(benchmark::State& state) { reading<CoarseClock>(state); }
void ReadingTickClock(benchmark::State& state) {
  const PublishedTick tick;
  reading<TickClock>(state, tick);
}
void ReadingManualClock(benchmark::State& state) {
  const ManualTime time;
  reading<ManualClock>(state, time);
}
BENCHMARK(ReadingSteadyClock);
BENCHMARK(ReadingTscClock);
BENCHMARK(ReadingCoarseClock);
BENCHMARK(ReadingTickClock);
BENCHMARK(ReadingManualClock);

/// Time moves so that `granted` requests are all granted, and `denied` ones all denied.
void step(benchmark::State& state, const char* text, Span between) {
  const Limit limit = Limit::parse(text).value();
  Limit::State kept;
  Instant now{std::chrono::hours(1)};
  while (taken(weir::step<Limit::Machine>(limit.config(), kept, {now}).verdict) &&
         between == Span{0}) {
  }
  for (auto _ : state) {
    now += between;
    benchmark::DoNotOptimize(weir::step<Limit::Machine>(limit.config(), kept, {now}));
  }
}

constexpr Span second{1'000'000};
BENCHMARK_CAPTURE(step, token_bucket_granted, "1/s", second);
BENCHMARK_CAPTURE(step, token_bucket_denied, "1/s", Span{0});
BENCHMARK_CAPTURE(step, token_bucket_of_thirds_granted, "3/s burst 7", second);
BENCHMARK_CAPTURE(step, leaky_bucket_granted, "leaky-bucket 1/s", second);
BENCHMARK_CAPTURE(step, fixed_window_granted, "fixed-window 1/s", second);
BENCHMARK_CAPTURE(step, sliding_window_granted, "sliding-window 1/s", 2 * second);
BENCHMARK_CAPTURE(step, sliding_log_granted, "sliding-log 1/s", second);
BENCHMARK_CAPTURE(step, two_limits_granted, "1/s & 100/1m", second);

/// Keys of 16 bytes in a random order, made as they are asked for: what is slow to fetch is the
/// table's, not the question.
class Keys {
 public:
  explicit Keys(std::size_t count) : count_(count) {}

  /// The key of the call that comes so many calls from now.
  std::string_view ahead(std::size_t calls) { return key((at_ + calls) % count_); }
  std::string_view next() { return key(at_++ % count_); }

 private:
  using Bytes = std::array<char, 16>;

  /// A prime above any count, so that all keys come once before one comes again.
  static constexpr std::uint64_t stride = 2'147'483'647;

  std::string_view key(std::uint64_t at) {
    Bytes& bytes = made_[turn_++ % made_.size()];
    const std::uint64_t number = at * stride % count_;
    const std::array<std::uint64_t, 2> words{number * 0x9e3779b97f4a7c15, number};
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return {bytes.data(), bytes.size()};
  }

  std::uint64_t count_;
  std::uint64_t at_ = 0;
  std::uint64_t turn_ = 0;
  std::array<Bytes, 4> made_{};
};

Answer ask(Table& table, const Rule* rule, std::string_view key) {
  return table.take({rule, key}, {Instant{std::chrono::hours(1)}});
}

void table(benchmark::State& state, const char* limit) {
  Rules rules;
  const Rule* rule = rules.find(limit).value();
  Table table({.max_keys = 2'000'000});
  const auto count = static_cast<std::size_t>(state.range(0));
  Keys keys(count);
  for (std::size_t at = 0; at < count; ++at) ask(table, rule, keys.next());
  for (auto _ : state) benchmark::DoNotOptimize(ask(table, rule, keys.next()));
}
BENCHMARK_CAPTURE(table, token_bucket, "1000/1d")->Arg(1)->Arg(1'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK_CAPTURE(table, sliding_log, "sliding-log 1000/1d")->Arg(1)->Arg(100'000);

/// The same for a caller that knows 16 requests ahead which keys come, as the server does when
/// requests are pipelined.
void table_ahead(benchmark::State& state, const char* limit) {
  constexpr std::size_t ahead = 16;
  Rules rules;
  const Rule* rule = rules.find(limit).value();
  Table table({.max_keys = 2'000'000});
  const auto count = static_cast<std::size_t>(state.range(0));
  Keys keys(count);
  for (std::size_t at = 0; at < count; ++at) ask(table, rule, keys.next());
  std::array<std::uint64_t, ahead> hashes{};
  for (std::size_t at = 0; at < ahead; ++at) hashes[at] = table.prefetch({rule, keys.ahead(at)});
  std::size_t at = 0;
  for (auto _ : state) {
    std::uint64_t& hash = hashes[at++ % ahead];
    const Subject subject{rule, keys.next(), nullptr, hash};
    benchmark::DoNotOptimize(table.take(subject, {Instant{std::chrono::hours(1)}}));
    hash = table.prefetch({rule, keys.ahead(ahead - 1)});
  }
}
BENCHMARK_CAPTURE(table_ahead, token_bucket, "1000/1d")->Arg(100'000)->Arg(1'000'000);

void new_keys(benchmark::State& state) {
  Rules rules;
  const Rule* rule = rules.find("1000/1d").value();
  Table table({.max_keys = static_cast<std::size_t>(state.range(0))});
  std::uint64_t number = 0;
  Instant now{std::chrono::hours(1)};
  for (auto _ : state) {
    const std::string key = std::to_string(10'000'000'000'000'000 + number++);
    benchmark::DoNotOptimize(table.take({rule, key}, {now}));
  }
}
BENCHMARK(new_keys)->Arg(10'000'000)->Name("a_new_key_with_room")->Iterations(1'000'000);
BENCHMARK(new_keys)->Arg(1'000)->Name("a_new_key_at_the_cap")->Iterations(1'000'000);

/// What callers ask with: numbers as they come from a hash, or short texts.
template <typename Key>
std::vector<Key> keys_of_callers(std::size_t count) {
  std::vector<Key> keys(count);
  std::uint64_t number = 1;
  for (Key& key : keys) {
    number += 0x9e3779b97f4a7c15;
    if constexpr (std::is_same_v<Key, std::string>) {
      key = std::to_string(number % 10'000'000'000);
    } else {
      key = number;
    }
  }
  return keys;
}

/// Every key is met once before; `now` is given.
template <typename Key>
struct Keyed {
  Keyed(benchmark::State& state, Quota quota)
      : keys(keys_of_callers<Key>(static_cast<std::size_t>(state.range(0)))),
        limiter({quota.count, quota.period, quota.burst, keys.size()}) {
    for (const Key& key : keys) benchmark::DoNotOptimize(limiter.try_acquire(key, 1, now));
  }

  SteadyInstant now{std::chrono::hours(1)};
  std::vector<Key> keys;
  KeyedTokenBucket<Key> limiter;
};

constexpr Quota all_granted{1'000'000'000, std::chrono::seconds(1), 1'000'000'000};
constexpr Quota all_denied{1, std::chrono::hours(24), 1};

template <typename Key>
void keyed(benchmark::State& state, const Quota& quota) {
  Keyed<Key> asked(state, quota);
  std::size_t at = 0;
  for (auto _ : state) {
    at = at + 1 < asked.keys.size() ? at + 1 : 0;
    benchmark::DoNotOptimize(asked.limiter.try_acquire(asked.keys[at], 1, asked.now));
  }
}

void keyed_numbers(benchmark::State& state, const Quota& quota) {
  keyed<std::uint64_t>(state, quota);
}
void keyed_texts(benchmark::State& state, const Quota& quota) { keyed<std::string>(state, quota); }
BENCHMARK_CAPTURE(keyed_numbers, granted, all_granted)->RangeMultiplier(10)->Range(1, 1'000'000);
BENCHMARK_CAPTURE(keyed_numbers, denied, all_denied)->RangeMultiplier(10)->Range(1, 1'000'000);
BENCHMARK_CAPTURE(keyed_texts, granted, all_granted)->Arg(1)->Arg(100'000)->Arg(1'000'000);
BENCHMARK_CAPTURE(keyed_texts, denied, all_denied)->Arg(1)->Arg(100'000);

/// 64 keys at a time; the time is that of one.
template <typename Limiter, typename Key>
void ask_in_batches(benchmark::State& state, Limiter& limiter, const std::vector<Key>& keys,
                    SteadyInstant now) {
  constexpr std::size_t together = 64;
  std::array<Outcome, together> outcomes;
  std::size_t at = 0;
  while (state.KeepRunningBatch(together)) {
    if (at + together > keys.size()) at = 0;
    const std::span batch(&keys[at], together);
    limiter.try_acquire_many(batch, 1, outcomes, now);
    benchmark::DoNotOptimize(outcomes);
    at += together;
  }
}

void keyed_numbers_in_batches(benchmark::State& state, const Quota& quota) {
  Keyed<std::uint64_t> asked(state, quota);
  ask_in_batches(state, asked.limiter, asked.keys, asked.now);
}
BENCHMARK_CAPTURE(keyed_numbers_in_batches, granted, all_granted)->Arg(100'000)->Arg(1'000'000);
BENCHMARK_CAPTURE(keyed_numbers_in_batches, denied, all_denied)->Arg(100'000)->Arg(1'000'000);

/// New keys beyond what there is room for.
void keyed_flood(benchmark::State& state) {
  KeyedTokenBucket<std::uint64_t> limiter(
      {.count = 1, .period = std::chrono::hours(24), .burst = 1, .max_keys = 100'000});
  std::uint64_t key = 0;
  const SteadyInstant now{std::chrono::hours(1)};
  for (; key < 300'000; ++key) benchmark::DoNotOptimize(limiter.try_acquire(key, 1, now));
  for (auto _ : state) benchmark::DoNotOptimize(limiter.try_acquire(key++, 1, now));
}
BENCHMARK(keyed_flood);

void keyed_new_keys(benchmark::State& state) {
  KeyedTokenBucket<std::uint64_t> limiter(
      {.count = 1, .period = std::chrono::milliseconds(1), .burst = 1, .max_keys = 100'000});
  std::uint64_t key = 0;
  SteadyInstant now{std::chrono::hours(1)};
  for (auto _ : state) {
    now += std::chrono::nanoseconds(20);
    benchmark::DoNotOptimize(limiter.try_acquire(key++, 1, now));
  }
}
BENCHMARK(keyed_new_keys);

/// Any limit, by the table.
struct KeyedAny {
  explicit KeyedAny(benchmark::State& state)
      : keys(keys_of_callers<std::string>(static_cast<std::size_t>(state.range(0)))),
        limiter("1000/1d", {.max_keys = 2'000'000}) {
    for (const std::string& key : keys) benchmark::DoNotOptimize(limiter.try_acquire(key, 1, now));
  }

  SteadyInstant now{std::chrono::hours(1)};
  std::vector<std::string> keys;
  KeyedLimiter<std::string> limiter;
};

void keyed_any(benchmark::State& state) {
  KeyedAny asked(state);
  std::size_t at = 0;
  for (auto _ : state) {
    at = at + 1 < asked.keys.size() ? at + 1 : 0;
    benchmark::DoNotOptimize(asked.limiter.try_acquire(asked.keys[at], 1, asked.now));
  }
}
BENCHMARK(keyed_any)->Arg(1)->Arg(100'000)->Arg(1'000'000);

void keyed_any_in_batches(benchmark::State& state) {
  KeyedAny asked(state);
  ask_in_batches(state, asked.limiter, asked.keys, asked.now);
}
BENCHMARK(keyed_any_in_batches)->Arg(100'000)->Arg(1'000'000);

}  // namespace
}  // namespace weir
