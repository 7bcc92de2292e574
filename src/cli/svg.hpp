// The words of an SVG file: places, texts and marks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::cli::svg {

/// Tenths of the picture's unit: fine enough for any screen, and every number stays short.
using Tenths = std::int64_t;

constexpr Tenths units(std::int64_t count) { return count * 10; }

struct Point {
  Tenths x;
  Tenths y;
};

/// "104.2"; "-0.5"; "7".
std::string number(Tenths value);

/// As the content of an element or a quoted attribute; what is no printable ASCII shows as '?'.
std::string escaped(std::string_view text);

struct Text {
  Point at;
  std::string_view style;  ///< class names; may be empty
  std::string_view words;
};

std::string text(const Text& text);

/// Nothing where there is no data.
struct Path {
  std::string_view style;
  std::string_view data;
};

std::string path(const Path& path);

struct Box {
  Point from;
  Point size;
};

/// A path that encloses the box.
std::string outline(const Box& box);

}  // namespace weir::cli::svg
