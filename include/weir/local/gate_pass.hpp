// What a gate hands to a call that it lets in, or refuses.
#pragma once

#include <exception>
#include <utility>

#include "weir/overload/call.hpp"
#include "weir/steady_instant.hpp"

namespace weir {

/// True where the call was let in. Then it is for the caller to say how the call ended, by end(),
/// or that it never ran, by withdraw(); the first of them counts, later ones do nothing. A pass
/// that is destroyed before says that the call ended `ignored`.
///
/// Threads  one at a time; it may end in another thread than it began
/// Requires the gate to outlive it
template <typename Gate>
class [[nodiscard]] GatePass {
 public:
  using Ticket = typename Gate::Ticket;
  using Refused = typename Gate::Refused;

  GatePass(Gate& gate, const Ticket& ticket) noexcept
      : gate_(&gate), let_in_(true), ticket_(ticket) {}
  explicit GatePass(const Refused& refused) noexcept : refused_(refused) {}
  GatePass(GatePass&& from) noexcept
      : gate_(std::exchange(from.gate_, nullptr)),
        let_in_(std::exchange(from.let_in_, false)),
        ticket_(from.ticket_),
        refused_(from.refused_) {}
  GatePass& operator=(GatePass&& from) noexcept {
    if (this == &from) return *this;
    end(CallEnd::ignored);
    gate_ = std::exchange(from.gate_, nullptr);
    let_in_ = std::exchange(from.let_in_, false);
    ticket_ = from.ticket_;
    refused_ = from.refused_;
    return *this;
  }
  ~GatePass() { end(CallEnd::ignored); }

  explicit operator bool() const noexcept { return let_in_; }
  /// Why not, and since when; nothing of it holds where the call was let in.
  const Refused& refused() const noexcept { return refused_; }

  void end(CallEnd how) noexcept {
    if (gate_) end(how, gate_->clock().now());
  }
  void end(CallEnd how, SteadyInstant now) noexcept {
    if (Gate* const gate = std::exchange(gate_, nullptr)) gate->end(ticket_, how, now);
  }
  void withdraw() noexcept {
    if (gate_) withdraw(gate_->clock().now());
  }
  void withdraw(SteadyInstant now) noexcept {
    if (Gate* const gate = std::exchange(gate_, nullptr)) gate->withdraw(ticket_, now);
  }

 private:
  Gate* gate_ = nullptr;  ///< null once it has ended
  bool let_in_ = false;
  Ticket ticket_{};
  Refused refused_{};
};

/// Calls it and ends the pass with it: a failure where it throws, else a success. A pass that is
/// left to its destructor would say of an exception that it tells nothing.
template <typename Pass, typename Function>
decltype(auto) call(Pass& pass, Function&& function) {
  struct End {
    Pass& pass;
    int exceptions = std::uncaught_exceptions();
    ~End() {
      const bool threw = std::uncaught_exceptions() > exceptions;
      pass.end(threw ? CallEnd::failure : CallEnd::success);
    }
  };
  const End end{pass};
  return std::forward<Function>(function)();
}

}  // namespace weir
