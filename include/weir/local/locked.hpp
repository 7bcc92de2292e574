// Any algorithm's state under a lock.
#pragma once

#include <algorithm>
#include <chrono>

#include "weir/local/host.hpp"

namespace weir {

/// Keeps a state as its algorithm left it, in ticks of one microsecond.
template <Algorithm M>
class LockedState {
 public:
  using Machine = M;
  using Config = typename M::Config;

  explicit LockedState(Config config) : config_(std::move(config)) {}

  const Config& config() const noexcept { return config_; }

  static Instant ticks(SteadyInstant now) noexcept {
    return Instant{std::chrono::floor<Span>(now.time_since_epoch())};
  }
  static SteadyInstant steady(Instant tick) noexcept {
    return SteadyInstant{std::min(tick.time_since_epoch(), latest)};
  }
  static Span span(std::chrono::nanoseconds length) noexcept {
    return std::clamp(std::chrono::floor<Span>(length), Span{0}, longest_span);
  }

  void open(Line<M>&) noexcept {}
  void close(Line<M>&, SteadyInstant) noexcept {}

  template <typename Tell>
  void reconfigure(Line<M>& line, Instant now, const Config& to, Inherit how, Tell&& tell) {
    line.reconfigure(
        to, now,
        [&](const typename M::State& state) {
          return inherit<M>({config_, state, now}, {to, now}, how);
        },
        [](Instant instant) { return instant; }, tell);
    config_ = to;
  }

 private:
  static constexpr Span latest = std::chrono::floor<Span>(SteadyInstant::max().time_since_epoch());

  Config config_;
};

/// Keeps one algorithm, from its own settings.
template <Algorithm M>
class TypedState : public LockedState<M> {
 public:
  using LockedState<M>::LockedState;
  using Settings = typename M::Settings;
  using Config = typename M::Config;

  static Expected<Config, ConfigError> configure(const Settings& settings) {
    return M::configure(settings);
  }
  static typename M::State first(const Settings& settings, const Config& config,
                                 SteadyInstant now) {
    if constexpr (requires { M::first(settings, config, LockedState<M>::ticks(now)); }) {
      return M::first(settings, config, LockedState<M>::ticks(now));
    } else {
      return {};
    }
  }
};

}  // namespace weir
