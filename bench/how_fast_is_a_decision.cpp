// How fast is a decision in this process: the bare step, and the keyed table around it? The clock
// is read in none of them but the first; a real caller adds it once for each batch.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/local/clock.hpp"
#include "weir/local/table.hpp"

namespace weir {
namespace {

void ReadingTheClock(benchmark::State& state) {
  const UnixClock clock;
  for (auto _ : state) benchmark::DoNotOptimize(clock.now());
}
BENCHMARK(ReadingTheClock);

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

}  // namespace
}  // namespace weir
