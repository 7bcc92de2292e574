// Where each estimator settles before a service that can do so much at once.
#include "test/overload/closed_loop.hpp"

#include <gtest/gtest.h>

#include "test/overload/samples.hpp"
#include "weir/overload/aimd.hpp"
#include "weir/overload/auto_concurrency.hpp"
#include "weir/overload/gradient2.hpp"
#include "weir/overload/vegas.hpp"
#include "weir/overload/windowed.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

/// What a law is expected to do, as shares of what the service can do at once, and in time.
struct Tolerance {
  double least;
  double most;
  std::chrono::nanoseconds settles_after;
};

template <typename E>
struct Case;
template <>
struct Case<Windowed<Vegas>> {
  static Windowed<Vegas>::Settings settings() { return {.at_least_for = 100ms}; }
  static constexpr Tolerance tolerance{0.9, 1.2, 20s};
};
template <>
struct Case<Windowed<Gradient2>> {
  static Windowed<Gradient2>::Settings settings() {
    return {.estimator = {.minimum = 1, .maximum = 1000}, .at_least_for = 100ms};
  }
  static constexpr Tolerance tolerance{0.95, 1.65, 60s};
};
template <>
struct Case<AutoConcurrency> {
  static AutoConcurrency::Settings settings() { return {}; }
  static constexpr Tolerance tolerance{0.9, 1.3, 120s};
};

template <typename E>
class ClosedLoopLaw : public testing::Test {
 protected:
  static constexpr int at_once = 60;

  void settles(ClosedLoop& loop, double takes_ms) {
    const Tolerance& expected = Case<E>::tolerance;
    loop.run<E>(config_, state_, expected.settles_after);
    const ClosedLoop::Seen seen = loop.run<E>(config_, state_, 60s);
    EXPECT_GE(seen.limit, expected.least * at_once);
    EXPECT_LE(seen.limit, expected.most * at_once);
    EXPECT_LE(seen.latency_ms, takes_ms * expected.most * 1.05);
    EXPECT_GE(seen.rate, 0.9 * at_once * 1'000 / (takes_ms * 1.05));
  }

  typename E::Config config_ = configured<E>(Case<E>::settings());
  typename E::State state_;
};

using Laws = testing::Types<Windowed<Vegas>, Windowed<Gradient2>, AutoConcurrency>;
class Names {
 public:
  template <typename E>
  static std::string GetName(int at) {
    constexpr const char* names[] = {"WindowedVegas", "WindowedGradient2", "Auto"};
    return names[at];
  }
};
TYPED_TEST_SUITE(ClosedLoopLaw, Laws, Names);

TYPED_TEST(ClosedLoopLaw, SettlesNearWhatTheServiceCanDo) {
  ClosedLoop loop({.at_once = this->at_once, .takes = 10ms});
  this->settles(loop, 10);
}

TYPED_TEST(ClosedLoopLaw, SettlesAgainAfterLatenciesTripledForGood) {
  ClosedLoop loop({.at_once = this->at_once, .takes = 10ms});
  this->settles(loop, 10);
  loop.now_takes(30ms);
  this->settles(loop, 30);
}

TYPED_TEST(ClosedLoopLaw, SettlesAgainAfterLatenciesFellToAThirdForGood) {
  ClosedLoop loop({.at_once = this->at_once, .takes = 30ms});
  this->settles(loop, 30);
  loop.now_takes(10ms);
  this->settles(loop, 10);
}

TYPED_TEST(ClosedLoopLaw, SettlesAgainAfterTheClockWasSetBack) {
  ClosedLoop loop({.at_once = this->at_once, .takes = 10ms});
  this->settles(loop, 10);
  loop.set_clock_back(1h);
  this->settles(loop, 10);
}

// AIMD compares no latencies: it grows until calls time out, and so keeps the queue that takes.
TEST(ClosedLoopAimd, KeepsAsManyInFlightAsTheTimeoutAllows) {
  using Law = Windowed<Aimd>;
  const auto config = configured<Law>(
      {.estimator = {.minimum = 1, .maximum = 1000, .timeout = 45ms}, .at_least_for = 100ms});
  Law::State state;
  ClosedLoop loop({.at_once = 60, .takes = 10ms, .patience = 40ms});
  for (const int takes_ms : {10, 30, 10}) {
    loop.now_takes(takes_ms * 1ms);
    loop.run<Law>(config, state, 30s);
    const ClosedLoop::Seen seen = loop.run<Law>(config, state, 30s);
    const double fits = 60 * 40 / (takes_ms * 1.05);
    EXPECT_GE(seen.limit, 0.8 * fits) << takes_ms;
    EXPECT_LE(seen.limit, 1.1 * fits) << takes_ms;
    EXPECT_GE(seen.rate, 0.9 * 60 * 1'000 / (takes_ms * 1.05)) << takes_ms;
  }
}

// Each call by itself is news of a limit that was in force a round ago.
TEST(ClosedLoopVegas, WithoutWindowsItOscillates) {
  const auto config = configured<Vegas>({});
  Vegas::State state;
  ClosedLoop loop({.at_once = 60, .takes = 10ms});
  loop.run<Vegas>(config, state, 5s);
  const ClosedLoop::Seen seen = loop.run<Vegas>(config, state, 5s);
  EXPECT_GT(seen.highest, 2 * 60);
  EXPECT_LT(seen.lowest, 60);
  EXPECT_GE(seen.rate, 0.7 * 60 * 1'000 / 10.5);
}

}  // namespace
}  // namespace weir
