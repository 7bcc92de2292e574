#include "weir/local/clock.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weir {
namespace {

template <typename Clock>
Span read() {
  return std::chrono::duration_cast<Span>(Clock::now().time_since_epoch());
}

}  // namespace

UnixClock::UnixClock()
    : UnixClock(read<std::chrono::steady_clock>, read<std::chrono::system_clock>) {
  real_ = true;
}

UnixClock::UnixClock(Source steady, Source system)
    : steady_(std::move(steady)), system_(std::move(system)), offset_(0) {
  adjusted_at_ = steady_();
  offset_.store((system_() - adjusted_at_).count(), std::memory_order_relaxed);
}

Instant UnixClock::now() const noexcept {
  const Span steady = real_ ? read<std::chrono::steady_clock>() : steady_();
  return Instant{steady + Span{offset_.load(std::memory_order_relaxed)}};
}

void UnixClock::adjust() {
  const Span steady = steady_();
  const std::int64_t before = offset_.load(std::memory_order_relaxed);
  const std::int64_t wanted = (system_() - steady).count();
  // Held back by no more than a thousandth of the time that passed, now() still goes forward.
  const std::int64_t slew = std::max<std::int64_t>((steady - adjusted_at_).count(), 0) / 1000;
  offset_.store(std::max(wanted, before - slew), std::memory_order_relaxed);
  adjusted_at_ = steady;
}

}  // namespace weir
