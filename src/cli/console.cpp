#include "cli/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace weir::cli {
namespace {

/// By the variables, in the order in which they count: a locale that is named but not installed
/// says nothing of what the terminal shows.
Characters characters_in(const Surroundings& surroundings) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale = surroundings.variable(name);
    if (locale.empty()) continue;
    std::ranges::transform(locale, locale.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const bool utf8 =
        locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
    return utf8 ? Characters::utf8 : Characters::ascii;
  }
  return Characters::ascii;
}

}  // namespace

std::string painted(Verdict verdict, const std::string& text, const Screen& screen) {
  constexpr std::array colours{"32", "33", "31", "31"};  // green, yellow, red
  if (screen.colour == Colour::none) return text;
  return std::string("\x1b[") + colours[static_cast<std::size_t>(verdict)] + "m" + text + "\x1b[0m";
}

Screen screen_in(const Surroundings& surroundings) {
  Screen screen;
  screen.characters = characters_in(surroundings);
  // A terminal that does not tell its width reports 0.
  const std::size_t columns = surroundings.terminal_columns.value_or(0);
  if (columns > 0) screen.columns = std::clamp<std::size_t>(columns, 40, 100);
  if (surroundings.terminal_columns && surroundings.variable("NO_COLOR").empty() &&
      surroundings.variable("TERM") != "dumb") {
    screen.colour = Colour::ansi;
  }
  return screen;
}

Surroundings surroundings() {
  Surroundings found;
  if (isatty(STDOUT_FILENO)) {
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    found.terminal_columns = known ? size.ws_col : 0;
  }
  found.variable = [](const char* name) -> std::string {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets a variable
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  return found;
}

}  // namespace weir::cli
