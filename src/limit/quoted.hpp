// A word of a limit, fit to be shown in a message.
#pragma once

#include <string>
#include <string_view>

namespace weir {

/// In quotes, without what could disturb a terminal or a log, and not all of a long one.
inline std::string quoted(std::string_view word) {
  std::string shown = "'";
  for (const char c : word.substr(0, 24)) {
    shown += c >= ' ' && c <= '~' && c != '\'' ? c : '?';
  }
  return shown + (word.size() > 24 ? "…'" : "'");
}

}  // namespace weir
