#include "test/module/schedules.hpp"

namespace weir::module {

const std::size_t schedules = 24;

}  // namespace weir::module
