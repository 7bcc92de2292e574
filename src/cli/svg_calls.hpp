// The calls of a picture: each as a mark, or as bars where there are too many.
#pragma once

#include <string>
#include <vector>

#include "cli/svg_picture.hpp"
#include "cli/svg_scale.hpp"

namespace weir::cli {

struct DrawnCalls {
  std::string svg;
  svg::Tenths top;  ///< below the legend
  svg::Tenths bottom;
};

/// A legend, the calls where they come (refused ones below the line), and where some wait a second
/// line where all that are taken act, each tied to where it came.
DrawnCalls draw_calls(const std::vector<PictureEvents::Call>& calls, const TimeScale& time,
                      svg::Tenths top);

}  // namespace weir::cli
