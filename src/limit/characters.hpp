// Kinds of characters, as limits are written with: of ASCII, in any locale.
#pragma once

#include <string>
#include <string_view>

namespace weir {

constexpr bool is_space(char c) { return c == ' ' || c == '\t'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string in_lower_case(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = small(c);
  return lowered;
}

}  // namespace weir
