// A limiter that keeps something back for what matters more.
#pragma once

#include <stdexcept>

#include "weir/local/limiter.hpp"

namespace weir {

/// Units of a limiter that must be left after a call of each priority. Critical calls may use all;
/// what matters less leaves no less.
struct Reserve {
  Cost normal = 0;
  Cost sheddable = 0;
  Cost background = 0;

  constexpr Cost of(Priority priority) const noexcept {
    const Cost kept[] = {0, normal, sheddable, background};
    return kept[static_cast<std::uint8_t>(priority)];
  }
};

/// A limiter as a gate that lets a call in only if the reserve of its priority is left after it;
/// keeping() makes it. As the limiter runs dry, background calls are turned away first and critical
/// ones last: those find all that the others' reserve holds.
///
/// It looks and takes in one step, so however many come together none eats into the reserve. For
/// limits that have a burst: where no two units are ever granted at one instant there is nothing to
/// keep. A call whose weight and reserve together are above the burst is never let in (its ready_at
/// is SteadyInstant::max()). Its refusals bring no `block` penalty.
///
/// Bound    the limiter's; of calls below critical, that of its burst less their reserve
/// Memory   a pointer and the reserve
/// Threads  safe from any thread
/// Cost     the limiter's
/// Errors   std::invalid_argument for a reserve that is negative, or less than that of a higher
///          priority
/// Requires the limiter to outlive it and its passes
template <typename Limiter>
class Keeping {
 public:
  using Pass = typename Limiter::Pass;

  Keeping(Limiter& limiter, const Reserve& reserve) : limiter_(&limiter), reserve_(reserve) {
    if (reserve.normal < 0) throw std::invalid_argument("normal: expected 0 or more units");
    if (reserve.sheddable < reserve.normal) {
      throw std::invalid_argument("sheddable: expected no less than for normal calls");
    }
    if (reserve.background < reserve.sheddable) {
      throw std::invalid_argument("background: expected no less than for sheddable calls");
    }
  }

  Pass try_enter(const Entry& entry = {}) { return try_enter(entry, clock().now()); }
  Pass try_enter(const Entry& entry, SteadyInstant now) {
    const Outcome outcome = limiter_->host().try_take_keeping(
        now, {.cost = entry.weight, .keep = reserve_.of(entry.priority)});
    limiter_->listener()(entry.weight, outcome);
    return {{limiter_}, entry.weight, outcome};
  }

  const auto& clock() const noexcept { return limiter_->clock(); }

 private:
  Limiter* limiter_;
  Reserve reserve_;
};

/// `weir::chain(breaker, weir::keeping(limiter, {.normal = 10, .sheddable = 30}))`
template <typename Limiter>
Keeping<Limiter> keeping(Limiter& limiter, const Reserve& reserve) {
  return {limiter, reserve};
}

}  // namespace weir
