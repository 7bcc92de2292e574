// What every estimator keeps, whatever it is shown.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "test/overload/samples.hpp"
#include "weir/overload/aimd.hpp"
#include "weir/overload/auto_concurrency.hpp"
#include "weir/overload/gradient2.hpp"
#include "weir/overload/vegas.hpp"
#include "weir/overload/windowed.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

/// Settings that let every path be gone within few samples.
template <typename E>
struct Short {
  static typename E::Settings settings(std::int64_t minimum) {
    return {.minimum = minimum, .initial = minimum + 3, .maximum = minimum + 77};
  }
};
template <>
struct Short<AutoConcurrency> {
  static AutoConcurrency::Settings settings(std::int64_t minimum) {
    return {.minimum = minimum,
            .initial = minimum + 3,
            .maximum = minimum + 77,
            .window_for = 1ms,
            .window_at_least = 2,
            .window_at_most = 3,
            .remeasure_after = 10ms};
  }
};
template <typename E>
struct Short<Windowed<E>> {
  static typename Windowed<E>::Settings settings(std::int64_t minimum) {
    return {.estimator = Short<E>::settings(minimum),
            .at_least = 2,
            .at_least_for = 0ns,
            .least_latency = 0ns,
            .aggregate = Aggregate::median};
  }
};

template <typename E>
class EstimatorLaw : public testing::Test {
 protected:
  static CallSample hostile(std::mt19937_64& random) {
    constexpr std::int64_t worst[] = {std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::min() + 1,
                                      -1,
                                      0,
                                      1,
                                      50,
                                      1'000'000,
                                      365LL * 24 * 3'600 * 1'000'000'000,
                                      std::numeric_limits<std::int64_t>::max() - 1,
                                      std::numeric_limits<std::int64_t>::max()};
    const auto any = [&] {
      return random() % 2 == 0 ? worst[random() % std::size(worst)]
                               : static_cast<std::int64_t>(random() % 100'000'000);
    };
    return {SteadyInstant{std::chrono::nanoseconds{any()}}, std::chrono::nanoseconds{any()}, any(),
            static_cast<CallEnd>(random() % 4)};
  }

  /// Calls as they come, some milliseconds each.
  static CallSample plausible(std::mt19937_64& random, int call) {
    return {SteadyInstant{call * 300us}, (1 + random() % 9) * 1ms,
            1 + static_cast<std::int64_t>(random() % 100),
            random() % 20 == 0 ? CallEnd::dropped : CallEnd::success};
  }
};

using Estimators = testing::Types<Aimd, Vegas, Gradient2, AutoConcurrency, Windowed<Aimd>,
                                  Windowed<Vegas>, Windowed<Gradient2>>;
class Names {
 public:
  template <typename E>
  static std::string GetName(int at) {
    constexpr const char* names[] = {"Aimd",         "Vegas",         "Gradient2",        "Auto",
                                     "WindowedAimd", "WindowedVegas", "WindowedGradient2"};
    return names[at];
  }
};
TYPED_TEST_SUITE(EstimatorLaw, Estimators, Names);

TYPED_TEST(EstimatorLaw, StaysBetweenMinimumAndMaximumWhateverItIsShown) {
  using E = TypeParam;
  std::mt19937_64 random(2);
  for (int round = 0; round < 60; ++round) {
    const std::int64_t minimum = 1 + round % 5 * 20;
    const auto config = configured<E>(Short<E>::settings(minimum));
    typename E::State state;
    ASSERT_EQ(E::limit(config, state), minimum + 3);
    for (int call = 0; call < 1'000; ++call) {
      const bool is_hostile = round % 2 == 0 || call % 100 == 0;
      E::observe(config, state, is_hostile ? this->hostile(random) : this->plausible(random, call));
      ASSERT_GE(E::limit(config, state), minimum) << "round " << round << " call " << call;
      ASSERT_LE(E::limit(config, state), minimum + 77) << "round " << round << " call " << call;
    }
  }
}

TYPED_TEST(EstimatorLaw, AfterHostileSamplesItStillLearns) {
  using E = TypeParam;
  std::mt19937_64 random(3);
  for (int round = 0; round < 20; ++round) {
    const auto config = configured<E>(Short<E>::settings(5));
    typename E::State state;
    for (int call = 0; call < 1'000; ++call) E::observe(config, state, this->hostile(random));
    std::vector<std::int64_t> limits;
    for (int call = 0; call < 20'000; ++call) {
      const std::int64_t limit = E::limit(config, state);
      limits.push_back(limit);
      // 30 at once in 1 ms each, and what is above waits.
      const auto latency = std::max<std::int64_t>(1'000'000, limit * 1'000'000 / 30) * 1ns;
      CallSample sample = success({latency, limit}, SteadyInstant{1h} + call * 1ms / 30);
      if (limit > 60) sample.end = CallEnd::dropped;
      E::observe(config, state, sample);
    }
    const auto [least, most] = std::minmax_element(limits.begin() + 10'000, limits.end());
    EXPECT_LE(*least, 60) << round;
    EXPECT_GE(*most, 20) << round;
  }
}

TYPED_TEST(EstimatorLaw, FailuresAndIgnoredCallsChangeNothing) {
  using E = TypeParam;
  std::mt19937_64 random(4);
  const auto config = configured<E>(Short<E>::settings(5));
  typename E::State state;
  for (int call = 0; call < 2'000; ++call) {
    E::observe(config, state, this->plausible(random, call));
    const typename E::State before = state;
    CallSample sample = this->hostile(random);
    sample.end = call % 2 == 0 ? CallEnd::failure : CallEnd::ignored;
    E::observe(config, state, sample);
    ASSERT_EQ(state, before);
  }
}

TYPED_TEST(EstimatorLaw, TheSameSamplesMakeTheSameState) {
  using E = TypeParam;
  const auto config = configured<E>(Short<E>::settings(5));
  typename E::State states[2];
  for (typename E::State& state : states) {
    std::mt19937_64 random(5);
    for (int call = 0; call < 5'000; ++call) {
      E::observe(config, state, this->plausible(random, call));
    }
  }
  EXPECT_EQ(states[0], states[1]);
}

TYPED_TEST(EstimatorLaw, NothingButDropsEndsAtTheMinimum) {
  using E = TypeParam;
  const auto config = configured<E>(Short<E>::settings(5));
  typename E::State state;
  for (int call = 0; call < 2'000; ++call) {
    const std::int64_t before = E::limit(config, state);
    E::observe(config, state, dropped(SteadyInstant{call * 1ms}));
    ASSERT_LE(E::limit(config, state), before);
  }
  EXPECT_EQ(E::limit(config, state), 5);
}

TYPED_TEST(EstimatorLaw, OneLatencyOfAYearIsForgotten) {
  using E = TypeParam;
  const auto config = configured<E>(Short<E>::settings(1));
  typename E::State state;
  E::observe(config, state, success({24h * 365, 4}, SteadyInstant{}));
  for (int call = 0; call < 20'000; ++call) {
    const std::int64_t limit = E::limit(config, state);
    const auto latency = std::max<std::int64_t>(1'000'000, limit * 1'000'000 / 20) * 1ns;
    CallSample sample = success({latency, limit}, SteadyInstant{call * 1ms / 20});
    if (limit > 60) sample.end = CallEnd::dropped;
    E::observe(config, state, sample);
  }
  EXPECT_GE(E::limit(config, state), 9);
  EXPECT_LE(E::limit(config, state), 61);
}

}  // namespace
}  // namespace weir
