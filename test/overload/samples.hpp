// Calls that ended, as short as tests want to write them.
#pragma once

#include <chrono>

#include "weir/overload/estimator.hpp"

namespace weir {

/// A configuration that the test knows to be good.
template <Estimator E>
typename E::Config configured(const typename E::Settings& settings) {
  return E::configure(settings).value();
}

/// Which setting is refused; "" if none is.
template <Estimator E>
std::string_view refused(const typename E::Settings& settings) {
  const auto config = E::configure(settings);
  return config ? "" : config.error().setting;
}

struct Taking {
  std::chrono::nanoseconds latency;
  std::int64_t in_flight;
};

inline CallSample success(Taking taking, SteadyInstant ended_at = {}) {
  return {ended_at, taking.latency, taking.in_flight, CallEnd::success};
}

inline CallSample dropped(SteadyInstant ended_at = {}) {
  return {ended_at, std::chrono::milliseconds{1}, 1, CallEnd::dropped};
}

}  // namespace weir
