#include "test/redis/schedules.hpp"

namespace weir::redis {

const std::size_t schedules = 28;

}  // namespace weir::redis
