// A concurrency limit by Little's law: the no-load latency times the most that the service did.
#pragma once

#include "weir/overload/estimator.hpp"

namespace weir {

/// Little's law says how many calls are in a service that does `rate` of them at `latency` each.
/// With the latency that calls have while none queues, and the most that the service ever did, this
/// is how many it can work on at once; some more are let in to find out whether it can do more.
///
///   limit    ceil(least * most * (1 + explore))
///   least    average latency of a window, a tenth of the way down to it if it is lower
///   most     successes per time of a window; if it did less, a hundredth of the way down to that
///   explore  from 0.06 to 0.3; 0.02 more after a window without a queue (latency at most 6 % above
///            the least, or rate below most / 1.06), 0.02 less after another
///
/// A window is 200 samples, or those of a second once they are 100. A sample is taken each 0.1 ms
/// at most; all successes count for the rate. The latency of dropped calls is put on those that
/// succeeded; a window of nothing else halves the limit.
///
/// Each 25 to 50 s least and most are measured anew: the limit is 0.9 * least * most for twice the
/// latency of now, so that the queue is gone, and the next window begins them. brpc's argument:
/// least only falls, so a service that became slower looks overloaded for good, and without
/// unloading it no law that compares latencies can tell a queue from slow work. If the new least
/// is 3 % lower, the old one held a queue, and so may this: it is measured once more at once, now
/// under 0.75 * least * most.
///
/// What differs from the source. There, fractions of a call are cut off, so that a limit of 3
/// stays 3 and one below 1 lets nobody in again, and there is no maximum. There, a window that
/// used little of the limit lowers it to what was used, and the next burst is turned away though
/// the service idles; here a limit of which less than half was in use stays, and if it is time,
/// that window is the measure. There, a second of fewer than 100 samples is forgotten, and below
/// that rate nothing is ever learnt. There, most outlives the measuring, and is multiplied with a
/// least that went up: a limit as many times too high, for a hundred windows. And there, a queue
/// in the least goes a tenth at a time, 25 to 50 s apart.
///
/// Bound   from minimum to maximum
/// Memory  152 bytes
/// Source  Apache brpc, auto_concurrency_limiter
struct AutoConcurrency {
  struct Settings {
    std::int64_t minimum = 1;  ///< in the source, how many threads the server has
    std::int64_t initial = 40;
    std::int64_t maximum = 1000;
    std::chrono::nanoseconds window_for = std::chrono::seconds{1};  ///< from 1 ms to an hour
    std::int64_t window_at_least = 100;  ///< samples, or it goes on; 2 or more
    std::int64_t window_at_most = 200;   ///< samples, then it ends; at least as many
    /// From half of this to this; from window_for to a day.
    std::chrono::nanoseconds remeasure_after = std::chrono::seconds{50};
  };

  struct Config {
    Settings settings;
  };

  /// What a window has gathered.
  struct Window {
    std::int64_t sampled = 0;    ///< successes
    std::int64_t dropped = 0;    ///< sampled too
    std::int64_t successes = 0;  ///< all of them
    std::int64_t most_in_flight = 0;
    double latencies = 0;  ///< ns, in sum, of those that were sampled
    bool operator==(const Window&) const = default;
  };

  struct State {
    std::int64_t limit = 0;   ///< 0: the initial one
    double least = 0;         ///< ns; 0: not measured
    double least_before = 0;  ///< what it was before the drain
    double most = 0;          ///< calls per ns
    double explore_less = 0;  ///< than the highest share
    bool begun = false;
    bool draining = false;
    SteadyInstant latest_at{};    ///< latest sample
    SteadyInstant sampled_at{};   ///< last one that was not passed over
    SteadyInstant window_at{};    ///< begin of the window
    SteadyInstant measured_at{};  ///< last measure anew
    SteadyInstant drain_at{};     ///< begin of the drain
    std::chrono::nanoseconds measure_after{};
    std::chrono::nanoseconds drain_for{};
    Window window{};
    /// Two limits with one seed measure anew at the same time; give each process its own.
    std::uint64_t seed = 1;
    bool operator==(const State&) const = default;
  };

