// A simulation as a picture of a few lines.
#pragma once

#include <string>

#include "cli/console.hpp"
#include "cli/simulation.hpp"

namespace weir::cli {

/// Rows over one time axis: what was granted, what was deferred (where it acts) and what was
/// refused (where it asked). However many calls there are, it is no wider than the screen: then a
/// column counts all that falls into its span of time. Lines end in '\n' but for the last.
std::string picture(const Simulation& simulation, const Screen& screen);

}  // namespace weir::cli
