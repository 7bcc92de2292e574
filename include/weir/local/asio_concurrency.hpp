// Waiting for a place in flight as an asynchronous operation of Asio.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

#include "weir/local/asio_operation.hpp"
#include "weir/local/entering.hpp"
#include "weir/local/permit_gate.hpp"

namespace weir {

namespace asio_wait {

/// A place in the line of a gate that hands out permits.
template <typename Gate>
class WaitingForPermit : protected Waiter {
 public:
  struct Wanted {
    Gate& gate;
    Entry entry;
    std::chrono::nanoseconds within;
  };

 protected:
  explicit WaitingForPermit(const Wanted& wanted) : wanted_(wanted) {}
  ~WaitingForPermit() = default;

  SteadyInstant now() const noexcept { return wanted_.gate.clock().now(); }

  bool begin(SteadyInstant at) {
    entry = wanted_.entry;
    const WaitingEntry waiting{wanted_.entry, wanted_.within, {}};
    give_up_at_ = waiting.give_up_at(at);
    admitted_ = host().try_enter(entry, at);
    if (admitted_.verdict == Verdict::denied && waiting.waits()) {
      admitted_ = host().enter_or_join(*this, at);
    }
    return waits();
  }

  bool look(SteadyInstant at) {
    if (waits()) admitted_ = host().look(*this, at);
    if (waits() && at < give_up_at_) return true;
    if (waits()) admitted_ = host().give_up(*this, Refusal::timed_out, at);
    return false;
  }

  bool stop(SteadyInstant at) {
    if (waits()) admitted_ = host().give_up(*this, Refusal::stopped, at);
    return false;
  }

  std::chrono::nanoseconds next_look(SteadyInstant at) const noexcept {
    const SteadyInstant look_at = std::min(give_up_at_, wanted_.gate.host().changes_at());
    return until_look<typename Gate::Clock>(look_at, at);
  }

  void let_go() noexcept {
    if (waits()) admitted_ = host().give_up(*this, Refusal::stopped, now());
    const Admitted last = std::exchange(admitted_, Admitted::refused(Refusal::stopped));
    if (last.verdict == Verdict::granted) static_cast<void>(host().leave(last.holding, now()));
  }

  ErrorCode error() const noexcept {
    return admitted_.refusal == Refusal::stopped ? ErrorCode(net::error::operation_aborted)
                                                 : ErrorCode();
  }
  typename Gate::Permit result() noexcept {
    const Admitted last = std::exchange(admitted_, Admitted::refused(Refusal::stopped));
    return typename Gate::Permit(wanted_.gate, last, wanted_.gate.time());
  }

 private:
  using Admitted = typename Gate::Host::Admitted;

  auto& host() noexcept { return wanted_.gate.host(); }
  bool waits() const noexcept { return admitted_.verdict == Verdict::deferred; }

  const Wanted wanted_;
  Admitted admitted_;
  SteadyInstant give_up_at_{};
};

}  // namespace asio_wait

/// Waits until it is let in, at most so long, for any completion token. Completes with (error_code,
/// Permit). A refusal is no error, permit.refused() tells it; the one error is operation_aborted,
/// with Refusal::stopped.
///
/// It joins the line when it is initiated, and is served with all who wait there, in the order of
/// the limit. It goes by a timer of the handler's executor, completes there, never from within this
/// call and never under a lock, and takes its memory from the handler's allocator.
///
/// Cancellation of any kind gives its place in line back; where it was let in already it completes
/// with the permit. The end of the execution context gives back the place, or what it was let have.
///
/// Threads  as any operation of Asio: cancel where the handler would run. The execution context
///          must not be told that one thread alone uses it (BOOST_ASIO_CONCURRENCY_HINT_UNSAFE and
///          UNSAFE_IO) where other threads use the limit.
/// Cost     one allocation, and that of the timer's wait; the context locked as it begins and ends
/// Errors   what the handler's allocator throws, from this call; nothing is taken then
/// Requires the limit to outlive the operation and the permit: destroy the execution context first
template <typename Host, typename Clock, typename Listener, typename Token>
auto async_enter_for(PermitGate<Host, Clock, Listener>& gate, const Entry& entry,
                     std::chrono::nanoseconds timeout, Token&& token) {
  using Gate = PermitGate<Host, Clock, Listener>;
  using Permit = typename Gate::Permit;
  return asio_wait::net::async_initiate<Token, void(asio_wait::ErrorCode, Permit)>(
      [](auto handler, Gate* into, const Entry& asks, std::chrono::nanoseconds within) {
        using Waiting = asio_wait::WaitingForPermit<Gate>;
        using Operation = asio_wait::Operation<Waiting, decltype(handler)>;
        Operation::start(std::move(handler), {*into, asks, within});
      },
      token, &gate, entry, timeout);
}

/// The same, however long it takes: `co_await async_enter(limit, {}, use_awaitable)`.
template <typename Host, typename Clock, typename Listener, typename Token>
auto async_enter(PermitGate<Host, Clock, Listener>& gate, const Entry& entry, Token&& token) {
  return async_enter_for(gate, entry, gate.forever, std::forward<Token>(token));
}

}  // namespace weir
