// The words that all protection from overload shares: a call, how urgent it is, how it ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "weir/steady_instant.hpp"

namespace weir {

/// How a call that was let in ended.
enum class CallEnd : std::uint8_t {
  success,  ///< answered: its latency tells how loaded the service is
  failure,  ///< answered with an error: counts against a breaker; its latency tells nothing
  dropped,  ///< timed out, or turned away for want of room: the service is asked for too much
  ignored,  ///< tells nothing: cancelled by its caller, say, or answered from a cache
};

constexpr const char* name(CallEnd end) noexcept {
  constexpr const char* names[] = {"success", "failure", "dropped", "ignored"};
  return names[static_cast<std::uint8_t>(end)];
}

/// What matters least is turned away first.
enum class Priority : std::uint8_t {
  critical,  ///< users would notice, and may always use all there is
  normal,
  sheddable,   ///< may be late or be asked for again: prefetching, retries
  background,  ///< nobody waits for it
};
inline constexpr std::size_t priorities = 4;

/// A call that asks to be let in.
struct Entry {
  std::int64_t weight = 1;  ///< of what the service can do at once; >= 1
  Priority priority = Priority::normal;
};

/// One call that has ended, as estimators and breakers see it.
struct CallSample {
  SteadyInstant ended_at{};
  std::chrono::nanoseconds latency{};  ///< from where it was let in; >= 0
  std::int64_t in_flight = 1;          ///< calls in flight when it was let in, itself among them
  CallEnd end = CallEnd::success;
};

/// Which setting is no good, and what is expected of it: {"minimum", "from 1 to the maximum"}.
struct SettingsError {
  const char* setting;
  const char* expected;
  bool operator==(const SettingsError&) const = default;
};

}  // namespace weir
