#include "weir/local/clock.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace weir {
namespace {

/// A thread that was held up for longer between its readings knows nothing of the offset, and would
/// take its own delay for a system clock that is ahead.
constexpr Span widest{500};

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
  Reading best = read_both();
  for (int more = 0; more < 9 && best.width > widest; ++more) {
    const Reading next = read_both();
    if (next.width < best.width) best = next;
  }
  target_.store(best.offset, std::memory_order_relaxed);
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

UnixClock::Reading UnixClock::read_both() const {
  const Span before = steady_();
  const Span system = system_();
  const Span after = steady_();
  return {after, (system - after).count(), after - before};
}

void UnixClock::adjust() {
  const auto [steady, wanted, width] = read_both();
  if (width > widest) return;
  const std::int64_t before = offset_at(steady);
  // From here the offset falls by a thousandth of the time that passes, down to the target.
  if (wanted < before) {
    slope_.store(before + steady.count() / 1000, std::memory_order_relaxed);
  }
  target_.store(wanted, std::memory_order_release);
}

}  // namespace weir
