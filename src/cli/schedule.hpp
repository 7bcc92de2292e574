// When the calls of a simulation come.
#pragma once

#include <vector>

#include "cli/input.hpp"

namespace weir::cli {

/// Calls that follow each other at an even pace; every 0: at one instant.
struct Calls {
  Instant first_at{};
  Span every{0};
  std::int64_t count = 1;

  Instant last_at() const noexcept { return first_at + every * (count - 1); }
  bool operator==(const Calls&) const = default;
};

/// In order of time: each begins where the one before it has ended, or later.
using Schedule = std::vector<Calls>;

/// One run of calls. Fails where the last of them lies beyond longest_span.
Expected<Schedule, InputError> even_schedule(const Calls& calls);

/// COUNT@DURATION, separated by blanks or commas and in any order: "15@0s 1@4s".
Expected<Schedule, InputError> read_calls(const Input& input);

}  // namespace weir::cli
