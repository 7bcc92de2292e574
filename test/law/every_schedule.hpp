// How deep the walk over every schedule goes: shallow in the fast tests, deeper in the slow ones.
#pragma once

#include <cstddef>

namespace weir::law {

extern const std::size_t schedule_depth;

}  // namespace weir::law
