// What a rate limiter gives who enters it as one gate among others.
#pragma once

#include <utility>

#include "weir/local/outcome.hpp"
#include "weir/overload/call.hpp"

namespace weir {

/// Units that a call was granted here and now. Ending the call keeps them taken: a rate does not
/// ask how calls end. To withdraw it gives them back as if they had never been taken.
///
/// Bound    the limiter's own, if nobody was granted at a later reading of the clock than the one
///          it is withdrawn at. Of the refill between the grant and the withdrawal, as much as its
///          units may be lost; at the grant's own reading none
/// Threads  one at a time, as any value
/// Requires the limiter to outlive it
template <typename Source>
class [[nodiscard]] LimiterPass {
 public:
  /// A source is copied: it says where to withdraw, and what time it is.
  LimiterPass(const Source& source, Cost units, const Outcome& outcome) noexcept
      : source_(source), units_(outcome ? units : 0), outcome_(outcome) {}

  LimiterPass(LimiterPass&& other) noexcept
      : source_(other.source_), units_(other.units_), outcome_(other.outcome_) {
    other.forget();
  }
  LimiterPass& operator=(LimiterPass&& other) noexcept {
    if (this == &other) return *this;
    source_ = other.source_;
    units_ = other.units_;
    outcome_ = other.outcome_;
    other.forget();
    return *this;
  }
  ~LimiterPass() = default;

  explicit operator bool() const noexcept { return static_cast<bool>(outcome_); }
  const Outcome& refused() const noexcept { return outcome_; }

  void end(CallEnd) noexcept { units_ = 0; }
  void end(CallEnd, SteadyInstant) noexcept { units_ = 0; }

  void withdraw() noexcept { withdraw(source_.now()); }
  void withdraw(SteadyInstant now) noexcept {
    const Cost units = std::exchange(units_, 0);
    if (units > 0) source_.withdraw(units, outcome_, now);
  }

 private:
  void forget() noexcept {
    units_ = 0;
    outcome_.verdict = Verdict::denied;
  }

  Source source_;
  Cost units_;
  Outcome outcome_;
};

/// A limiter of calls that are all alike, as the source of its passes.
template <typename Limiter>
struct LimiterSource {
  void withdraw(Cost units, const Outcome& granted, SteadyInstant now) const noexcept {
    limiter->withdraw(units, granted, now);
  }
  SteadyInstant now() const noexcept { return limiter->clock().now(); }

  Limiter* limiter;
};

}  // namespace weir
