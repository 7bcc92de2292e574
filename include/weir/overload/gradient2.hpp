// A concurrency limit that follows how latencies now compare with those of long.
#pragma once

#include "weir/overload/no_load_probe.hpp"

namespace weir {

/// Shrinks with the share by which calls now are slower than calls of long, beyond a tolerance.
///
///   long      average of latencies, each new one a share of 2/601; 5 % less where it is above
///             twice the newest
///   gradient  tolerance * long / latency, from 0.5 to 1; a drop's is 0.5
///   limit     0.8 * limit + 0.2 * (limit * gradient + queue); no queue after a drop
///
/// As it is while less than half of it is in use. Ten calls at first, and then now and then ten
/// that a NoLoadProbe drained the service for, are averaged into what no later average may exceed.
/// It also drains once the limit has doubled: more fit, or the calls of long were slower than need.
///
/// Two things differ from the source. There, the average of long learns from calls that queued, so
/// that a steady overload becomes the norm and the limit climbs to its maximum; here it stays at
/// what was measured, and in a service that can do C at once the limit settles where latencies are
/// tolerance times that: at tolerance * C + queue. And there, drops change nothing.
///
/// Bound   from minimum to maximum
/// Memory  88 bytes
/// Source  Netflix concurrency-limits, Gradient2Limit
struct Gradient2 {
  struct Settings {
    std::int64_t minimum = 20;
    std::int64_t initial = 20;
    std::int64_t maximum = 200;
    double tolerance = 1.5;  ///< by how much latencies may rise; from 1 to 100
    double queue = 4;        ///< calls that may queue even so; from 0 to the maximum
    double smoothing = 0.2;  ///< how much a new sample weighs; above 0, to 1
  };

  struct Config {
    Settings settings;
  };

  struct State {
    double limit = 0;           ///< 0: the initial one
    double long_latency = 0;    ///< ns
    double highest_long = 0;    ///< ns, as measured; 0: not yet
    std::int64_t measured = 0;  ///< calls that the measure under way has averaged
    double sum = 0;             ///< of theirs, ns
    NoLoadProbe probe{};
    bool operator==(const State&) const = default;
  };

  static constexpr Expected<Config, SettingsError> configure(const Settings& wanted) noexcept {
    if (const SettingsError wrong = wrong_range(wanted); wrong.setting) return wrong;
    if (!(wanted.tolerance >= 1 && wanted.tolerance <= 100)) {
      return SettingsError{"tolerance", "from 1 to 100"};
    }
    if (!(wanted.queue >= 0 && wanted.queue <= static_cast<double>(wanted.maximum))) {
      return SettingsError{"queue", "from 0 to the maximum"};
    }
    if (!(wanted.smoothing > 0 && wanted.smoothing <= 1)) {
      return SettingsError{"smoothing", "above 0, to 1"};
    }
    return Config{wanted};
  }

  static constexpr void observe(const Config& config, State& state,
                                const CallSample& sample) noexcept {
    if (!tells_of_load(sample.end)) return;
    const Settings& settings = config.settings;
    if (state.limit == 0) state.limit = static_cast<double>(settings.initial);
    if (sample.end == CallEnd::dropped) {
      move(config, state, state.limit * least_gradient);
      return;
    }
    const double latency = latency_of(sample);
    const auto whole = static_cast<std::int64_t>(state.limit);
    state.probe.count(whole);
    const bool grown = state.highest_long != 0 && whole >= 2 * state.probe.measured_under;
    if (grown && !state.probe.draining) state.probe.drain();
    if (state.probe.draining) {
      const bool overdue = state.probe.overdue(whole);
      if (sample.in_flight > limit(config, state) && !overdue) return;
      measure(state, latency);
      if (state.measured == calls_measured || overdue) finish(state);
      return;
    }
    learn(state, latency);
    if (!in_use(sample, state.limit)) return;
    const double ratio = settings.tolerance * state.long_latency / latency;
    move(config, state, state.limit * std::clamp(ratio, least_gradient, 1.0) + settings.queue);
  }

  static constexpr std::int64_t limit(const Config& config, const State& state) noexcept {
    const auto limit = static_cast<std::int64_t>(state.limit);
    return state.probe.in_force(limit == 0 ? config.settings.initial : limit, config.settings);
  }

 private:
  static constexpr double least_gradient = 0.5;
  static constexpr std::int64_t calls_measured = 10;

  static constexpr void move(const Config& config, State& state, double to) noexcept {
    const Settings& settings = config.settings;
    const double smooth = state.limit * (1 - settings.smoothing) + to * settings.smoothing;
    state.limit = std::clamp(smooth, static_cast<double>(settings.minimum),
                             static_cast<double>(settings.maximum));
  }

  static constexpr void measure(State& state, double latency) noexcept {
    ++state.measured;
    state.sum += latency;
    state.long_latency = state.sum / static_cast<double>(state.measured);
  }

  static constexpr void finish(State& state) noexcept {
    state.highest_long = state.long_latency;
    state.measured = 0;
    state.sum = 0;
    state.probe.measured(static_cast<std::int64_t>(state.limit));
  }

  static constexpr void learn(State& state, double latency) noexcept {
    if (state.highest_long == 0) {
      measure(state, latency);
      if (state.measured == calls_measured) finish(state);
    } else {
      constexpr double share = 2.0 / 601;
      const double average = state.long_latency * (1 - share) + latency * share;
      state.long_latency = std::min(average, state.highest_long);
    }
    if (state.long_latency > 2 * latency) {
      state.long_latency *= 0.95;
      if (state.highest_long != 0) state.highest_long = state.long_latency;
    }
  }
};
static_assert(Estimator<Gradient2>);

}  // namespace weir
