// A coroutine that waits for its turn.
#pragma once

#include <atomic>
#include <coroutine>
#include <optional>
#include <stop_token>
#include <utility>

#include "weir/local/alarm.hpp"
#include "weir/local/host.hpp"
#include "weir/local/wake_ups.hpp"

namespace weir {

/// What `co_await limiter.async_acquire(n)` waits on. It takes its place when it is awaited; the
/// coroutine goes on at once where it may act at once, and else at its instant, on the thread of
/// the alarms: a few instructions may run there, or a hand-over to where the work belongs.
///
/// Stopping gives the place back and resumes with Refusal::stopped, on the same thread. Destroying
/// the suspended coroutine gives the place back too; as with any suspended coroutine, it must not
/// be resumed meanwhile: stop it first where its instant may be near.
template <typename Host, typename Clock, typename Listener>
class [[nodiscard]] Awaiting final : private Place, private Alarm {
 public:
  struct Wanted {
    Cost cost;
    std::chrono::nanoseconds within;
    std::stop_token stop;
  };

  Awaiting(Host& host, const Clock& clock, const Listener& listener, Wanted wanted)
      : Place(Kind::waiter),
        host_(host),
        clock_(clock),
        listener_(listener),
        wanted_(std::move(wanted)) {}
  ~Awaiting() {
    stopped_.reset();
    if (!waits_) return;
    clear();
    static_cast<void>(host_.leave(*this, clock_.now()));
  }

  bool await_ready() {
    const SteadyInstant now = clock_.now();
    if (wanted_.stop.stop_requested()) {
      outcome_ = {Verdict::denied, Refusal::stopped, now};
      return true;
    }
    return host_.take_without_lock(now, wanted_.cost, outcome_);
  }

  bool await_suspend(std::coroutine_handle<> waiting) {
    waiting_ = waiting;
    const SteadyInstant now = clock_.now();
    outcome_ = host_.take_or_join(*this, now, {wanted_.cost, wanted_.within});
    if (outcome_.verdict != Verdict::deferred) return false;
    give_up_at_ =
        wanted_.within < SteadyInstant::max() - now ? now + wanted_.within : SteadyInstant::max();
    waits_ = true;
    stopped_.emplace(wanted_.stop, Stop{*this});
    set(std::chrono::steady_clock::now() + until_next_look<Clock>(outcome_.wait(now)));
    return true;  // by now it may have rung: nothing here is touched any more
  }

  Outcome await_resume() {
    stopped_.reset();
    listener_(wanted_.cost, outcome_);
    return outcome_;
  }

 private:
  struct Stop {
    Awaiting& waiter;
    void operator()() const noexcept {
      waiter.wanted_to_stop_.store(true);
      waiter.hurry();
    }
  };

  void moved() noexcept override { hurry(); }

  std::optional<SteadyInstant> ring() noexcept override {
    const SteadyInstant now = clock_.now();
    Outcome outcome = host_.look(*this, now);
    if (outcome.verdict == Verdict::deferred) {
      const bool stop = wanted_to_stop_.load();
      const bool hopeless = outcome.ready_at > give_up_at_;
      if (!stop && !hopeless) {
        return std::chrono::steady_clock::now() + until_next_look<Clock>(outcome.wait(now));
      }
      static_cast<void>(host_.leave(*this, now));
      outcome.verdict = Verdict::denied;
      outcome.refusal = stop ? Refusal::stopped : Refusal::limit;
    }
    outcome_ = outcome;
    waits_ = false;
    waiting_.resume();  // which may destroy this
    return {};
  }

  Host& host_;
  [[no_unique_address]] Clock clock_;
  [[no_unique_address]] Listener listener_;
  Wanted wanted_;
  Outcome outcome_;
  SteadyInstant give_up_at_{};
  std::coroutine_handle<> waiting_;
  std::optional<std::stop_callback<Stop>> stopped_;
  std::atomic<bool> wanted_to_stop_{false};
  bool waits_ = false;
};

}  // namespace weir
