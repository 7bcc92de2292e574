// Many calls made one sample, for an estimator that would follow each of them.
#pragma once

#include <array>

#include "weir/overload/estimator.hpp"

namespace weir {

/// What stands for the latencies of a window.
enum class Aggregate : std::uint8_t { average, median, p90, p99 };

/// Shows an estimator one sample a window: latencies averaged, or a percentile of them; the most
/// that were in flight; dropped if one call of the window was. So the estimator moves a step a
/// window whatever the traffic, single slow or lucky calls weigh little, and a burst of drops is
/// one drop.
///
/// A window ends once it lasted long enough and holds enough samples. Successes below the least
/// latency are not counted: they come from a cache, or were answered by an error page. Where all
/// calls are faster, nothing is learnt: set it to zero. A percentile is one of 100 of the window's
/// latencies, drawn by chance where there are more.
///
/// Two things differ from the source. There, a window that has too few samples when its time is up
/// is thrown away, so that a limit of ten calls a second or fewer never moves; here it goes on. And
/// there, a call that was dropped at once is passed over as too fast.
///
/// Bound   the estimator's
/// Memory  840 bytes more than the estimator
/// Source  Netflix concurrency-limits, WindowedLimit
template <Estimator E>
struct Windowed {
  static_assert(!CountingEstimator<E>, "an estimator that counts calls has windows of its own");

  struct Settings {
    typename E::Settings estimator{};
    std::int64_t at_least = 10;  ///< samples; from 1 to 1000000
    std::chrono::nanoseconds at_least_for = std::chrono::seconds{1};  ///< from zero to an hour
    std::chrono::nanoseconds least_latency = std::chrono::microseconds{100};  ///< zero or more
    Aggregate aggregate = Aggregate::average;
  };

  struct Config {
    typename E::Config estimator;
    std::int64_t at_least;
    std::chrono::nanoseconds at_least_for;
    std::chrono::nanoseconds least_latency;
    Aggregate aggregate;
  };

  struct State {
    typename E::State estimator{};
    SteadyInstant begun_at{};
    std::int64_t samples = 0;
    std::int64_t successes = 0;  ///< among them
    std::int64_t most_in_flight = 0;
    double sum = 0;  ///< of the latencies, ns
    std::array<double, 100> drawn{};
    std::uint64_t seed = 1;
    bool operator==(const State&) const = default;
  };

  static constexpr Expected<Config, SettingsError> configure(const Settings& wanted) noexcept {
    const auto estimator = E::configure(wanted.estimator);
    if (!estimator) return estimator.error();
    if (wanted.at_least < 1 || wanted.at_least > 1'000'000) {
      return SettingsError{"at_least", "from 1 to 1000000"};
    }
    constexpr std::chrono::nanoseconds none{0};
    if (wanted.at_least_for < none || wanted.at_least_for > std::chrono::hours{1}) {
      return SettingsError{"at_least_for", "from zero to an hour"};
    }
    if (wanted.least_latency < none) return SettingsError{"least_latency", "zero or more"};
    return Config{*estimator, wanted.at_least, wanted.at_least_for, wanted.least_latency,
                  wanted.aggregate};
  }

  static constexpr void observe(const Config& config, State& state,
                                const CallSample& sample) noexcept {
    if (!tells_of_load(sample.end)) return;
    const bool success = sample.end == CallEnd::success;
    if (success && sample.latency < config.least_latency) return;
    if (state.samples == 0 || sample.ended_at < state.begun_at) state.begun_at = sample.ended_at;
    if (success) keep(state, latency_of(sample));
    ++state.samples;
    state.most_in_flight = std::max(state.most_in_flight, sample.in_flight);
    if (state.samples < config.at_least) return;
    if (elapsed(state.begun_at, sample.ended_at) < config.at_least_for) return;
    const CallEnd end = state.successes < state.samples ? CallEnd::dropped : CallEnd::success;
    const auto latency = static_cast<std::int64_t>(latency_of_window(config, state));
    E::observe(config.estimator, state.estimator,
               {sample.ended_at, std::chrono::nanoseconds{latency}, state.most_in_flight, end});
    state.samples = state.successes = state.most_in_flight = 0;
    state.sum = 0;
  }

  static constexpr std::int64_t limit(const Config& config, const State& state) noexcept {
    return E::limit(config.estimator, state.estimator);
  }

 private:
  static constexpr void keep(State& state, double latency) noexcept {
    constexpr auto room = static_cast<std::int64_t>(std::tuple_size_v<decltype(state.drawn)>);
    std::int64_t place = state.successes;
    ++state.successes;
    state.sum += latency;
    if (place >= room) {
      const auto so_far = static_cast<std::uint64_t>(state.successes);
      place = static_cast<std::int64_t>(next_random(state.seed) % so_far);
    }
    if (place < room) state.drawn[static_cast<std::size_t>(place)] = latency;
  }

  static constexpr double latency_of_window(const Config& config, const State& state) noexcept {
    if (state.successes == 0) return 0;
    if (config.aggregate == Aggregate::average) {
      return state.sum / static_cast<double>(state.successes);
    }
    constexpr std::size_t percents[] = {0, 50, 90, 99};
    const std::size_t percent = percents[static_cast<std::size_t>(config.aggregate)];
    auto sorted = state.drawn;
    const std::size_t kept = std::min(sorted.size(), static_cast<std::size_t>(state.successes));
    const auto place = static_cast<std::ptrdiff_t>((percent * kept + 99) / 100 - 1);
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(kept);
    std::nth_element(sorted.begin(), sorted.begin() + place, end);
    return sorted[static_cast<std::size_t>(place)];
  }
};

}  // namespace weir
