// Waiting for a limiter as an asynchronous operation of Asio.
#pragma once

#include <chrono>
#include <utility>

#include "weir/local/asio_operation.hpp"
#include "weir/local/limiter.hpp"

namespace weir {

namespace asio_wait {

/// A place in the line of a limiter.
template <typename AnyLimiter, typename Clock>
class WaitingForUnits : protected Place {
 public:
  struct Wanted {
    AnyLimiter& limiter;
    Cost cost;
    std::chrono::nanoseconds within;
  };

 protected:
  explicit WaitingForUnits(const Wanted& wanted) : Place(Kind::waiter), wanted_(wanted) {}
  ~WaitingForUnits() = default;

  SteadyInstant now() const noexcept { return wanted_.limiter.clock().now(); }

  bool begin(SteadyInstant at) {
    outcome_ = host().take_or_join(*this, at, {wanted_.cost, wanted_.within});
    waits_ = outcome_.verdict == Verdict::deferred;
    give_up_at_ =
        wanted_.within < SteadyInstant::max() - at ? at + wanted_.within : SteadyInstant::max();
    return waits_;
  }

  bool stop(SteadyInstant at) {
    if (!waits_ || !give_back(at)) return look(at);
    outcome_ = {Verdict::denied, Refusal::stopped, outcome_.ready_at};
    return false;
  }

  bool look(SteadyInstant at) {
    if (!waits_) return false;
    outcome_ = host().look(*this, at);
    waits_ = outcome_.verdict == Verdict::deferred;
    if (waits_ && (outcome_.ready_at <= give_up_at_ || !give_back(at))) return true;
    if (outcome_.verdict == Verdict::deferred) {
      outcome_ = {Verdict::denied, Refusal::limit, outcome_.ready_at};
    }
    return false;
  }

  std::chrono::nanoseconds next_look(SteadyInstant at) const noexcept {
    return until_next_look<Clock>(outcome_.wait(at));
  }

  /// What was granted stays taken, as it does for whoever does not act on a grant.
  void let_go() noexcept {
    if (std::exchange(waits_, false)) static_cast<void>(host().leave(*this, now()));
  }

  ErrorCode error() const noexcept {
    return outcome_.refusal == Refusal::stopped ? ErrorCode(net::error::operation_aborted)
                                                : ErrorCode();
  }
  Outcome result() {
    wanted_.limiter.listener()(wanted_.cost, outcome_);
    return outcome_;
  }

 private:
  auto& host() noexcept { return wanted_.limiter.host(); }

  bool give_back(SteadyInstant at) {
    if (!host().leave(*this, at)) return false;
    waits_ = false;
    return true;
  }

  const Wanted wanted_;
  Outcome outcome_;
  SteadyInstant give_up_at_{};
  bool waits_ = false;
};

}  // namespace asio_wait

/// Waits for its turn, at most so long, for any completion token: it refuses at once where the wait
/// would be in vain. Completes with (error_code, Outcome). A refusal is no error, the outcome tells
/// it; the one error is operation_aborted, with Refusal::stopped.
///
/// It takes its place when it is initiated, first come, first served with all who wait for the
/// limiter, and goes by a timer of the handler's executor: bind_executor(io, token) where the token
/// brings none, or it is the system's. It completes there, never from within this call and never
/// under a lock, and takes its memory from the handler's allocator.
///
/// Until its instant, cancellation of any kind gives the place back, and whoever stands behind it
/// moves up; so does the end of the execution context. After its instant it completes as granted:
/// what was let pass cannot be given to another without breaking the bound.
///
/// Threads  as any operation of Asio: cancel where the handler would run. The execution context
///          must not be told that one thread alone uses it (BOOST_ASIO_CONCURRENCY_HINT_UNSAFE and
///          UNSAFE_IO) where other threads use the limiter.
/// Cost     one allocation, and that of the timer's wait; the context locked as it begins and ends
/// Errors   what the handler's allocator throws, from this call; what was free is then lost
/// Requires the limiter to outlive the operation: destroy the execution context first
template <typename Keeper, typename Clock, typename Listener, typename Token>
auto async_acquire_for(BasicLimiter<Keeper, Clock, Listener>& limiter, Cost cost,
                       std::chrono::nanoseconds timeout, Token&& token) {
  using AnyLimiter = BasicLimiter<Keeper, Clock, Listener>;
  return asio_wait::net::async_initiate<Token, void(asio_wait::ErrorCode, Outcome)>(
      [](auto handler, AnyLimiter* from, Cost units, std::chrono::nanoseconds within) {
        using Waiting = asio_wait::WaitingForUnits<AnyLimiter, Clock>;
        using Operation = asio_wait::Operation<Waiting, decltype(handler)>;
        Operation::start(std::move(handler), {*from, units, within});
      },
      token, &limiter, cost, timeout);
}

/// The same, however long it takes: `co_await async_acquire(limiter, 1, use_awaitable)`.
template <typename Keeper, typename Clock, typename Listener, typename Token>
auto async_acquire(BasicLimiter<Keeper, Clock, Listener>& limiter, Cost cost, Token&& token) {
  return async_acquire_for(limiter, cost, limiter.forever, std::forward<Token>(token));
}

}  // namespace weir
