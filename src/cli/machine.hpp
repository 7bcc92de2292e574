// The facts of the machine that this program runs on.
#pragma once

#include "cli/health.hpp"

namespace weir::cli {

Machine this_machine();

}  // namespace weir::cli
