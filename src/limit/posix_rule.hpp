// What a zone's clocks do in the years behind its last written change: the TZ of POSIX.
#pragma once

#include <optional>
#include <string_view>

#include "weir/algorithm/time_zone.hpp"

namespace weir {

struct PosixRule {
  std::optional<TimeZone::Yearly> yearly;  ///< none: what the clock shows stays; no year is set
};

/// Reads "CET-1CEST,M3.5.0,M10.5.0/3", "<+01>-1" or nothing at all. None where the text is neither,
/// or names days otherwise than by month, week and weekday (no zone does today).
std::optional<PosixRule> read_posix_rule(std::string_view text);

}  // namespace weir
