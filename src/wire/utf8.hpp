// Bytes of strangers as text that any reader of JSON takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::wire {

/// The length of the UTF-8 character that `text` begins with; 0 where it begins with none.
constexpr std::size_t utf8_length(std::string_view text) noexcept {
  const auto at = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  if (text.empty()) return 0;
  const std::uint8_t first = at(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  // Longer than need be, half a surrogate pair, or above U+10FFFF.
  if (first == 0xe0 && at(1) < 0xa0) return 0;
  if (first == 0xed && at(1) > 0x9f) return 0;
  if (first == 0xf0 && at(1) < 0x90) return 0;
  if (first == 0xf4 && at(1) > 0x8f) return 0;
  return length;
}

/// The text, with U+FFFD for each byte that is of no character.
inline std::string in_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    valid += length > 0 ? text.substr(0, length) : std::string_view("\xef\xbf\xbd");
    text.remove_prefix(length > 0 ? length : 1);
  }
  return valid;
}

}  // namespace weir::wire
