#include "test/law/every_schedule.hpp"

namespace weir::law {

extern const std::size_t schedule_depth = 5;

}  // namespace weir::law
