// A concurrency limit that keeps a short queue, which it reads off latencies.
#pragma once

#include "weir/overload/no_load_probe.hpp"

namespace weir {

/// Keeps a few calls queued in the service: as many as it takes to know that it is busy.
///
///   queue                          ceil(limit * (1 - no_load / latency))
///   step                           floor(log10(limit)), at least 1
///   dropped, or queue > 6 * step   limit = limit - step
///   queue <= step                  limit = limit + 6 * step
///   queue < 3 * step               limit = limit + step
///   else                           as it is; so too while less than half of it is in use
///
/// no_load is the least latency since it was last measured, by a NoLoadProbe. Until a queue above
/// 6 * step is met for the first time, the limit doubles instead whenever more than half of it is
/// in use; then it gives back all of the queue but 3 * step.
///
/// Three things differ from the source. There, a probe takes any latency for the new no_load, with
/// the queue in it, and each lets the next queue be longer. There, a start from 20 takes 6 a sample
/// even where hundreds fit. And there, a call that was turned away at once counts as a latency.
///
/// Bound   from minimum to maximum
/// Memory  72 bytes
/// Source  Netflix concurrency-limits, VegasLimit, after TCP Vegas
struct Vegas {
  struct Settings {
    std::int64_t minimum = 1;
    std::int64_t initial = 20;
    std::int64_t maximum = 1000;
  };

  struct Config {
    Settings settings;
  };

  struct State {
    std::int64_t limit = 0;  ///< 0: the initial one
    double no_load = 0;      ///< ns; 0: not measured
    bool met_a_queue = false;
    NoLoadProbe probe{};
    bool operator==(const State&) const = default;
  };

  static constexpr Expected<Config, SettingsError> configure(const Settings& wanted) noexcept {
    if (const SettingsError wrong = wrong_range(wanted); wrong.setting) return wrong;
    return Config{wanted};
  }

  static constexpr void observe(const Config& config, State& state,
                                const CallSample& sample) noexcept {
    if (!tells_of_load(sample.end)) return;
    if (state.limit == 0) state.limit = config.settings.initial;
    if (sample.end == CallEnd::dropped) {
      state.met_a_queue = true;
      change(config, state, -step(state.limit));
      return;
    }
    const double latency = latency_of(sample);
    state.probe.count(state.limit);
    if (state.probe.draining) {
      if (sample.in_flight > limit(config, state) && !state.probe.overdue(state.limit)) return;
      state.probe.measured(state.limit);
      state.no_load = latency;
    } else if (state.no_load == 0 || latency < state.no_load) {
      state.no_load = latency;
    } else {
      adjust(config, state, {sample, latency});
    }
  }

  static constexpr std::int64_t limit(const Config& config, const State& state) noexcept {
    const std::int64_t limit = state.limit == 0 ? config.settings.initial : state.limit;
    return state.probe.in_force(limit, config.settings);
  }

 private:
  struct Measured {
    const CallSample& sample;
    double latency;
  };

  static constexpr std::int64_t step(std::int64_t limit) noexcept {
    std::int64_t digits = 0;
    for (; limit >= 10; limit /= 10) ++digits;
    return std::max<std::int64_t>(digits, 1);
  }

  static constexpr void change(const Config& config, State& state, std::int64_t by) noexcept {
    state.limit = std::clamp(state.limit + by, config.settings.minimum, config.settings.maximum);
  }

  static constexpr void adjust(const Config& config, State& state, const Measured& call) noexcept {
    const auto limit = static_cast<double>(state.limit);
    if (!in_use(call.sample, limit)) return;
    const double queued = limit * (1 - state.no_load / call.latency);
    auto queue = static_cast<std::int64_t>(queued);
    if (static_cast<double>(queue) < queued) ++queue;
    const std::int64_t step = Vegas::step(state.limit);
    if (!state.met_a_queue && queue > 6 * step) {
      state.met_a_queue = true;
      change(config, state, 3 * step - queue);
    } else if (!state.met_a_queue) {
      // Calls let in under the limit before it doubled say nothing yet about this one.
      if (call.sample.in_flight > state.limit / 2) change(config, state, state.limit);
    } else if (queue <= step) {
      change(config, state, 6 * step);
    } else if (queue < 3 * step) {
      change(config, state, step);
    } else if (queue > 6 * step) {
      change(config, state, -step);
    }
  }
};
static_assert(Estimator<Vegas>);

}  // namespace weir
