// Axes and what is drawn along them.
#pragma once

#include <string>
#include <vector>

#include "cli/svg_scale.hpp"

namespace weir::cli {

/// 950, 1.5k, 12M: what stands beside an axis.
std::string count_text(Cost count);

/// The instant in the unit that all multiples of the spacing are short in.
std::string time_text(Instant at, Span spacing);

/// Between marks: one of the periods where that is sensible, else a round span.
Span time_spacing(const TimeScale& time, const std::vector<Span>& periods);

/// Where steps are drawn.
struct StepRoom {
  const TimeScale& time;
  const CountScale& scale;
  svg::Tenths base;  ///< where 0 is
};

/// Steps as the data of a path, to the right end.
std::string steps_line(const std::vector<Step>& steps, const StepRoom& room);

}  // namespace weir::cli
