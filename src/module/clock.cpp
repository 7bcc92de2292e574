#include "module/clock.hpp"

#include <ctime>

namespace weir::module {

Instant wall_clock() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return Instant{Span{time.tv_sec * std::int64_t{1'000'000} + time.tv_nsec / 1'000}};
}

}  // namespace weir::module
