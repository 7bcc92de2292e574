// A made-up machine: a time stamp counter and a steady clock that go as a test wants.
#pragma once

#include <cstdint>

#include "weir/local/tsc_scale.hpp"

namespace weir {

struct CounterMachine {
  std::uint64_t tsc = 0;
  std::int64_t steady_ns = 5'000'000'000;
  std::uint64_t ticks_a_us = 2'300;
  std::int64_t steady_ppm = 0;  ///< how much faster the steady clock runs
  std::int64_t spent_ns = 0;

  void pass(std::int64_t ns) {
    // Whole spans from the beginning, so that no rests are lost.
    const auto ticks = [&](std::int64_t at) {
      return static_cast<std::uint64_t>(at) * ticks_a_us / 1'000;
    };
    const auto gained = [&](std::int64_t at) { return at / 1'000 * steady_ppm / 1'000; };
    tsc += ticks(spent_ns + ns) - ticks(spent_ns);
    steady_ns += ns + gained(spent_ns + ns) - gained(spent_ns);
    spent_ns += ns;
  }

  TscReading reading() const { return {tsc, steady_ns, 0}; }

  TscScale calibrated() {
    TscScale::Calibration readings;
    readings.first = reading();
    pass(200'000);
    readings.middle = reading();
    pass(200'000);
    readings.last = reading();
    return TscScale::calibrate(readings).value();
  }
};

}  // namespace weir
