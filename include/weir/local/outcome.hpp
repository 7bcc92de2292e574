// What a limiter in this process answers.
#pragma once

#include <cstdint>

#include "weir/steady_instant.hpp"
#include "weir/vocabulary.hpp"

namespace weir {

/// Who refused, where nothing was taken.
enum class Refusal : std::uint8_t {
  none,
  limit,      ///< it would be taken at ready_at, or never (impossible)
  line_full,  ///< as many wait as may, and who would be served last is turned away
  stopped,    ///< the caller was stopped while it waited, and its place was given back
  timed_out,  ///< the same, when its time was over
};

/// The answer to one request. True where it was taken.
struct [[nodiscard]] Outcome {
  Verdict verdict = Verdict::denied;
  Refusal refusal = Refusal::limit;
  SteadyInstant ready_at{};  ///< as a Decision's; SteadyInstant::max() is never

  explicit constexpr operator bool() const noexcept { return taken(verdict); }
  /// How long after `now` to ask again, or to act; never negative.
  constexpr std::chrono::nanoseconds wait(SteadyInstant now) const noexcept {
    return ready_at > now ? ready_at - now : std::chrono::nanoseconds{0};
  }
  bool operator==(const Outcome&) const = default;
};

/// What a limiter would answer, and how it stands.
struct [[nodiscard]] Standing {
  Outcome outcome;
  Cost limit = 0;            ///< the most that is granted at one instant
  Cost remaining = 0;        ///< what is left of it now
  SteadyInstant reset_at{};  ///< from then on as if never used
};

}  // namespace weir
