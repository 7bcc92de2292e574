// A batch of units that one thread spends by itself.
#pragma once

#include <algorithm>
#include <utility>

#include "weir/local/outcome.hpp"

namespace weir {

/// Takes units from a limiter in batches and spends them without touching it: what a thread does
/// that asks some ten million times a second. While it is refused it asks the limiter each time.
///
/// What it holds was granted earlier than it acts. So over any window the leases of one limiter
/// together grant at most `held` units more than the limiter alone:
///
/// Bound    the limiter's, and batch - 1 for each lease, in any half-open window
/// Memory   24 bytes
/// Threads  one at a time; give each thread its own
/// Requires the limiter to outlive it; what is left at the end is refunded
template <typename Limiter>
class Lease {
 public:
  /// Requires batch >= 1; a batch above what the limiter grants at once takes what there is.
  Lease(Limiter& limiter, Cost batch) : limiter_(&limiter), batch_(std::max<Cost>(batch, 1)) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { give_back(); }

  /// As the limiter's; but ready_at of a grant is not filled in, for no clock is read.
  Outcome try_acquire(Cost cost = 1) {
    if (cost <= held_ && cost >= 0) [[likely]] {
      held_ -= cost;
      return {Verdict::granted, Refusal::none, {}};
    }
    return renew(cost);
  }

  /// Units taken and not spent: less than a batch.
  Cost held() const noexcept { return held_; }

  void give_back() {
    if (held_ > 0) static_cast<void>(limiter_->refund(std::exchange(held_, 0)));
  }

 private:
  [[gnu::noinline]] Outcome renew(Cost cost) {
    if (cost >= 0 && cost <= batch_) {
      const Cost wanted = batch_ - held_;
      held_ += limiter_->try_acquire(wanted) ? wanted : limiter_->drain(wanted);
      if (cost <= held_) return try_acquire(cost);
    }
    // More than a batch, or too little is left: what is held counts towards it.
    const Cost spent = cost >= 0 ? held_ : 0;
    const Outcome outcome = limiter_->try_acquire(cost - spent);
    if (outcome) held_ -= spent;
    return outcome;
  }

  Limiter* limiter_;
  Cost batch_;
  Cost held_ = 0;
};

}  // namespace weir
