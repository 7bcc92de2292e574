// Integers as RESP spells them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace weir::wire {

/// The integer of one or two digits that `text` spells without a leading zero, if it is one.
inline std::optional<std::int64_t> short_integer(std::string_view text) noexcept {
  const auto digit = [&](std::size_t at) { return static_cast<unsigned>(text[at]) - '0'; };
  if (text.size() == 1 && digit(0) <= 9) return digit(0);
  if (text.size() == 2 && digit(0) - 1 < 9 && digit(1) <= 9) return digit(0) * 10 + digit(1);
  return {};
}

/// The integer that `text` spells, as Redis' own string2ll has it: an optional '-', then digits
/// without a leading zero, and nothing else: no blank, no '+', no "-0". Nothing where the text is
/// otherwise or the number does not fit.
inline std::optional<std::int64_t> strict_integer(std::string_view text) noexcept {
  if (const auto value = short_integer(text)) return value;
  const std::size_t first_digit = text.starts_with('-') ? 1 : 0;
  if (text.size() == first_digit || text[first_digit] < '1' || text[first_digit] > '9') return {};
  std::int64_t value = 0;
  if (text.size() <= 18) {  // no overflow to look out for
    for (const char c : text.substr(first_digit)) {
      if (c < '0' || c > '9') return {};
      value = value * 10 + (c - '0');
    }
    return first_digit == 0 ? value : -value;
  }
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return {};
  return value;
}

}  // namespace weir::wire
