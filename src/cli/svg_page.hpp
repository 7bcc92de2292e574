// What all pictures share: the paper, the colours, the words on top.
#pragma once

#include <string>
#include <string_view>

#include "cli/svg.hpp"

namespace weir::cli::svg {

constexpr Tenths page_width = units(960);

struct Heading {
  std::string_view title;    ///< any text
  std::string_view summary;  ///< any text, a line
};

/// Draws the heading from y on, and moves y below it.
std::string head(const Heading& heading, Tenths& y);

/// The whole file.
std::string page(const Heading& heading, Tenths height, std::string_view content);

}  // namespace weir::cli::svg
