// What the program prints to, and what can be shown there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "weir/vocabulary.hpp"

namespace weir::cli {

enum class Characters : std::uint8_t { ascii, utf8 };
enum class Colour : std::uint8_t { none, ansi };

/// How wide people read, and in what.
struct Screen {
  std::size_t columns = 80;  ///< 40 to 100
  Characters characters = Characters::ascii;
  Colour colour = Colour::none;

  bool operator==(const Screen&) const = default;
};

/// Where the output goes: data to `out`, messages to `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
  Screen screen;
};

/// The text in its verdict's colour, where the screen has colours.
std::string painted(Verdict verdict, const std::string& text, const Screen& screen);

/// What the environment says of standard output.
struct Surroundings {
  std::optional<std::size_t> terminal_columns;  ///< absent: no terminal
  /// The value of an environment variable; empty where it is not set.
  std::function<std::string(const char*)> variable;
};

/// Colour takes a terminal that is not dumb, and no NO_COLOR; more than ASCII takes a UTF-8 locale.
Screen screen_in(const Surroundings& surroundings);

/// Of this process.
Surroundings surroundings();

}  // namespace weir::cli
