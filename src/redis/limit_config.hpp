// A limit as the one argument that the scripts are given.
#pragma once

#include <chrono>
#include <string>

#include "weir/limit.hpp"

namespace weir::redis {

/// Why a limit cannot be kept in a store.
enum class Unstorable : std::uint8_t {
  starts_short,  ///< `initial` below the burst: a key that expires would start anew
  too_fine,      ///< the interval has more than 2^52 parts of a tick: a sum could pass 2^53
};

constexpr const char* describe(Unstorable error) noexcept {
  constexpr const char* texts[] = {
      "starts with fewer tokens than its burst; in a store each key starts full",
      "needs finer fractions than 2^52; choose a count that shares factors with the period",
  };
  return texts[static_cast<std::uint8_t>(error)];
}

/// How long requests may wait where nobody says otherwise.
inline constexpr Span usual_slack = std::chrono::seconds{60};

/// The longest patience that a request under the limit is granted: the usual slack, or what its own
/// queues need.
Span slack_of(const Limit::Machine::Config& config, Span slack = usual_slack);

/// The limit's config text: its machine's letter, the slack, its numbers. The slack is the longest
/// patience that a request is granted; it is raised to what the limit's own queues need. A state
/// further ahead than any such grant is pulled back (decision 0012).
///
///   t SLACK whole rest parts burst      token bucket: an interval, and units at once
///   l SLACK whole rest parts burst      leaky bucket: burst is queue + 1
///   f SLACK limit period                fixed window
///   w SLACK limit part counted          sliding window
///   o SLACK limit period                sliding log
///   c SLACK limit lease                 concurrency
///   k SLACK limit unit zone             calendar window
///   m SLACK n {penalty letter number...}...  n terms
///
/// A unit is 0 for a minute to 5 for a year. A zone is one word, integers with commas: the offset
/// at first, how many changes there are, of each its second and the offset from then on; then,
/// where two come each year, the first such year and twice month, week, weekday, time and offset.
///
/// Requires 0 <= slack <= longest_span.
Expected<std::string, Unstorable> config_text(const Limit& limit, Span slack = usual_slack);

/// The same of numbers that came without a limit's text (CL.THROTTLE's).
Expected<std::string, Unstorable> config_text(const Limit::Machine::Config& config,
                                              Span slack = usual_slack);

}  // namespace weir::redis
