#include "test/redis/schedules.hpp"

namespace weir::redis {

const std::size_t schedules = 1000;

}  // namespace weir::redis
