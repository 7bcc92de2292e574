// Lengths of time as people write them: 250ms, 1.5s, 10m, "2 hours".
#pragma once

#include <string>
#include <string_view>

#include "weir/vocabulary.hpp"

namespace weir {

/// The start of `text` that was read as a length of time, and what it says.
struct ReadSpan {
  Span span;
  std::size_t length;  ///< characters read
};

/// Why no length of time could be read.
enum class DurationError : std::uint8_t {
  no_unit,      ///< no us, ms, s, m, h, d (or the words) where one must stand
  not_whole,    ///< finer than a microsecond
  out_of_range  ///< above longest_span
};

/// Reads [number] unit from the start of `text`; a missing number is 1. The number may have
/// decimals as long as the result is whole microseconds. Units: us ms s m h d, or the words from
/// "microsecond" to "days", "sec" and "min".
Expected<ReadSpan, DurationError> read_duration(std::string_view text);

/// Reads all of `text` as a length of time that begins with a number ("250ms", "0s").
Expected<Span, DurationError> parse_duration(std::string_view text);

/// The shortest exact form: 1000000us is "1s", 90s is "90s", 0 is "0s".
std::string print_duration(Span span);

const char* describe(DurationError error) noexcept;

}  // namespace weir
