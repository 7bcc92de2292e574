#include "weir/overload/load_shedder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace weir {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Room = LoadShedder::Room;

constexpr SteadyInstant start{std::chrono::hours(1'000)};
constexpr LoadLevels busy_cpu{.machine_cpu = 800};
constexpr Entry normal{};
constexpr Entry background{.priority = Priority::background};

/// A machine that is told readings as they are.
struct Shedder {
  LoadShedder::Config config;
  LoadShedder::State state{};

  explicit Shedder(LoadShedder::Settings settings = {.above = busy_cpu, .smooth_over = 0ns})
      : config(LoadShedder::configure(settings).value()) {}

  void cpu(std::int32_t per_mille, SteadyInstant now) {
    LoadShedder::observe(config, state, {.machine_cpu = per_mille}, now);
  }
  bool refuses(const Entry& entry, SteadyInstant now) {
    return LoadShedder::refuses(config, state, entry, now);
  }
  void enter(SteadyInstant now, std::int64_t weight = 1) { LoadShedder::enter(state, weight, now); }
  void end(SteadyInstant now, nanoseconds latency, CallEnd how = CallEnd::success) {
    LoadShedder::end(config, state, 1, {.ended_at = now, .latency = latency, .end = how});
  }
  LoadShedder::Capacity capacity(SteadyInstant now) {
    return LoadShedder::capacity(config, state, now);
  }
};

TEST(LoadShedderTest, RefusesNothingWhileNoReadingIsAboveItsLevel) {
  Shedder shedder;
  shedder.cpu(800, start);
  for (int call = 0; call < 100'000; ++call) {
    ASSERT_FALSE(shedder.refuses(background, start + 1us * call)) << call;
    shedder.enter(start + 1us * call);
    if (call % 3 == 0) shedder.end(start + 1us * call, 1ms);
    if (call == 50'000) shedder.cpu(640, start + 1us * call);
  }
}

/// What the machine must say, reckoned anew from all calls that ever ended.
class Oracle {
 public:
  explicit Oracle(const LoadShedder::Config& config) : config_(config) {}

  void ended(SteadyInstant now, nanoseconds latency) { calls_.push_back({number(now), latency}); }

  /// Without looking again.
  double capacity(SteadyInstant now) const {
    struct Sum {
      double calls = 0;
      double seconds = 0;
    };
    std::vector<Sum> parts(config_.shape.parts);
    for (const auto& [part, latency] : calls_) {
      const std::int64_t back = number(now) - part;
      if (back >= static_cast<std::int64_t>(parts.size())) continue;
      parts[static_cast<std::size_t>(back)].calls += 1;
      parts[static_cast<std::size_t>(back)].seconds +=
          std::chrono::duration<double>(latency).count();
    }
    const auto capacity_of = [&](std::size_t first) {
      double most = 0;
      for (std::size_t at = 0; at < parts.size(); ++at) most = std::max(most, parts[at].calls);
      double most_of_complete = 0;
      for (std::size_t at = 1; at < parts.size(); ++at) {
        most_of_complete = std::max(most_of_complete, parts[at].calls);
      }
      double least = 0;
      for (std::size_t at = first; at < parts.size(); ++at) {
        const double enough = at == 0 ? most : most_of_complete;
        if (parts[at].calls == 0 || parts[at].calls * 8 < enough) continue;
        const double mean = parts[at].seconds / parts[at].calls;
        if (least == 0 || mean < least) least = mean;
      }
      return most / std::chrono::duration<double>(config_.shape.part).count() * least;
    };
    return capacity_of(0);
  }

 private:
  struct Call {
    std::int64_t part;
    nanoseconds latency;
  };
  std::int64_t number(SteadyInstant now) const {
    return now.time_since_epoch() / config_.shape.part;
  }

  const LoadShedder::Config& config_;
  std::vector<Call> calls_;
};

TEST(LoadShedderTest, RefusesExactlyWhatIsBeyondTheCapacityOfTheWindow) {
  int refused = 0;
  int let_in = 0;
  for (const unsigned seed : {1U, 2U, 3U}) {
    std::mt19937 random(seed);
    Shedder shedder({.above = busy_cpu, .window = 400ms, .parts = 4});
    shedder.cpu(900, start);
    Oracle oracle(shedder.config);
    SteadyInstant now = start;
    std::int64_t in_flight = 0;
    for (int step = 0; step < 3'000; ++step) {
      now += 1us * (random() % 4'000);
      if (in_flight > 0 && random() % 2 == 0) {
        const nanoseconds latency = 1us * (1'000 + random() % 20'000);
        shedder.end(now, latency);
        oracle.ended(now, latency);
        --in_flight;
        continue;
      }
      const LoadShedder::Capacity able = shedder.capacity(now);
      if (able.room == Room::known) {
        ASSERT_NEAR(able.weight, oracle.capacity(now), 1e-6) << "seed " << seed << " " << step;
      }
      const double most =
          shedder.state.looks_again ? able.weight / 2 : able.weight + 3 * std::sqrt(able.weight);
      const bool beyond =
          able.room == Room::known && in_flight > 1 && static_cast<double>(in_flight) > most;
      ASSERT_EQ(shedder.refuses(normal, now), beyond) << "seed " << seed << " step " << step;
      if (beyond) {
        ++refused;
        // A storm of calls that are refused leaves what is in flight as it is.
        ASSERT_TRUE(shedder.refuses(normal, now));
      } else {
        ++let_in;
        shedder.enter(now);
        ++in_flight;
      }
      ASSERT_EQ(shedder.state.in_flight, in_flight);
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(let_in, 1'000);
}

TEST(LoadShedderTest, RefusesWhatMattersLessWheneverItRefusesWhatMattersMore) {
  std::mt19937 random(5);
  Shedder shedder({.above = {.load_per_core = 2'000, .machine_cpu = 700, .cpu_pressure = 300},
                   .share = {1'300, 1'000, 800, 500},
                   .smooth_over = 0ns,
                   .window = 100ms,
                   .parts = 5});
  SteadyInstant now = start;
  std::array<int, priorities> refused{};
  for (int step = 0; step < 20'000; ++step) {
    now += 1us * (random() % 500);
    if (step % 20 == 0) {
      const auto reading = [&] { return static_cast<std::int32_t>(random() % 1'000); };
      LoadShedder::observe(
          shedder.config, shedder.state,
          {.load_per_core = 2 * reading(), .machine_cpu = reading(), .cpu_pressure = reading() / 2},
          now);
    }
    bool before = false;
    for (const Priority priority :
         {Priority::critical, Priority::normal, Priority::sheddable, Priority::background}) {
      const bool refuses = shedder.refuses({.priority = priority}, now);
      ASSERT_TRUE(refuses || !before) << "step " << step;
      before = refuses;
      refused[static_cast<std::size_t>(priority)] += refuses ? 1 : 0;
    }
    if (random() % 2 == 0) {
      shedder.enter(now);
    } else if (shedder.state.in_flight > 0) {
      shedder.end(now, 1us * (random() % 1'000));
    }
  }
  EXPECT_GT(refused[0], 0);
  EXPECT_GT(refused[3], refused[0]);
}

TEST(LoadShedderTest, NeverShedsWhatIsCriticalUnlessTold) {
  Shedder shedder;
  shedder.cpu(1'000, start);
  for (int call = 0; call < 100; ++call) shedder.enter(start);
  const SteadyInstant stuck = start + 11s;
  EXPECT_TRUE(shedder.refuses(normal, stuck));
  EXPECT_FALSE(shedder.refuses({.priority = Priority::critical}, stuck));
}

TEST(LoadShedderTest, BeginsAboveTheLevelAndEndsAtTheShareBelowIt) {
  Shedder shedder;
  const auto since = [&](Priority priority) {
    return LoadShedder::shedding(shedder.state, priority).since;
  };
  constexpr auto no = SteadyInstant::max();
  shedder.cpu(800, start);
  EXPECT_EQ(since(Priority::normal), no);
  EXPECT_EQ(since(Priority::sheddable), start);  // above 720
  EXPECT_EQ(since(Priority::background), start);
  shedder.cpu(801, start + 1s);
  EXPECT_EQ(since(Priority::normal), start + 1s);
  for (int step = 2; step < 50; ++step) {  // between 720 and 800 nothing changes
    shedder.cpu(721 + step, start + 1s * step);
    ASSERT_EQ(since(Priority::normal), start + 1s);
    ASSERT_EQ(since(Priority::sheddable), start);
  }
  shedder.cpu(720, start + 60s);
  EXPECT_EQ(since(Priority::normal), no);
  EXPECT_EQ(since(Priority::sheddable), start);
  shedder.cpu(648, start + 61s);
  EXPECT_EQ(since(Priority::sheddable), no);
  EXPECT_EQ(since(Priority::background), start);  // above 576
}

TEST(LoadShedderTest, IsSilentOnGaugesThatAreNotThere) {
  Shedder shedder;
  shedder.cpu(1'000, start);
  EXPECT_NE(LoadShedder::shedding(shedder.state, Priority::normal).since, SteadyInstant::max());
  LoadShedder::observe(shedder.config, shedder.state, {.load_per_core = 900'000}, start + 1s);
  EXPECT_EQ(LoadShedder::shedding(shedder.state, Priority::normal).since, SteadyInstant::max());
}

TEST(LoadShedderTest, SmoothsWhatJumpsByTheTimeThatPassed) {
  Shedder shedder({.above = busy_cpu, .smooth_over = 1s});
  shedder.cpu(0, start);
  shedder.cpu(1'000, start + 1s);
  EXPECT_NEAR(shedder.state.readings[1], 1'000 * (1 - std::exp(-1.0)), 1e-6);
  // Read ten times as often it comes to the same.
  Shedder often({.above = busy_cpu, .smooth_over = 1s});
  often.cpu(0, start);
  for (int step = 1; step <= 10; ++step) often.cpu(1'000, start + 100ms * step);
  EXPECT_NEAR(often.state.readings[1], shedder.state.readings[1], 1e-6);
}

TEST(LoadShedderTest, WantsReadingsOnceInEachSpan) {
  Shedder shedder;
  EXPECT_TRUE(LoadShedder::wants_readings(shedder.config, shedder.state, start));
  shedder.cpu(0, start);
  EXPECT_FALSE(LoadShedder::wants_readings(shedder.config, shedder.state, start + 100ms - 1ns));
  EXPECT_FALSE(LoadShedder::wants_readings(shedder.config, shedder.state, start - 1h));
  EXPECT_TRUE(LoadShedder::wants_readings(shedder.config, shedder.state, start + 100ms));
}

TEST(LoadShedderTest, LetsAllInUntilItKnowsAndNoMoreThanTwoOnceNothingComesBack) {
  Shedder shedder;
  shedder.cpu(1'000, start);
  for (int call = 0; call < 1'000; ++call) {
    ASSERT_FALSE(shedder.refuses(normal, start + 9'999'999us));
    shedder.enter(start);
  }
  EXPECT_TRUE(shedder.refuses(normal, start + 10s));
  for (int call = 0; call < 998; ++call) shedder.end(start + 10s, 1ms, CallEnd::dropped);
  EXPECT_TRUE(shedder.refuses(normal, start + 10s));
  shedder.end(start + 10s, 1ms, CallEnd::failure);
  EXPECT_FALSE(shedder.refuses(normal, start + 10s));
}

TEST(LoadShedderTest, HearsOfTheLatencyFromNoPartWithFewCalls) {
  Shedder shedder({.above = busy_cpu, .window = 400ms, .parts = 4});
  const auto count = [&](int calls, SteadyInstant now, nanoseconds latency) {
    for (int call = 0; call < calls; ++call) {
      shedder.enter(now);
      shedder.end(now, latency);
    }
  };
  count(80, start, 10ms);
  count(9, start + 100ms, 1ms);
  EXPECT_NEAR(shedder.capacity(start + 200ms).weight, 8, 1e-9);
  count(10, start + 200ms, 2ms);
  EXPECT_NEAR(shedder.capacity(start + 300ms).weight, 1.6, 1e-9);
}

TEST(LoadShedderTest, CountsWeights) {
  Shedder shedder({.above = busy_cpu, .smooth_over = 0ns, .window = 1s, .parts = 10});
  shedder.cpu(1'000, start);
  for (int call = 0; call < 10; ++call) {
    shedder.enter(start, 4);
    LoadShedder::end(shedder.config, shedder.state, 4,
                     {.ended_at = start, .latency = 20ms, .end = CallEnd::success});
  }
  const LoadShedder::Capacity able = shedder.capacity(start + 100ms);
  EXPECT_EQ(able.room, Room::known);
  EXPECT_NEAR(able.weight, 400 * 0.020, 1e-9);
  shedder.enter(start + 100ms, 17);
  EXPECT_TRUE(shedder.refuses(normal, start + 100ms));  // 8 + 3 * sqrt(8) are 16.5
}

TEST(LoadShedderTest, TakesWhatIsHostile) {
  Shedder shedder({.above = busy_cpu, .window = 2ms, .parts = 2});
  for (const std::int64_t weight : {std::int64_t{0}, std::numeric_limits<std::int64_t>::min()}) {
    shedder.enter(start, weight);
    EXPECT_EQ(shedder.state.in_flight, 1) << "a call is one at least";
    LoadShedder::withdraw(shedder.state, weight);
  }
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t weights[] = {0, -1, most, std::numeric_limits<std::int64_t>::min(), 1};
  const SteadyInstant instants[] = {SteadyInstant::min(), SteadyInstant::max(), start,
                                    SteadyInstant{}, SteadyInstant::min() + 1ns};
  std::mt19937 random(9);
  for (int step = 0; step < 20'000; ++step) {
    const std::int64_t weight = weights[random() % 5];
    const SteadyInstant now = instants[random() % 5];
    const auto reading = static_cast<std::int32_t>(random());
    LoadShedder::observe(shedder.config, shedder.state,
                         {.machine_cpu = reading, .cpu_pressure = reading}, now);
    (void)LoadShedder::wants_readings(shedder.config, shedder.state, now);
    (void)shedder.refuses({.weight = weight}, now);
    shedder.enter(now, weight);
    const nanoseconds latency = random() % 2 == 0 ? nanoseconds::min() : nanoseconds::max();
    LoadShedder::end(shedder.config, shedder.state, weight,
                     {.ended_at = instants[random() % 5], .latency = latency});
    ASSERT_EQ(shedder.state.in_flight, 0);
    ASSERT_TRUE(std::isfinite(shedder.capacity(now).weight));
  }
}

TEST(LoadShedderTest, SaysWhichSettingIsNoGood) {
  const auto error = [](const LoadShedder::Settings& settings) -> std::string {
    const auto config = LoadShedder::configure(settings);
    return config ? "" : config.error().setting;
  };
  constexpr auto never = LoadShedder::never;
  EXPECT_EQ(error({.above = busy_cpu}), "");
  EXPECT_EQ(error({}), "above");
  EXPECT_EQ(error({.above = {.machine_cpu = 0}}), "above");
  EXPECT_EQ(error({.above = {.machine_cpu = 800, .cpu_pressure = 1'000'001}}), "above");
  EXPECT_EQ(error({.above = {.machine_cpu = -1}}), "above");
  EXPECT_EQ(error({.above = busy_cpu, .share = {never, 1'000, 99, 50}}), "share");
  EXPECT_EQ(error({.above = busy_cpu, .share = {never, 10'001, 900, 800}}), "share");
  EXPECT_EQ(error({.above = busy_cpu, .share = {1'000, 1'001, 900, 800}}), "share");
  EXPECT_EQ(error({.above = busy_cpu, .share = {1'000, 1'000, 1'000, never}}), "share");
  EXPECT_EQ(error({.above = busy_cpu, .share = {never, never, never, never}}), "");
  EXPECT_EQ(error({.above = busy_cpu, .until = 0}), "until");
  EXPECT_EQ(error({.above = busy_cpu, .until = 1'001}), "until");
  EXPECT_EQ(error({.above = busy_cpu, .smooth_over = -1ns}), "smooth_over");
  EXPECT_EQ(error({.above = busy_cpu, .smooth_over = 61s}), "smooth_over");
  EXPECT_EQ(error({.above = busy_cpu, .sample_every = 999us}), "sample_every");
  EXPECT_EQ(error({.above = busy_cpu, .sample_every = 2min}), "sample_every");
  EXPECT_EQ(error({.above = busy_cpu, .window = 19ms}), "window");
  EXPECT_EQ(error({.above = busy_cpu, .window = nanoseconds::min()}), "window");
  EXPECT_EQ(error({.above = busy_cpu, .window = 61min}), "window");
  EXPECT_EQ(error({.above = busy_cpu, .parts = 1}), "parts");
  EXPECT_EQ(error({.above = busy_cpu, .parts = 65}), "parts");
}

}  // namespace
}  // namespace weir
