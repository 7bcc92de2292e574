// How an error text shows a byte that somebody else sent.
#pragma once

#include <string>

namespace weir::wire {

/// 'a', or '\x0d' where the byte would not print: what a peer sent never reaches a log, a terminal
/// or a reply line as itself unless it is printable ASCII.
inline std::string quoted_byte(char byte) {
  constexpr char digits[] = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  if (value > 0x20 && value < 0x7f && byte != '\'' && byte != '\\') return {'\'', byte, '\''};
  return {'\'', '\\', 'x', digits[value >> 4], digits[value & 15], '\''};
}

}  // namespace weir::wire
