// The clock of the server's machine.
#pragma once

#include "weir/vocabulary.hpp"

namespace weir::module {

/// In clock.cpp alone, so that a test tells its own time.
Instant wall_clock() noexcept;

}  // namespace weir::module
