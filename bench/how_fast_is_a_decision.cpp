// How fast is a decision in this process: the bare step, and the keyed table around it? The clock
// is read in none of them but the first; a real caller adds it once for each batch.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <string>
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

/// Keys in a random order that no prefetcher knows; each is asked for about once a round.
class Keys {
 public:
  explicit Keys(std::size_t count) {
    std::mt19937_64 random(7);
    order_.resize(1 << 20);
    for (auto& index : order_) index = static_cast<std::uint32_t>(random() % count);
    for (std::size_t at = 0; at < count; ++at) {
      std::string key = "user:" + std::to_string(10'000'000'000 + at);  // 16 bytes
      names_.push_back(std::move(key));
    }
  }
  const std::string& next() { return names_[order_[at_++ & (order_.size() - 1)]]; }
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::uint32_t> order_;
  std::vector<std::string> names_;
  std::size_t at_ = 0;
};

void table(benchmark::State& state, const char* limit) {
  Rules rules;
  const Rule* rule = rules.find(limit).value();
  Table table({.max_keys = 2'000'000});
  Keys keys(static_cast<std::size_t>(state.range(0)));
  Instant now{std::chrono::hours(1)};
  for (const std::string& key : keys.all())
    benchmark::DoNotOptimize(table.take({rule, key}, {now}));
  for (auto _ : state) {
    benchmark::DoNotOptimize(table.take({rule, keys.next()}, {now}));
  }
}
BENCHMARK_CAPTURE(table, token_bucket, "1000/1d")->Arg(1)->Arg(1'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK_CAPTURE(table, sliding_log, "sliding-log 1000/1d")->Arg(1)->Arg(100'000);

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
