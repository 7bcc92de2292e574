// A concurrency limit that grows by one a call and shrinks by a share a drop.
#pragma once

#include "weir/overload/estimator.hpp"

namespace weir {

/// Additive increase, multiplicative decrease: the law of congestion control in its plainest form.
///
///   dropped, or slower than the timeout   limit = floor(limit * backoff_ratio)
///   success, half of the limit in use     limit = limit + 1
///
/// It needs no latency to compare with, so none can be wrong; but it learns by failing: until calls
/// time out or are dropped, it grows. By itself each dropped call lowers it, and one bad moment
/// that drops many takes it to the minimum; Windowed makes one step of them.
///
/// Bound   from minimum to maximum
/// Memory  8 bytes
/// Source  Netflix concurrency-limits, AIMDLimit
struct Aimd {
  struct Settings {
    std::int64_t minimum = 20;
    std::int64_t initial = 20;
    std::int64_t maximum = 200;
    double backoff_ratio = 0.9;  ///< of the limit, after a drop; from 0.5, below 1
    std::chrono::nanoseconds timeout = std::chrono::seconds{5};  ///< what is slower is a drop
  };

  struct Config {
    Settings settings;
  };

  struct State {
    std::int64_t limit = 0;  ///< 0: the initial one
    bool operator==(const State&) const = default;
  };

  static constexpr Expected<Config, SettingsError> configure(const Settings& wanted) noexcept {
    if (const SettingsError wrong = wrong_range(wanted); wrong.setting) return wrong;
    if (!(wanted.backoff_ratio >= 0.5 && wanted.backoff_ratio < 1)) {
      return SettingsError{"backoff_ratio", "from 0.5, below 1"};
    }
    if (wanted.timeout <= std::chrono::nanoseconds{0}) {
      return SettingsError{"timeout", "more than zero"};
    }
    return Config{wanted};
  }

  static constexpr void observe(const Config& config, State& state,
                                const CallSample& sample) noexcept {
    if (!tells_of_load(sample.end)) return;
    const Settings& settings = config.settings;
    std::int64_t limit = Aimd::limit(config, state);
    if (sample.end == CallEnd::dropped || sample.latency > settings.timeout) {
      limit = static_cast<std::int64_t>(static_cast<double>(limit) * settings.backoff_ratio);
    } else if (in_use(sample, static_cast<double>(limit))) {
      ++limit;
    }
    state.limit = std::clamp(limit, settings.minimum, settings.maximum);
  }

  static constexpr std::int64_t limit(const Config& config, const State& state) noexcept {
    return state.limit == 0 ? config.settings.initial : state.limit;
  }
};
static_assert(Estimator<Aimd>);

}  // namespace weir
