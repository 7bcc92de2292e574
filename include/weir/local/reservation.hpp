// A place in line that its holder may give back.
#pragma once

#include <algorithm>
#include <utility>

#include "weir/local/host.hpp"

namespace weir {

/// Units taken for an instant that may lie ahead. Whoever holds it acts at ready_at(), and then
/// says what it cost; what is destroyed before is given back as far as cancel() can. True where it
/// holds anything.
///
/// Threads  one at a time, as any value
/// Requires the limiter to outlive it
template <typename Host, typename Clock>
class [[nodiscard]] Reservation {
 public:
  Reservation(Host& host, const Clock& clock, SteadyInstant now, Cost cost,
              std::chrono::nanoseconds within)
      : host_(&host), clock_(clock), outcome_(host.join(place_, now, cost, within)) {
    cost_ = outcome_ ? cost : 0;
  }

  Reservation(Reservation&& other) noexcept
      : host_(other.host_), clock_(other.clock_), outcome_(other.outcome_), cost_(other.cost_) {
    take_over(other);
  }
  Reservation& operator=(Reservation&& other) noexcept {
    if (this == &other) return *this;
    cancel();
    host_ = other.host_;
    clock_ = other.clock_;
    outcome_ = other.outcome_;
    cost_ = other.cost_;
    take_over(other);
    return *this;
  }
  ~Reservation() { cancel(); }

  explicit operator bool() const noexcept { return taken(outcome_.verdict); }
  const Outcome& outcome() const noexcept { return outcome_; }
  /// When to act; where nothing was taken, when it would have been.
  SteadyInstant ready_at() const noexcept { return outcome_.ready_at; }
  Cost cost() const noexcept { return cost_; }

  /// Until the instant: gives it back. Returns the units that newcomers get of it; who waits behind
  /// it moves up. Nothing after the instant, and the second time.
  Cost cancel() { return cancel(clock_.now()); }
  Cost cancel(SteadyInstant now) {
    if (std::exchange(cost_, 0) == 0) return 0;
    const Cost given = host_->leave(place_, now).value_or(0);
    outcome_.verdict = Verdict::denied;
    return given;
  }

  /// It was used, and cost `actual` in the end: less is given back, more is owed, and those who
  /// come later wait for it. From here on nothing is left to cancel.
  void commit() { commit(cost_); }
  void commit(Cost actual) { commit(actual, clock_.now()); }
  void commit(Cost actual, SteadyInstant now) {
    const Cost taken = std::exchange(cost_, 0);
    if (taken > 0) host_->commit(place_, now, {taken, std::max<Cost>(actual, 0)});
  }

 private:
  struct Held final : Place {
    Held() : Place(Kind::reservation) {}
  };

  void take_over(Reservation& other) {
    host_->replace(other.place_, place_);
    other.cost_ = 0;
    other.outcome_.verdict = Verdict::denied;
  }

  Host* host_;
  [[no_unique_address]] Clock clock_;
  Held place_;
  Outcome outcome_;
  Cost cost_ = 0;
};

}  // namespace weir
