// An adaptive limit under more threads than cores, counted from outside.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "weir/local/adaptive.hpp"
#include "weir/overload/aimd.hpp"
#include "weir/overload/auto_concurrency.hpp"
#include "weir/overload/gradient2.hpp"
#include "weir/overload/vegas.hpp"
#include "weir/overload/windowed.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
constexpr int threads = 8;
constexpr int calls = 2'000;

void on_all_threads(auto work) {
  std::vector<std::thread> running;
  for (int at = 0; at < threads; ++at) running.emplace_back([&work, at] { work(at); });
  for (std::thread& thread : running) thread.join();
}

/// Counts what it is shown, and what it is told of the rest.
struct Counter {
  struct Settings {
    std::int64_t limit = threads;
  };
  struct Config {
    std::int64_t limit;
  };
  struct State {
    std::int64_t seen = 0;
    std::int64_t unseen = 0;
    bool operator==(const State&) const = default;
  };
  static Expected<Config, SettingsError> configure(const Settings& wanted) {
    return Config{wanted.limit};
  }
  static void observe(const Config&, State& state, const CallSample&) { ++state.seen; }
  static void count_unseen(const Config&, State& state, std::int64_t successes) {
    state.unseen += successes;
  }
  static std::int64_t limit(const Config& config, const State& state) {
    return 1 + (config.limit + state.seen) % config.limit;
  }
};

TEST(AdaptiveThreads, EachCallIsShownOrCountedAsMissed) {
  AdaptiveLimit<Counter> limit;
  std::atomic<std::int64_t> ended{0};
  on_all_threads([&](int) {
    for (int call = 0; call < calls; ++call) {
      if (auto permit = limit.try_enter()) {
        ended.fetch_add(1, std::memory_order_relaxed);
        permit.end(CallEnd::success);
      }
    }
  });
  limit.try_enter().end(CallEnd::success);  // alone, so it is shown, and so are all that were not
  const Counter::State state = limit.state();
  EXPECT_EQ(state.seen + limit.missed(), ended + 1);
  EXPECT_EQ(state.unseen, limit.missed());
  EXPECT_EQ(limit.in_flight(), 0);
}

/// Stays in its first observe() until it is told to go on.
struct Lingering : Counter {
  static inline std::atomic<bool> is_in{false};
  static inline std::atomic<bool> may_leave{false};
  static void observe(const Config& config, State& state, const CallSample& sample) {
    Counter::observe(config, state, sample);
    is_in = true;
    while (!may_leave) std::this_thread::yield();
  }
};

TEST(AdaptiveThreads, CallsThatEndMeanwhileDoNotWaitAndAreCounted) {
  AdaptiveLimit<Lingering> limit;
  auto first = limit.try_enter();
  std::thread lingers([&] { first.end(CallEnd::success); });
  while (!Lingering::is_in) std::this_thread::yield();
  for (const CallEnd end : {CallEnd::success, CallEnd::dropped, CallEnd::failure}) {
    limit.try_enter().end(end);
  }
  EXPECT_EQ(limit.missed(), 2);
  EXPECT_EQ(limit.in_flight(), 0);
  Lingering::may_leave = true;
  lingers.join();
  limit.try_enter().end(CallEnd::success);
  EXPECT_EQ(limit.state().seen, 2);
  EXPECT_EQ(limit.state().unseen, 1);
}

template <typename E>
class AdaptiveLaws : public testing::Test {};
using Laws = testing::Types<Aimd, Vegas, Gradient2, AutoConcurrency, Windowed<Gradient2>>;
TYPED_TEST_SUITE(AdaptiveLaws, Laws);

TYPED_TEST(AdaptiveLaws, NeverLetInMoreThanTheMaximum) {
  using Limit = AdaptiveLimit<TypeParam>;
  typename Limit::Settings settings;
  typename TypeParam::Settings& estimator = settings.estimator;
  if constexpr (requires { estimator.estimator; }) {
    estimator.estimator.minimum = 1;
    estimator.estimator.initial = 3;
    estimator.estimator.maximum = 5;
    estimator.at_least_for = 0ns;
    estimator.least_latency = 0ns;
  } else {
    estimator.minimum = 1;
    estimator.initial = 3;
    estimator.maximum = 5;
  }
  Limit limit(settings);
  std::atomic<int> in_flight{0};
  std::atomic<int> most{0};
  on_all_threads([&](int thread) {
    for (int call = 0; call < calls; ++call) {
      auto permit = limit.try_enter();
      if (!permit) continue;
      const int now = in_flight.fetch_add(1) + 1;
      int before = most.load();
      while (now > before && !most.compare_exchange_weak(before, now)) continue;
      if (call % 3 == 0) std::this_thread::yield();
      in_flight.fetch_sub(1);
      permit.end((call + thread) % 50 == 0 ? CallEnd::dropped : CallEnd::success);
    }
  });
  EXPECT_LE(most, 5);
  EXPECT_GE(most, 1);
  EXPECT_EQ(limit.in_flight(), 0);
  EXPECT_GE(limit.limit(), 1);
  EXPECT_LE(limit.limit(), 5);
}

}  // namespace
}  // namespace weir
