// The time line of limiters in this process.
#pragma once

#include <chrono>

namespace weir {

using SteadyInstant = std::chrono::steady_clock::time_point;

}  // namespace weir
