// One key of a keyed limiter as a gate.
#pragma once

#include <functional>
#include <type_traits>

#include "weir/local/limiter_pass.hpp"

namespace weir {

/// A keyed limiter, asked for one key; on() makes it. A call costs its weight. What is withdrawn
/// from a key that shares its state with others stays taken, and so it does where the key was given
/// other numbers meanwhile.
///
/// Memory   a pointer and the key; of a text, and of a key that is no plain value, where it lies
/// Threads  as the limiter
/// Requires the limiter, and a key that is not kept, to outlive it and its passes
template <typename Limiter>
class OfKey {
 public:
  using Argument = typename Limiter::Argument;
  using Pass = LimiterPass<OfKey>;

  OfKey(Limiter& limiter, Argument key) noexcept : limiter_(&limiter), key_(key) {}

  Pass try_enter(const Entry& entry = {}) { return try_enter(entry, now()); }
  Pass try_enter(const Entry& entry, SteadyInstant now) {
    return {*this, entry.weight, limiter_->try_acquire(key_, entry.weight, now)};
  }

  const auto& clock() const noexcept { return limiter_->clock(); }

  void withdraw(Cost units, const Outcome& granted, SteadyInstant now) const noexcept {
    limiter_->withdraw(key_, units, granted, now);
  }
  SteadyInstant now() const noexcept { return clock().now(); }

 private:
  using Value = std::remove_cvref_t<Argument>;
  using Kept = std::conditional_t<std::is_trivially_copyable_v<Value>, Value,
                                  std::reference_wrapper<const Value>>;

  Limiter* limiter_;
  Kept key_;
};

/// `weir::chain(breaker, weir::on(per_user, user))`
template <typename Limiter>
OfKey<Limiter> on(Limiter& limiter, typename Limiter::Argument key) noexcept {
  return {limiter, key};
}

}  // namespace weir
