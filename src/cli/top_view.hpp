// The table of weir top: figures in, lines out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "cli/top_figures.hpp"

namespace weir::cli {

struct TopFrame {
  std::size_t columns = 80;
  std::size_t rows = 0;  ///< 0: as many as there is to show
  Characters characters = Characters::ascii;
  Colour colour = Colour::none;
};

/// For people: 0, 0.4, 12.3, 812, 1.25k, 17.3M.
std::string short_number(double number);

/// No line is wider than the frame, and no more of them than it has rows.
std::vector<std::string> table(const TopFigures& figures, const TopFrame& frame);

/// The whole line, or its begin.
std::string cut_to(const std::string& text, const TopFrame& frame);

}  // namespace weir::cli
