// Waiting to be let in: a thread, or a coroutine.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <optional>
#include <stop_token>
#include <utility>

#include "weir/local/alarm.hpp"
#include "weir/local/outcome.hpp"
#include "weir/local/sleeper.hpp"
#include "weir/local/waiting_room.hpp"
#include "weir/local/wake_ups.hpp"

namespace weir {

/// A call that waits to be let in, and for how long.
struct WaitingEntry {
  Entry entry;
  std::chrono::nanoseconds within;
  std::stop_token stop;

  /// Who gives up at once does not join, so it turns nobody away.
  bool waits() const noexcept { return within > std::chrono::nanoseconds{0}; }

  SteadyInstant give_up_at(SteadyInstant now) const noexcept {
    return within < SteadyInstant::max() - now ? now + within : SteadyInstant::max();
  }
};

/// How long to wait until the next look, where nothing is told before.
template <typename Clock>
std::chrono::nanoseconds until_look(SteadyInstant at, SteadyInstant now) noexcept {
  // For ever is too long to be added to a time.
  constexpr std::chrono::nanoseconds longest = std::chrono::hours{1};
  const auto left = at > now ? std::min<std::chrono::nanoseconds>(at - now, longest)
                             : std::chrono::nanoseconds{0};
  return until_next_look<Clock>(left);
}

/// A thread that waits for a host to let it in, which has refused it once.
template <typename Host>
class EnteringThread final : private Waiter {
 public:
  using Admitted = typename Host::Admitted;

  template <typename Clock>
  static Admitted wait(Host& host, const Clock& clock, const WaitingEntry& wanted) {
    EnteringThread thread;
    return thread.enter(host, clock, wanted);
  }

 private:
  void moved() noexcept override { signal_.wake(); }

  template <typename Clock>
  Admitted enter(Host& host, const Clock& clock, const WaitingEntry& wanted) {
    SteadyInstant now = clock.now();
    const SteadyInstant give_up_at = wanted.give_up_at(now);
    entry = wanted.entry;
    Admitted admitted = host.enter_or_join(*this, now);
    if (admitted.verdict != Verdict::deferred) return admitted;
    const std::stop_callback on_stop(wanted.stop, [this]() noexcept { signal_.stop(); });
    for (;;) {
      admitted = host.look(*this, now);
      if (admitted.verdict != Verdict::deferred) return admitted;
      const bool stopped = signal_.stopped();
      if (stopped || now >= give_up_at) {
        return host.give_up(*this, stopped ? Refusal::stopped : Refusal::timed_out, now);
      }
      signal_.sleep(until_look<Clock>(std::min(give_up_at, host.changes_at()), now));
      now = clock.now();
    }
  }

  WakeSignal signal_;
};

/// What `co_await limit.async_enter(entry)` waits on, for a Permit. It joins when it is awaited.
/// The coroutine goes on at once where there is room, and else on the thread of the alarms when it
/// was let in, stopped or turned away: a few instructions may run there, or a hand-over to where
/// the work belongs.
///
/// Destroying the suspended coroutine gives back its place in line, or what it was handed; as with
/// any suspended coroutine, it must not be resumed meanwhile: stop it first where its turn may be
/// near.
template <typename Gate>
class [[nodiscard]] EnteringCoroutine final : private Waiter, private Alarm {
 public:
  using Clock = typename Gate::Clock;
  using Permit = typename Gate::Permit;

  EnteringCoroutine(Gate& gate, WaitingEntry wanted) : gate_(gate), wanted_(std::move(wanted)) {}
  ~EnteringCoroutine() {
    stopped_.reset();
    if (!waits_) return;
    clear();
    const SteadyInstant now = gate_.clock().now();
    const auto admitted = gate_.host().give_up(*this, Refusal::stopped, now);
    if (admitted.verdict == Verdict::granted) gate_.host().leave(admitted.holding, now);
  }

  bool await_ready() {
    if (wanted_.stop.stop_requested()) {
      admitted_ = Admitted::refused(Refusal::stopped);
      return true;
    }
    admitted_ = gate_.host().try_enter(wanted_.entry, gate_.time());
    return admitted_.verdict != Verdict::denied || !wanted_.waits();
  }

  bool await_suspend(std::coroutine_handle<> waiting) {
    waiting_ = waiting;
    entry = wanted_.entry;
    const SteadyInstant now = gate_.clock().now();
    admitted_ = gate_.host().enter_or_join(*this, now);
    if (admitted_.verdict != Verdict::deferred) return false;
    give_up_at_ = wanted_.give_up_at(now);
    waits_ = true;
    stopped_.emplace(wanted_.stop, Stop{*this});
    set(next_ring(now));
    return true;  // by now it may have rung: nothing here is touched any more
  }

  Permit await_resume() {
    stopped_.reset();
    return Permit(gate_, admitted_, gate_.time());
  }

 private:
  using Admitted = typename Gate::Host::Admitted;

  struct Stop {
    EnteringCoroutine& waiter;
    void operator()() const noexcept {
      waiter.wanted_to_stop_.store(true);
      waiter.hurry();
    }
  };

  void moved() noexcept override { hurry(); }

  SteadyInstant next_ring(SteadyInstant now) {
    const SteadyInstant look_at = std::min(give_up_at_, gate_.host().changes_at());
    return std::chrono::steady_clock::now() + until_look<Clock>(look_at, now);
  }

  std::optional<SteadyInstant> ring() noexcept override {
    const SteadyInstant now = gate_.clock().now();
    Admitted admitted = gate_.host().look(*this, now);
    if (admitted.verdict == Verdict::deferred) {
      const bool stop = wanted_to_stop_.load();
      if (!stop && now < give_up_at_) return next_ring(now);
      admitted = gate_.host().give_up(*this, stop ? Refusal::stopped : Refusal::timed_out, now);
    }
    admitted_ = admitted;
    waits_ = false;
    waiting_.resume();  // which may destroy this
    return {};
  }

  Gate& gate_;
  WaitingEntry wanted_;
  Admitted admitted_;
  SteadyInstant give_up_at_{};
  std::coroutine_handle<> waiting_;
  std::optional<std::stop_callback<Stop>> stopped_;
  std::atomic<bool> wanted_to_stop_{false};
  bool waits_ = false;
};

}  // namespace weir
