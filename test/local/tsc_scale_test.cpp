#include "weir/local/tsc_scale.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "test/local/counter_machine.hpp"

namespace weir {
namespace {

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000 * us;
constexpr std::int64_t second = 1'000 * ms;
constexpr std::int64_t year = std::int64_t{365} * 24 * 3'600 * second;

/// One thread that reads the clock as time passes, and looks that it never goes back.
class Reader {
 public:
  explicit Reader(CounterMachine& machine) : machine_(machine), scale_(machine.calibrated()) {}

  std::int64_t read() {
    if (!scale_.line().covers(machine_.tsc)) scale_.follow(machine_.reading());
    const std::int64_t told = scale_.line().at(machine_.tsc);
    EXPECT_GE(told, last_);
    last_ = told;
    return told;
  }
  std::int64_t ahead() { return read() - machine_.steady_ns; }

  /// The furthest from the steady clock while `ns` pass.
  std::int64_t worst_over(std::int64_t ns) {
    std::int64_t worst = 0;
    for (std::int64_t passed = 0; passed < ns; passed += 100 * us) {
      machine_.pass(100 * us);
      worst = std::max(worst, std::abs(ahead()));
    }
    return worst;
  }

  const TscScale& scale() const { return scale_; }

 private:
  CounterMachine& machine_;
  TscScale scale_;
  std::int64_t last_ = 0;
};

TEST(TscScale, TellsTheTimeOfTheSteadyClock) {
  CounterMachine machine;
  Reader reader(machine);
  EXPECT_EQ(reader.read(), machine.steady_ns);
  EXPECT_LE(reader.worst_over(5 * second), 2);
}

TEST(TscScale, RenewsItsLineAfterTenMillisecondsThenAHundredThenEachSecond) {
  CounterMachine machine;
  Reader reader(machine);
  std::vector<std::int64_t> lengths;
  for (std::uint64_t begin = 0; lengths.size() < 4; machine.pass(10 * us)) {
    reader.read();
    const TscLine& line = reader.scale().line();
    if (line.begin != begin) lengths.push_back((line.end_ns() - line.base_ns + us / 2) / us);
    begin = line.begin;
  }
  EXPECT_EQ(lengths, (std::vector<std::int64_t>{10'000, 100'000, 1'000'000, 1'000'000}));
}

TEST(TscScale, NeverGoesBackOverTenMillionReadingsOfWhichNoneIsExact) {
  CounterMachine machine;
  TscScale scale = machine.calibrated();
  std::mt19937_64 random(1);
  std::int64_t last = 0;
  std::int64_t worst = 0;
  int renewed = 0;
  for (int at = 0; at < 10'000'000; ++at) {
    machine.pass(static_cast<std::int64_t>(random() % 2'000));
    if (!scale.line().covers(machine.tsc)) {
      TscReading reading = machine.reading();
      reading.steady_ns += static_cast<std::int64_t>(random() % 1'000) - 500;
      scale.follow(reading);
      ++renewed;
    }
    const std::int64_t told = scale.line().at(machine.tsc);
    ASSERT_GE(told, last);
    last = told;
    worst = std::max(worst, std::abs(told - machine.steady_ns));
  }
  EXPECT_TRUE(scale.trusts_counter());
  EXPECT_GE(renewed, 10);
  EXPECT_LE(worst, 25 * us);  // 25 widths of 1 us
}

TEST(TscScale, FollowsASteadyClockThatRunsFaster) {
  CounterMachine machine;
  Reader reader(machine);
  reader.worst_over(3 * second);
  machine.steady_ppm = 200;
  EXPECT_LE(reader.worst_over(second), 201 * us);
  reader.worst_over(2 * second);
  EXPECT_LE(reader.worst_over(3 * second), us);
  EXPECT_TRUE(reader.scale().trusts_counter());
}

TEST(TscScale, FollowsASteadyClockThatRunsSlower) {
  CounterMachine machine;
  Reader reader(machine);
  reader.worst_over(3 * second);
  machine.steady_ppm = -200;
  EXPECT_LE(reader.worst_over(second), 201 * us);
  // What it is ahead by at the end of the line it gives back over the next.
  EXPECT_LE(reader.worst_over(2 * second), 201 * us);
  EXPECT_LE(reader.worst_over(3 * second), us);
  EXPECT_TRUE(reader.scale().trusts_counter());
}

TEST(TscScale, ALineThatBeginsAheadMeetsTheSteadyClockAtItsEnd) {
  CounterMachine machine;
  TscScale scale = machine.calibrated();
  machine.pass(10 * ms);
  machine.steady_ns -= 10 * us;
  const std::int64_t last_end = scale.line().end_ns();
  scale.follow(machine.reading());
  EXPECT_EQ(scale.line().base_ns, last_end);
  EXPECT_NEAR(static_cast<double>(scale.line().base_ns - machine.steady_ns), 10e3, 1);
  EXPECT_NEAR(static_cast<double>(scale.line().end_ns() - machine.steady_ns), 100e6, 20e3 / 100);
}

TEST(TscScale, ALineThatWouldBeginBehindStepsForward) {
  CounterMachine machine;
  TscScale scale = machine.calibrated();
  machine.pass(10 * ms);
  machine.steady_ns += 10 * us;
  scale.follow(machine.reading());
  EXPECT_EQ(scale.line().base_ns, machine.steady_ns);
}

TEST(TscScale, ACounterThatJumpsAheadPutsTimeAheadBySecondsAtMostAndIsCaughtUpWith) {
  for (const std::uint64_t jump : {std::uint64_t{1} << 30, std::uint64_t{1} << 40,
                                   std::uint64_t{1} << 62, std::uint64_t{1} << 63}) {
    CounterMachine machine;
    Reader reader(machine);
    reader.worst_over(3 * second);
    machine.tsc += jump;
    EXPECT_LE(reader.worst_over(2 * second + 200 * ms), second) << jump;
    EXPECT_LE(reader.worst_over(3 * second), us) << jump;
  }
}

TEST(TscScale, ACounterThatJumpsBackPutsTimeAheadByASecondAtMostAndIsCaughtUpWith) {
  for (const std::uint64_t jump : {std::uint64_t{1} << 33, std::uint64_t{1} << 62}) {
    CounterMachine machine{.tsc = std::uint64_t{1} << 62};
    Reader reader(machine);
    reader.worst_over(3 * second);
    machine.tsc -= jump;
    EXPECT_LE(reader.worst_over(2 * second + 200 * ms), second) << jump;
    EXPECT_LE(reader.worst_over(3 * second), us) << jump;
  }
}

TEST(TscScale, ACounterThatStoodIsSteppedOverWithinASecond) {
  CounterMachine machine;
  Reader reader(machine);
  reader.worst_over(3 * second);
  machine.steady_ns += 3'600 * second;
  for (int at = 0; at < 1'001; ++at) {
    machine.pass(ms);
    reader.read();
  }
  EXPECT_LE(std::abs(reader.ahead()), us);
  EXPECT_LE(reader.worst_over(3 * second), us);
}

TEST(TscScale, AfterAJumpALineLastsTenMillisecondsAgain) {
  for (const std::int64_t stood : {0 * second, 3'600 * second}) {
    CounterMachine machine;
    Reader reader(machine);
    reader.worst_over(3 * second);
    machine.steady_ns += stood;
    machine.tsc += stood == 0 ? std::uint64_t{1} << 40 : 0;
    const std::uint64_t before = reader.scale().line().begin;
    while (reader.scale().line().begin == before) {
      machine.pass(us);
      reader.read();
    }
    EXPECT_LE(reader.scale().line().length, machine.ticks_a_us * 10'000);
  }
}

TEST(TscScale, ACounterThatJumpsTenTimesIsTrustedNoMore) {
  CounterMachine machine;
  Reader reader(machine);
  for (int jump = 1; jump <= TscScale::jumps_max; ++jump) {
    EXPECT_TRUE(reader.scale().trusts_counter());
    reader.worst_over(30 * ms);
    machine.tsc += std::uint64_t{1} << 40;
    reader.read();
  }
  EXPECT_FALSE(reader.scale().trusts_counter());
}

TEST(TscScale, ALongRestIsNoJump) {
  CounterMachine machine{.ticks_a_us = 100};
  Reader reader(machine);
  for (const std::int64_t rest : {11 * ms, second, 3'600 * second, year}) {
    machine.pass(rest);
    EXPECT_EQ(reader.read(), machine.steady_ns) << rest;
  }
  EXPECT_LE(reader.worst_over(3 * second), 2);
  EXPECT_TRUE(reader.scale().trusts_counter());
}

TEST(TscScale, WhereTheCounterBeginsDoesNotMatter) {
  CounterMachine from_zero;
  CounterMachine over_the_sign{.tsc = (std::uint64_t{1} << 63) - 1'000'000'000};
  CounterMachine over_the_end{.tsc = 0 - std::uint64_t{1'000'000'000}};
  Reader reader(from_zero);
  Reader signed_reader(over_the_sign);
  Reader wrapped_reader(over_the_end);
  for (int at = 0; at < 30'000; ++at) {
    for (CounterMachine* machine : {&from_zero, &over_the_sign, &over_the_end}) {
      machine->pass(100 * us);
    }
    const std::int64_t told = reader.read();
    ASSERT_EQ(signed_reader.read(), told);
    ASSERT_EQ(wrapped_reader.read(), told);
  }
}

TEST(TscScale, HoldsACenturyAndAnyUsualCounter) {
  for (const std::uint64_t ticks_a_us : {std::uint64_t{1}, std::uint64_t{24}, std::uint64_t{800},
                                         std::uint64_t{2'300}, std::uint64_t{6'000}}) {
    CounterMachine machine{.steady_ns = 100 * year, .ticks_a_us = ticks_a_us};
    Reader reader(machine);
    EXPECT_EQ(reader.read(), machine.steady_ns);
    EXPECT_LE(reader.worst_over(3 * second), 10 * us) << ticks_a_us;
  }
}

TEST(TscScale, CalibrationRefusesWhatIsNoSteadyCounter) {
  const auto calibrates = [](TscReading first, TscReading middle, TscReading last) {
    return TscScale::calibrate({first, middle, last}).has_value();
  };
  EXPECT_TRUE(calibrates({0, 0}, {1'000'000, 500'000}, {2'000'000, 1'000'000}));
  EXPECT_TRUE(calibrates({0, 0}, {1'000'000, 500'000}, {2'000'900, 1'000'000}));
  EXPECT_FALSE(calibrates({0, 0}, {1'000'000, 500'000}, {2'001'100, 1'000'000}));
  EXPECT_FALSE(calibrates({0, 0}, {1'000'000, 500'000}, {1'998'900, 1'000'000}));
  EXPECT_FALSE(calibrates({0, 0}, {1'000'000, 500'000}, {1'000'000, 1'000'000}));
  EXPECT_FALSE(calibrates({0, 0}, {1'000'000, 500'000}, {0, 1'000'000}));
  EXPECT_FALSE(calibrates({0, 0}, {1'000'000, 500'000}, {2'000'000, 500'000}));
  EXPECT_FALSE(calibrates({0, 0}, {0, 500'000}, {0, 1'000'000}));
}

}  // namespace
}  // namespace weir