  static constexpr Expected<Config, SettingsError> configure(const Settings& wanted) noexcept {
    if (const SettingsError wrong = wrong_range(wanted); wrong.setting) return wrong;
    if (wanted.window_for < std::chrono::milliseconds{1} ||
        wanted.window_for > std::chrono::hours{1}) {
      return SettingsError{"window_for", "from 1 ms to an hour"};
    }
    if (wanted.window_at_least < 2) return SettingsError{"window_at_least", "2 or more"};
    if (wanted.window_at_most < wanted.window_at_least) {
      return SettingsError{"window_at_most", "window_at_least or more"};
    }
    if (wanted.remeasure_after < wanted.window_for ||
        wanted.remeasure_after > std::chrono::hours{24}) {
      return SettingsError{"remeasure_after", "from window_for to a day"};
    }
    return Config{wanted};
  }

  static constexpr void observe(const Config& config, State& state,
                                const CallSample& sample) noexcept {
    if (!tells_of_load(sample.end)) return;
    const SteadyInstant before = state.begun ? state.latest_at : sample.ended_at;
    follow(config, state, sample.ended_at);
    // It came upon nothing in flight: that rest is no time in which more could have been done.
    if (sample.in_flight <= 1) {
      const auto since = elapsed(before, state.latest_at);
      state.window_at += since - std::clamp(sample.latency, std::chrono::nanoseconds{0}, since);
    }
    if (state.draining) {
      if (elapsed(state.drain_at, state.latest_at) < state.drain_for) return;
      begin_anew(config, state);
    }
    Window& window = state.window;
    window.most_in_flight = std::max(window.most_in_flight, sample.in_flight);
    if (sample.end == CallEnd::success) count_unseen(config, state, 1);
    const bool first = window.sampled + window.dropped == 0;
    if (!first && elapsed(state.sampled_at, state.latest_at) < sampling_interval) return;
    state.sampled_at = state.latest_at;
    window.latencies += latency_of(sample);
    ++(sample.end == CallEnd::success ? window.sampled : window.dropped);
    end_window_if_due(config, state);
  }

  /// So many more succeeded, unseen.
  static constexpr void count_unseen(const Config&, State& state, std::int64_t successes) noexcept {
    constexpr std::int64_t most = std::int64_t{1} << 53;
    std::int64_t& counted = state.window.successes;
    counted += std::clamp<std::int64_t>(successes, 0, most - counted);
  }

  static constexpr std::int64_t limit(const Config& config, const State& state) noexcept {
    return state.limit == 0 ? config.settings.initial : state.limit;
  }

 private:
  static constexpr std::chrono::nanoseconds sampling_interval = std::chrono::microseconds{100};
  static constexpr std::chrono::nanoseconds late_at_most = std::chrono::milliseconds{100};
  static constexpr double least_explore = 0.06;
  static constexpr double most_explore = 0.3;
  static constexpr double explore_step = 0.02;
  static constexpr double drained_share = 0.9;
  static constexpr double drained_further_share = 0.75;
  static constexpr double lower_share = 0.97;
  static constexpr double latency_share = 0.1;
  static constexpr double rate_share = 0.01;

  static constexpr void set_limit(const Config& config, State& state, double to) noexcept {
    const auto minimum = static_cast<double>(config.settings.minimum);
    const auto maximum = static_cast<double>(config.settings.maximum);
    const double within = std::clamp(to, minimum, maximum);
    state.limit = static_cast<std::int64_t>(within);
    if (static_cast<double>(state.limit) < within) ++state.limit;
  }

  static constexpr void begin_window(State& state) noexcept {
    state.window = {};
    state.window_at = state.latest_at;
  }

