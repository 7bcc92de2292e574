#include "weir/local/clock.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
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
    : steady_(std::move(steady)), system_(std::move(system)) {
  const Span begin = steady_();
  target_.store((system_() - begin).count(), std::memory_order_relaxed);
  slope_.store(std::numeric_limits<std::int64_t>::min() / 2, std::memory_order_relaxed);
}

std::int64_t UnixClock::offset_at(Span steady) const noexcept {
  // Acquire pairs with the release in adjust(): who sees the new target sees the slope towards it.
  const std::int64_t target = target_.load(std::memory_order_acquire);
  return std::max(target, slope_.load(std::memory_order_relaxed) - steady.count() / 1000);
}

Instant UnixClock::now() const noexcept {
  const Span steady = real_ ? read<std::chrono::steady_clock>() : steady_();
  return Instant{steady + Span{offset_at(steady)}};
}

void UnixClock::adjust() {
  const Span steady = steady_();
  const std::int64_t wanted = (system_() - steady).count();
  const std::int64_t before = offset_at(steady);
  // From here the offset falls by a thousandth of the time that passes, down to the target.
  if (wanted < before) {
    slope_.store(before + steady.count() / 1000, std::memory_order_relaxed);
  }
  target_.store(wanted, std::memory_order_release);
}

}  // namespace weir
