// How much the module is asked: little before every change, a million times when there is time.
#pragma once

#include <cstddef>

namespace weir::module {

extern const std::size_t schedules;  ///< of 400 events

}  // namespace weir::module