  /// A sample may be late, seen after one that ended later. If it is too late for that, the clock
  /// was set back: what was gathered by another time is forgotten.
  static constexpr void follow(const Config& config, State& state, SteadyInstant now) noexcept {
    if (!state.begun) {
      state.begun = true;
      state.latest_at = state.window_at = state.measured_at = now;
      state.measure_after = drawn(config, state);
    } else if (elapsed(now, state.latest_at) > late_at_most) {
      state.latest_at = now;
      state.measured_at = std::min(state.measured_at, now);
      state.drain_at = std::min(state.drain_at, now);
      begin_window(state);
    } else {
      state.latest_at = std::max(state.latest_at, now);
    }
  }

  static constexpr std::chrono::nanoseconds drawn(const Config& config, State& state) noexcept {
    const auto most = static_cast<double>(config.settings.remeasure_after.count());
    return std::chrono::nanoseconds{static_cast<std::int64_t>(most * next_jitter(state.seed))};
  }

  static constexpr void begin_anew(const Config& config, State& state) noexcept {
    state.draining = false;
    state.least = 0;
    state.most = 0;
    state.measured_at = state.latest_at;
    state.measure_after = drawn(config, state);
    begin_window(state);
  }

  static constexpr void end_window_if_due(const Config& config, State& state) noexcept {
    const Settings& settings = config.settings;
    const std::int64_t samples = state.window.sampled + state.window.dropped;
    const bool long_enough = elapsed(state.window_at, state.latest_at) >= settings.window_for;
    if (samples < (long_enough ? settings.window_at_least : settings.window_at_most)) return;
    if (state.window.sampled == 0) {
      set_limit(config, state, static_cast<double>(limit(config, state)) / 2);
    } else {
      judge(config, state);
    }
    begin_window(state);
  }

  static constexpr void judge(const Config& config, State& state) noexcept {
    const Window& window = state.window;
    const auto current = static_cast<double>(limit(config, state));
    const bool used = static_cast<double>(window.most_in_flight) * 2 >= current;
    const double latency = window.latencies / static_cast<double>(window.sampled);
    const auto length = elapsed(state.window_at, state.latest_at).count();
    const double rate = static_cast<double>(window.successes) /
                        static_cast<double>(std::max<std::int64_t>(length, 1));
    const bool held_a_queue = state.least == 0 && latency < state.least_before * lower_share;
    if (state.least == 0) {
      state.least = latency;
    } else if (latency < state.least) {
      state.least += (latency - state.least) * latency_share;
    }
    if (rate >= state.most) {
      state.most = rate;
    } else if (used) {
      state.most += (rate - state.most) * rate_share;
    }
    if (held_a_queue || elapsed(state.measured_at, state.latest_at) >= state.measure_after) {
      measure_anew(config, state,
                   {latency, rate, held_a_queue ? drained_further_share : drained_share, used});
      return;
    }
    const bool no_queue =
        latency <= state.least * (1 + least_explore) || rate <= state.most / (1 + least_explore);
    state.explore_less = std::clamp(state.explore_less + (no_queue ? -explore_step : explore_step),
                                    0.0, most_explore - least_explore);
    const double explore = most_explore - state.explore_less;
    if (used) set_limit(config, state, state.least * state.most * (1 + explore));
  }

  struct Seen {
    double latency;
    double rate;
    double drained_share;  ///< of what fits, to let in meanwhile
    bool used;
  };

  static constexpr void measure_anew(const Config& config, State& state, Seen seen) noexcept {
    state.least_before = state.least;
    if (!seen.used) {
      begin_anew(config, state);
      state.least = seen.latency;
      state.most = seen.rate;
      return;
    }
    const double twice = 2 * seen.latency;
    const auto longest = static_cast<double>(config.settings.remeasure_after.count());
    state.draining = true;
    state.drain_at = state.latest_at;
    state.drain_for = std::chrono::nanoseconds{static_cast<std::int64_t>(std::min(twice, longest))};
    set_limit(config, state, state.least * state.most * seen.drained_share);
  }
};
static_assert(CountingEstimator<AutoConcurrency>);

}  // namespace weir
