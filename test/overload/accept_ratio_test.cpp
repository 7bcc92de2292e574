#include "weir/overload/accept_ratio.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr SteadyInstant start{std::chrono::hours(1'000)};

struct Client {
  AcceptRatio::Config config;
  AcceptRatio::State state;

  explicit Client(const AcceptRatio::Settings& settings = {})
      : config(AcceptRatio::configure(settings).value()), state(AcceptRatio::first(config)) {}

  double refusal(SteadyInstant now, Priority priority = Priority::normal) {
    return AcceptRatio::refusal(config, state, priority, now);
  }
  bool refuses(SteadyInstant now, Priority priority = Priority::normal) {
    return AcceptRatio::refused_at(config, state, priority, now) > 0;
  }
  void end(SteadyInstant now, CallEnd how, Priority priority = Priority::normal) {
    AcceptRatio::end(config, state, priority, {.ended_at = now, .end = how});
  }
  AcceptRatio::Counts counts(Priority priority = Priority::normal) const {
    return AcceptRatio::counts(state, priority);
  }
};

TEST(AcceptRatioTest, IsTheFormulaAfterEveryStep) {
  for (const double multiplier : {1.1, 1.5, 2.0, 10.0}) {
    std::mt19937 random(3);
    Client client({.multiplier = {multiplier, multiplier, multiplier, multiplier},
                   .most_refused = 0.999,
                   .window = 1h});
    double requests = 0;
    double accepts = 0;
    for (int step = 0; step < 3'000; ++step) {
      const double wanted = (requests - multiplier * accepts) / (requests + 1);
      ASSERT_DOUBLE_EQ(client.refusal(start), std::min(0.999, std::max(0.0, wanted))) << step;
      const auto how = static_cast<CallEnd>(random() % 4);
      if (client.refuses(start)) {
        requests += 1;
        continue;
      }
      client.end(start, how);
      if (how == CallEnd::ignored) continue;
      requests += 1;
      if (how != CallEnd::dropped) accepts += 1;
    }
  }
}

TEST(AcceptRatioTest, LetsAllInWhileNothingIsDropped) {
  Client client;
  for (int call = 0; call < 10'000; ++call) {
    ASSERT_FALSE(client.refuses(start + 1ms * call));
    client.end(start + 1ms * call, call % 2 == 0 ? CallEnd::success : CallEnd::failure);
  }
}

