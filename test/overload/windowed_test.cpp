#include "weir/overload/windowed.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "test/overload/samples.hpp"
#include "weir/overload/aimd.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

/// Keeps what it is shown.
struct Recorder {
  struct Settings {};
  struct Config {};
  struct State {
    CallSample last{};
    int samples = 0;
    bool operator==(const State& other) const { return samples == other.samples; }
  };
  static Expected<Config, SettingsError> configure(const Settings&) { return Config{}; }
  static void observe(const Config&, State& state, const CallSample& sample) {
    state.last = sample;
    ++state.samples;
  }
  static std::int64_t limit(const Config&, const State&) { return 1; }
};

using Law = Windowed<Recorder>;

class WindowedLimit : public testing::Test {
 protected:
  void show(const CallSample& sample) { Law::observe(config_, state_, sample); }
  int samples() const { return state_.estimator.samples; }
  const CallSample& last() const { return state_.estimator.last; }
  SteadyInstant at(std::chrono::nanoseconds since) const { return SteadyInstant{1h} + since; }

  Law::Config config_ = configured<Law>({});
  Law::State state_;
};

TEST_F(WindowedLimit, IsASampleOnceASecondIsOverAndTenCallsEnded) {
  for (int call = 0; call < 50; ++call) show(success({1ms, 3}, at(call * 20ms)));
  EXPECT_EQ(samples(), 0);
  show(success({1ms, 3}, at(1s - 1ns)));
  EXPECT_EQ(samples(), 0);
  show(success({1ms, 3}, at(1s)));
  EXPECT_EQ(samples(), 1);
  EXPECT_EQ(last().ended_at, at(1s));
}

TEST_F(WindowedLimit, WithTooFewCallsItGoesOn) {
  for (int call = 0; call < 9; ++call) show(success({1ms, 3}, at(call * 10s)));
  EXPECT_EQ(samples(), 0);
  show(success({1ms, 3}, at(90s)));
  EXPECT_EQ(samples(), 1);
}

TEST_F(WindowedLimit, AveragesLatenciesAndTellsTheMostInFlight) {
  for (int call = 1; call <= 10; ++call) show(success({call * 1ms, 30 - call}, at(call * 1s)));
  EXPECT_EQ(last().latency, 5'500us);
  EXPECT_EQ(last().in_flight, 29);
  EXPECT_EQ(last().end, CallEnd::success);
  for (int call = 1; call <= 10; ++call) show(success({7ms, 2}, at(1min + call * 1s)));
  EXPECT_EQ(last().latency, 7ms);
  EXPECT_EQ(last().in_flight, 2);
}

TEST_F(WindowedLimit, OneDropMakesAllOfItDropped) {
  for (int call = 1; call <= 9; ++call) show(success({call * 1ms, 3}, at(call * 1s)));
  show(dropped(at(10s)));
  EXPECT_EQ(last().end, CallEnd::dropped);
  EXPECT_EQ(last().latency, 5ms);  // of those that succeeded
}

TEST_F(WindowedLimit, PassesOverCallsThatWereTooFastButNoDrops) {
  for (int call = 1; call <= 10; ++call) show(success({100us - 1ns, 3}, at(call * 1s)));
  EXPECT_EQ(state_.samples, 0);
  show(success({100us, 3}, at(20s)));
  EXPECT_EQ(state_.samples, 1);
  CallSample fast = dropped(at(21s));
  fast.latency = 1us;
  show(fast);
  EXPECT_EQ(state_.samples, 2);
}

TEST_F(WindowedLimit, TellsThePercentileAskedFor) {
  for (const auto& [aggregate, ms] : std::vector<std::pair<Aggregate, int>>{
           {Aggregate::median, 50}, {Aggregate::p90, 90}, {Aggregate::p99, 99}}) {
    config_ = configured<Law>({.at_least = 100, .aggregate = aggregate});
    for (int call = 0; call < 100; ++call) {
      show(success({(call * 37 % 100 + 1) * 1ms, 3}, at(call * 1s)));
    }
    EXPECT_EQ(last().latency, ms * 1ms);
  }
}

TEST_F(WindowedLimit, DrawsAPercentileOfMoreCallsFromAllOfThem) {
  config_ = configured<Law>({.at_least = 10'000, .aggregate = Aggregate::median});
  for (int call = 0; call < 10'000; ++call) {
    show(success({(call < 4'000 ? 1 : call < 6'000 ? 2 : 3) * 1ms, 3}, at(call * 1s)));
  }
  EXPECT_EQ(samples(), 1);
  EXPECT_EQ(last().latency, 2ms);  // 1 ms, had it kept the first, and 3 ms, the last
}

TEST_F(WindowedLimit, AClockSetBackBeginsItsTimeAnew) {
  for (int call = 0; call < 10; ++call) show(success({1ms, 3}, at(call * 1ms)));
  show(success({1ms, 3}, at(-1h)));
  show(success({1ms, 3}, at(-1h + 999ms)));
  EXPECT_EQ(samples(), 0);
  show(success({1ms, 3}, at(-1h + 1s)));
  EXPECT_EQ(samples(), 1);
}

TEST(WindowedSettings, AreRefusedByName) {
  using Limit = Windowed<Aimd>;
  EXPECT_EQ(refused<Limit>({.estimator = {.minimum = 0}}), "minimum");
  EXPECT_EQ(refused<Limit>({.at_least = 0}), "at_least");
  EXPECT_EQ(refused<Limit>({.at_least_for = -1ns}), "at_least_for");
  EXPECT_EQ(refused<Limit>({.at_least_for = 1h + 1ns}), "at_least_for");
  EXPECT_EQ(refused<Limit>({.least_latency = -1ns}), "least_latency");
  EXPECT_EQ(refused<Limit>({}), "");
}

}  // namespace
}  // namespace weir
