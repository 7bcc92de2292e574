// What a call holds while it is in flight.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "weir/local/outcome.hpp"
#include "weir/local/waiting_room.hpp"
#include "weir/overload/call.hpp"

namespace weir {

/// What became of a call that asked to be let in, as the host of a gate answers it.
template <typename Holding>
struct [[nodiscard]] Admission {
  Verdict verdict = Verdict::denied;  ///< deferred: it waits
  Refusal refusal = Refusal::limit;
  std::int64_t in_flight = 0;  ///< weight in flight with itself, where it was let in
  Holding holding{};           ///< what it has to give back then

  static Admission granted(std::int64_t in_flight, const Holding& holding) noexcept {
    return {Verdict::granted, Refusal::none, in_flight, holding};
  }
  static Admission refused(Refusal because) noexcept { return {Verdict::denied, because, 0, {}}; }
  static Admission impossible() noexcept { return {Verdict::impossible, Refusal::limit, 0, {}}; }
  static Admission waits() noexcept { return {Verdict::deferred, Refusal::none, 0, {}}; }
};

/// How one stands that joined a line.
template <typename Holding>
Admission<Holding> standing(const Waiter& waiter, const Holding& holding) noexcept {
  using Admitted = Admission<Holding>;
  switch (waiter.state) {
    case Waiter::State::let_in: return Admitted::granted(waiter.in_flight, holding);
    case Waiter::State::impossible: return Admitted::impossible();
    case Waiter::State::turned_away: return Admitted::refused(Refusal::line_full);
    default: return Admitted::waits();
  }
}

/// What a permit knows of its call when it ends.
struct EndedCall {
  SteadyInstant entered_at;
  std::int64_t in_flight;
  CallEnd end;

  CallSample sample(SteadyInstant now) const noexcept {
    using std::chrono::nanoseconds;
    return {now, std::max<nanoseconds>(now - entered_at, nanoseconds{0}), in_flight, end};
  }
};

/// A place in flight, given back once: by end(), by withdraw(), or when it is destroyed. True where
/// the call was let in.
///
/// Threads  one at a time, as any value; it may end on another thread than it began
/// Requires the limit to outlive it
template <typename Gate>
class [[nodiscard]] Permit {
 public:
  using Holding = typename Gate::Holding;

  Permit(Gate& gate, const Admission<Holding>& admission, SteadyInstant at) noexcept
      : gate_(admission.verdict == Verdict::granted ? &gate : nullptr),
        holding_(admission.holding),
        at_(at),
        in_flight_(admission.in_flight),
        verdict_(admission.verdict),
        refusal_(admission.refusal) {}

  Permit(Permit&& other) noexcept
      : gate_(std::exchange(other.gate_, nullptr)),
        holding_(other.holding_),
        at_(other.at_),
        in_flight_(other.in_flight_),
        verdict_(std::exchange(other.verdict_, Verdict::denied)),
        refusal_(other.refusal_) {}
  Permit& operator=(Permit&& other) noexcept {
    if (this == &other) return *this;
    end(CallEnd::ignored);
    gate_ = std::exchange(other.gate_, nullptr);
    holding_ = other.holding_;
    at_ = other.at_;
    in_flight_ = other.in_flight_;
    verdict_ = std::exchange(other.verdict_, Verdict::denied);
    refusal_ = other.refusal_;
    return *this;
  }
  ~Permit() { end(CallEnd::ignored); }

  explicit operator bool() const noexcept { return verdict_ == Verdict::granted; }

  /// Why it was not let in. Nobody knows when there will be room: ready_at is the instant at which
  /// it asked, where one was told or read, or else SteadyInstant{}; never, where it is impossible.
  Outcome refused() const noexcept {
    return {verdict_, refusal_, verdict_ == Verdict::impossible ? SteadyInstant::max() : at_};
  }

  /// The weight in flight when it was let in, its own among it; 0 where it was not.
  std::int64_t in_flight() const noexcept { return in_flight_; }

  /// The call ended. The first time gives the place back and tells the listener; then nothing.
  void end(CallEnd how) noexcept {
    if (gate_) std::exchange(gate_, nullptr)->end(holding_, {at_, in_flight_, how});
  }
  void end(CallEnd how, SteadyInstant now) noexcept {
    if (gate_) std::exchange(gate_, nullptr)->end(holding_, {at_, in_flight_, how}, now);
  }

  /// The call never ran: gives the place back and tells nobody.
  void withdraw() noexcept {
    if (gate_) std::exchange(gate_, nullptr)->withdraw(holding_);
  }

  /// Holds it as long again from now. False where it has expired meanwhile, or was given back.
  bool renew() noexcept requires(Gate::expires) { return gate_ && gate_->renew(holding_); }
  bool renew(SteadyInstant now) noexcept requires(Gate::expires) {
    return gate_ && gate_->renew(holding_, now);
  }

 private:
  Gate* gate_;  ///< null where there is nothing to give back
  [[no_unique_address]] Holding holding_;
  SteadyInstant at_;  ///< when it was let in, or asked; where anybody wants to know
  std::int64_t in_flight_;
  Verdict verdict_;
  Refusal refusal_;
};

}  // namespace weir