TEST(AcceptRatioTest, CallsInFlightAreNoRequests) {
  Client client;
  for (int call = 0; call < 10'000; ++call) ASSERT_FALSE(client.refuses(start));
  EXPECT_EQ(client.counts(), AcceptRatio::Counts{});
}

TEST(AcceptRatioTest, RefusesAsOftenAsItSays) {
  Client client({.most_refused = 0.7, .window = 1h, .seed = 5});
  for (int call = 0; call < 1'000; ++call) client.end(start, CallEnd::dropped);
  int refused = 0;
  for (int call = 0; call < 100'000; ++call) refused += client.refuses(start) ? 1 : 0;
  EXPECT_NEAR(refused, 70'000, 5 * std::sqrt(100'000 * 0.7 * 0.3));
}

TEST(AcceptRatioTest, DrawsTheSameFromTheSameSeed) {
  const auto draws = [](std::uint64_t seed) {
    Client client({.seed = seed});
    for (int call = 0; call < 100; ++call) client.end(start, CallEnd::dropped);
    std::string all;
    for (int call = 0; call < 200; ++call) all += client.refuses(start) ? 'r' : '.';
    return all;
  };
  EXPECT_EQ(draws(1), draws(1));
  EXPECT_NE(draws(1), draws(2));
}

TEST(AcceptRatioTest, ForgetsWhatIsOlderThanTheWindow) {
  Client client({.window = 10s, .parts = 10});
  for (int second = 0; second < 5; ++second) {
    client.end(start + 1s * second, CallEnd::dropped);
    client.end(start + 1s * second, CallEnd::success);
  }
  (void)client.refusal(start + 10s - 1ns);
  EXPECT_EQ(client.counts(), (AcceptRatio::Counts{10, 5}));
  (void)client.refusal(start + 10s);
  EXPECT_EQ(client.counts(), (AcceptRatio::Counts{8, 4}));
  (void)client.refusal(start + 15s);
  EXPECT_EQ(client.counts(), AcceptRatio::Counts{});
}

TEST(AcceptRatioTest, KeepsPrioritiesApart) {
  Client client({.multiplier = {2, 2, 2, 1.1}});
  for (int call = 0; call < 1'000; ++call) {
    client.end(start, CallEnd::dropped, Priority::background);
    client.end(start, call % 4 == 0 ? CallEnd::dropped : CallEnd::success, Priority::critical);
  }
  EXPECT_EQ(client.refusal(start, Priority::critical), 0);
  EXPECT_EQ(client.refusal(start, Priority::normal), 0);
  EXPECT_EQ(client.refusal(start, Priority::background), 0.9);
}

/// Takes so many calls a second, evenly spread.
class Backend {
 public:
  explicit Backend(double takes_per_s) : takes_per_s_(takes_per_s) {}

  void pass(double seconds) { room_ = std::min(2.0, room_ + seconds * takes_per_s_); }
  bool takes() {
    if (room_ < 1) return false;
    room_ -= 1;
    return true;
  }

 private:
  double takes_per_s_;
  double room_ = 0;
};

TEST(AcceptRatioTest, ABackendThatTakesAShareOfTheRateIsAskedForItsMultiple) {
  for (const double multiplier : {1.1, 1.5, 2.0}) {
    for (const double taken_per_s : {15.0, 30.0, 60.0}) {
      Client client({.multiplier = {multiplier, multiplier, multiplier, multiplier},
                     .window = 10s,
                     .seed = 1});
      Backend backend{taken_per_s};
      double asked = 0;
      for (int call = 0; call < 20'000; ++call) {  // the last minute is counted
        const SteadyInstant now = start + 10ms * call;
        backend.pass(0.01);
        if (client.refuses(now)) continue;
        if (call >= 14'000) asked += 1;
        client.end(now, backend.takes() ? CallEnd::success : CallEnd::dropped);
      }
      const double wanted = std::min(6'000.0, std::max(600.0, multiplier * taken_per_s * 60));
      EXPECT_LE(asked, wanted * 1.08 + 60) << multiplier << " x " << taken_per_s;
      // Drawn calls come in knots, which a backend without a queue turns away: a multiplier near
      // 1 leaves some of it unused.
      if (multiplier >= 1.5) {
        EXPECT_GE(asked, wanted * 0.8) << multiplier << " x " << taken_per_s;
      }
    }
  }
}

TEST(AcceptRatioTest, LetsAllInAgainWithinTheBoundAfterTheBackendHeals) {
  for (const double most_refused : {0.5, 0.9, 0.99}) {
    for (const double multiplier : {1.5, 2.0, 4.0}) {
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        Client client({.multiplier = {multiplier, multiplier, multiplier, multiplier},
                       .most_refused = most_refused,
                       .window = 10s,
                       .seed = seed});
        SteadyInstant now = start;
        for (int call = 0; call < 100'000; ++call, now += 1ms) {  // ten windows of nothing
          if (!client.refuses(now)) client.end(now, CallEnd::dropped);
        }
        const double windows =
            1 + std::ceil(std::log(1 / (1 - most_refused)) / std::log(multiplier));
        const SteadyInstant healed_at =
            now + std::chrono::duration_cast<std::chrono::nanoseconds>(10s * windows);
        for (; now < healed_at; now += 1ms) {
          if (!client.refuses(now)) client.end(now, CallEnd::success);
        }
        EXPECT_EQ(client.refusal(now), 0) << most_refused << " " << multiplier << " " << seed;
      }
    }
  }
}

TEST(AcceptRatioTest, TakesWhatIsHostile) {
  Client client({.window = 2ms, .parts = 2});
  const SteadyInstant instants[] = {SteadyInstant::min(), SteadyInstant::max(), start,
                                    SteadyInstant{}, start - 1h};
  std::mt19937 random(9);
  for (int step = 0; step < 20'000; ++step) {
    const auto priority = static_cast<Priority>(random() % 256);
    (void)client.refuses(instants[random() % 5], priority);
    client.end(instants[random() % 5], static_cast<CallEnd>(random() % 4), priority);
    const double refusal = client.refusal(instants[random() % 5], priority);
    ASSERT_TRUE(refusal >= 0 && refusal <= 0.9);
    ASSERT_GE(client.counts().accepts, 0);
    ASSERT_GE(client.counts().requests, client.counts().accepts);
  }
}

TEST(AcceptRatioTest, SaysWhichSettingIsNoGood) {
  const auto error = [](const AcceptRatio::Settings& settings) -> std::string {
    const auto config = AcceptRatio::configure(settings);
    return config ? "" : config.error().setting;
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({.multiplier = {2, 2, 2, 1}}), "multiplier");
  EXPECT_EQ(error({.multiplier = {101, 2, 2, 2}}), "multiplier");
  EXPECT_EQ(error({.multiplier = {2, nan, 2, 2}}), "multiplier");
  EXPECT_EQ(error({.most_refused = -0.1}), "most_refused");
  EXPECT_EQ(error({.most_refused = 1}), "most_refused");
  EXPECT_EQ(error({.most_refused = nan}), "most_refused");
  EXPECT_EQ(error({.window = 23ms}), "window");
  EXPECT_EQ(error({.window = -1h}), "window");
  EXPECT_EQ(error({.window = 61min}), "window");
  EXPECT_EQ(error({.parts = 1}), "parts");
  EXPECT_EQ(error({.parts = 65}), "parts");
}

}  // namespace
}  // namespace weir
