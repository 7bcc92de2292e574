// A client that asks less of a backend the less of it the backend takes.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "weir/overload/call.hpp"
#include "weir/overload/chance.hpp"
#include "weir/overload/recent_parts.hpp"
#include "weir/vocabulary.hpp"

namespace weir {

/// Refuses calls to a backend that refuses many, with a probability of
///
///   max(0, (requests - multiplier * accepts) / (requests + 1)), at most `most_refused`
///
/// over the requests of the last window: those refused here and those that came back. All but
/// `dropped` ones are accepts; what was `ignored` is no request. A call in flight is none yet: one
/// that is slow says nothing until it is back.
///
/// Each priority has counts of its own, so that a backend that turns away background calls first
/// is not asked less of what is critical.
///
/// Bound    a backend is tried with at most `multiplier` times what it accepts, or the share of
///          requests that `most_refused` leaves: in the mean, once its ways have lasted a window
/// Recovery where a backend accepts all again, so does this within
///          1 + ceil(log(1 / (1 - most_refused)) / log(multiplier)) windows, in the mean
/// Memory   4.3 KB
/// Cost     constant
/// Source   A. Forero Cuervo, "Handling Overload", in "Site Reliability Engineering", 2016
struct AcceptRatio {
  static constexpr std::size_t most_parts = 64;

  struct Settings {
    /// By priority: 1.1 to 100. A backend is then asked for so many times what it accepts; less
    /// spares it, more notices sooner that it accepts again.
    std::array<double, priorities> multiplier{2, 2, 2, 2};
    /// The largest probability, 0 to 0.999. Without one below 1, a dead backend of a busy client is
    /// tried about once in a window.
    double most_refused = 0.9;
    std::chrono::nanoseconds window = std::chrono::minutes{2};  ///< 1 ms a part, to an hour
    std::size_t parts = 24;                                     ///< of the window; 2 to 64
    std::uint64_t seed = 0;  ///< of the draws; a host replaces 0 by one of its own
  };

  struct Counts {
    std::int64_t requests = 0;
    std::int64_t accepts = 0;
    bool operator==(const Counts&) const = default;
  };
  using Part = std::array<Counts, priorities>;
  using Parts = RecentParts<Part, most_parts>;

  struct Config {
    std::array<double, priorities> multiplier{};
    double most_refused = 0;
    Parts::Shape shape{};
    std::uint64_t seed = 0;
  };

  struct State {
    Parts recent{};
    Part in_window{};
    std::uint64_t random = 0;
  };

  static constexpr Expected<Config, SettingsError> configure(const Settings& wanted) noexcept {
    using namespace std::chrono_literals;
    for (const double multiplier : wanted.multiplier) {
      if (!(multiplier >= 1.1 && multiplier <= 100)) {
        return SettingsError{"multiplier", "1.1 to 100"};
      }
    }
    if (!(wanted.most_refused >= 0 && wanted.most_refused <= 0.999)) {
      return SettingsError{"most_refused", "0 to 0.999"};
    }
    if (wanted.parts < 2 || wanted.parts > most_parts) return SettingsError{"parts", "2 to 64"};
    const auto parts = static_cast<std::int64_t>(wanted.parts);
    if (wanted.window > 1h || wanted.window / parts < 1ms) {
      return SettingsError{"window", "a millisecond for each part, and at most an hour"};
    }
    return Config{
        wanted.multiplier, wanted.most_refused, {wanted.window / parts, wanted.parts}, wanted.seed};
  }

  static State first(const Config& config) noexcept { return {.random = config.seed}; }

  /// The probability that a call is refused now.
  static double refusal(const Config& config, State& state, Priority priority,
                        SteadyInstant now) noexcept {
    advance(config, state, now);
    const std::size_t at = index(priority);
    const auto requests = static_cast<double>(state.in_window[at].requests);
    const auto accepts = static_cast<double>(state.in_window[at].accepts);
    const double wanted = (requests - config.multiplier[at] * accepts) / (requests + 1);
    return std::clamp(wanted, 0.0, config.most_refused);
  }

  /// Draws, and counts the request if it is refused. The probability that refused it, or 0.
  static double refused_at(const Config& config, State& state, Priority priority,
                           SteadyInstant now) noexcept {
    const double probability = refusal(config, state, priority, now);
    if (probability <= 0 || draw(state) >= probability) return 0;
    count(state, priority, {1, 0});
    return probability;
  }

  /// A call that was let in has ended.
  static void end(const Config& config, State& state, Priority priority,
                  const CallSample& sample) noexcept {
    if (sample.end == CallEnd::ignored) return;
    advance(config, state, sample.ended_at);
    count(state, priority, {1, sample.end == CallEnd::dropped ? 0 : 1});
  }

  static Counts counts(const State& state, Priority priority) noexcept {
    return state.in_window[index(priority)];
  }

 private:
  static constexpr std::size_t index(Priority priority) noexcept {
    return static_cast<std::size_t>(priority) % priorities;
  }

  static void advance(const Config& config, State& state, SteadyInstant now) noexcept {
    state.recent.advance(config.shape, now, [&](const Part& gone) {
      for (std::size_t at = 0; at < priorities; ++at) {
        state.in_window[at].requests -= gone[at].requests;
        state.in_window[at].accepts -= gone[at].accepts;
      }
    });
  }

  static void count(State& state, Priority priority, Counts more) noexcept {
    const std::size_t at = index(priority);
    for (Counts* const counts : {&state.recent.current()[at], &state.in_window[at]}) {
      counts->requests += more.requests;
      counts->accepts += more.accepts;
    }
  }

  /// From 0 to below 1.
  static double draw(State& state) noexcept {
    return static_cast<double>(next_random(state.random) >> 11) * 0x1p-53;
  }
};

}  // namespace weir
