#include "test/module/schedules.hpp"

namespace weir::module {

const std::size_t schedules = 1'000;

}  // namespace weir::module
