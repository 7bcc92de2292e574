// What an estimator is: it says from calls that ended how many should be in flight at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>

#include "weir/overload/call.hpp"
#include "weir/overload/chance.hpp"
#include "weir/overload/elapsed.hpp"
#include "weir/vocabulary.hpp"

namespace weir {

/// A machine that learns how many calls a service can have in flight. It enforces nothing: a host
/// shows it each call that ended and holds a gate to its limit (local/adaptive.hpp).
///
///   configure  every setting is checked here, once
///   observe    a call ended. Success tells by its latency, and dropped lowers the limit; failure
///              and ignored tell nothing and change nothing: how soon an error comes says little
///              of the load. Total: no sample, however wrong, breaks the state
///   limit      a whole number from the minimum to the maximum
///
/// The default state has seen nothing. The same samples make the same limit: what is drawn at
/// random comes of a seed in the state.
template <typename E>
concept Estimator = std::copyable<typename E::Config> && std::regular<typename E::State> &&
    requires(const typename E::Settings& settings, const typename E::Config& config,
             const typename E::State& state, typename E::State& changed, const CallSample& sample) {
  { E::configure(settings) } -> std::same_as<Expected<typename E::Config, SettingsError>>;
  { E::observe(config, changed, sample) } -> std::same_as<void>;
  { E::limit(config, state) } -> std::same_as<std::int64_t>;
};

/// An estimator that counts calls, so that it has to be told of successes it was not shown.
template <typename E>
concept CountingEstimator = Estimator<E> &&
    requires(const typename E::Config& config, typename E::State& state, std::int64_t successes) {
  { E::count_unseen(config, state, successes) } -> std::same_as<void>;
};

/// No estimator lets more be in flight.
inline constexpr std::int64_t largest_limit = 1'000'000;

/// A limit of 0 is expected by nobody: nothing would end any more, and nothing be learnt.
template <typename Settings>
constexpr SettingsError wrong_range(const Settings& wanted) noexcept {
  if (wanted.minimum < 1) return {"minimum", "1 or more"};
  if (wanted.maximum < wanted.minimum || wanted.maximum > largest_limit) {
    return {"maximum", "from the minimum to 1000000"};
  }
  if (wanted.initial < wanted.minimum || wanted.initial > wanted.maximum) {
    return {"initial", "from the minimum to the maximum"};
  }
  return {nullptr, nullptr};
}

/// Whether this end tells an estimator anything.
constexpr bool tells_of_load(CallEnd end) noexcept {
  return end == CallEnd::success || end == CallEnd::dropped;
}

/// A latency in nanoseconds that can be divided by: 1 ns at least, and an hour at most, so that no
/// single call outweighs all others for good.
constexpr double latency_of(const CallSample& sample) noexcept {
  constexpr std::chrono::nanoseconds least{1};
  constexpr std::chrono::nanoseconds most = std::chrono::hours{1};
  return static_cast<double>(std::clamp(sample.latency, least, most).count());
}

/// Whether at least half of the limit was in use. If it was not, that nothing queued says nothing
/// about a higher limit.
constexpr bool in_use(const CallSample& sample, double limit) noexcept {
  return static_cast<double>(sample.in_flight) * 2 >= limit;
}

/// From 0.5 up to, not including, 1: limits that were started together do not probe together.
constexpr double next_jitter(std::uint64_t& seed) noexcept {
  return 0.5 + static_cast<double>(next_random(seed) >> 12) * 0x1p-53;
}

}  // namespace weir
