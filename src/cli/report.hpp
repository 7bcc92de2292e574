// What a simulation prints: a line a call, a summary, and for people a picture.
#pragma once

#include <iosfwd>

#include "cli/console.hpp"
#include "cli/simulation.hpp"

namespace weir::cli {

/// In words, for a screen.
void report_as_text(const Simulation& simulation, const Console& console);

/// One JSON object a line: each call's at_us, verdict, remaining, retry_after_us (0 when taken, -1
/// never) and ready_after_us (0 unless deferred); the last line is {"summary":{...}}.
void report_as_json(const Simulation& simulation, std::ostream& out);

}  // namespace weir::cli
