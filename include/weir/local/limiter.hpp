// Limiters in this process: ask, wait, reserve.
#pragma once

#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "weir/limit.hpp"
#include "weir/local/atomic_bucket.hpp"
#include "weir/local/awaiting.hpp"
#include "weir/local/clocks.hpp"
#include "weir/local/limiter_pass.hpp"
#include "weir/local/locked.hpp"
#include "weir/local/refuse_dates.hpp"
#include "weir/local/reservation.hpp"
#include "weir/local/sleeper.hpp"

namespace weir {

/// Hears of every decision that took or refused: listener(cost, outcome), in the caller's thread
/// and outside the lock. This one hears nothing and costs nothing.
struct Silent {
  void operator()(Cost, const Outcome&) const noexcept {}
};

/// A limiter: what a keeper remembers, the clock it goes by, and the verbs.
///
///   try_acquire      now or not at all
///   try_acquire_for  waits as long as that; refuses at once where it would be in vain
///   acquire          waits for its turn; a stop gives the place back
///   async_acquire    the same for a coroutine
///   reserve          takes for an instant to come, to be given back or used
///   peek             tells, takes nothing
///   refund           gives back units that were used
///   drain            takes what is left
///   reconfigure      other numbers from here on
///
/// Who waits is served first come, first served: it takes its place at once and holds its instant,
/// or an earlier one when somebody before it leaves. Who is stopped already takes nothing. A cost
/// of 0 asks without taking; a negative one is impossible.
///
/// Threads  safe from any thread; not to be moved or destroyed while somebody waits
/// Errors   the constructor throws std::invalid_argument for numbers that make no limit
template <typename Keeper, typename Clock = DefaultClock, typename Listener = Silent>
class BasicLimiter {
 public:
  using Settings = typename Keeper::Settings;
  using Host = weir::Host<Keeper>;
  using Reservation = weir::Reservation<Host, Clock>;
  using Awaiting = weir::Awaiting<Host, Clock, Listener>;
  using Pass = LimiterPass<LimiterSource<BasicLimiter>>;

  static constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

  explicit BasicLimiter(const Settings& settings, Clock clock = {}, Listener listener = {})
      : BasicLimiter(settings, configured(settings), std::move(clock), std::move(listener)) {}

  /// A limit's text: BasicLimiter::of("100/s burst 20").
  static BasicLimiter of(std::string_view text, Clock clock = {}, Listener listener = {}) {
    return BasicLimiter(Limit::of(text), std::move(clock), std::move(listener));
  }

  Outcome try_acquire(Cost cost = 1) { return try_acquire(cost, clock_.now()); }
  Outcome try_acquire(Cost cost, SteadyInstant now) {
    const Outcome outcome = host_.try_take(now, cost);
    listener_(cost, outcome);
    return outcome;
  }

  /// The same as a gate among others (weir::chain): its pass can be withdrawn.
  Pass try_enter(const Entry& entry = {}) requires Withdrawable<typename Keeper::Machine> {
    return try_enter(entry, clock_.now());
  }
  Pass try_enter(const Entry& entry,
                 SteadyInstant now) requires Withdrawable<typename Keeper::Machine> {
    return {{this}, entry.weight, try_acquire(entry.weight, now)};
  }
  /// As if units that were granted at once had never been asked for.
  void withdraw(Cost units, const Outcome& granted, SteadyInstant now) noexcept {
    host_.withdraw(now, units, granted);
  }

  Outcome try_acquire_for(Cost cost, std::chrono::nanoseconds timeout) {
    return wait(cost, timeout, {});
  }

  Outcome acquire(Cost cost = 1) { return wait(cost, forever, {}); }
  Outcome acquire(Cost cost, const std::stop_token& stop) { return wait(cost, forever, stop); }

  /// `co_await` it: an Outcome.
  Awaiting async_acquire(Cost cost = 1, std::stop_token stop = {}) {
    return {host_, clock_, listener_, {cost, forever, std::move(stop)}};
  }
  Awaiting async_acquire_for(Cost cost, std::chrono::nanoseconds timeout,
                             std::stop_token stop = {}) {
    return {host_, clock_, listener_, {cost, timeout, std::move(stop)}};
  }

  /// Takes `cost` for the first instant that is free, if that is not later than `within` from now.
  Reservation reserve(Cost cost = 1, std::chrono::nanoseconds within = forever) {
    return reserve(cost, within, clock_.now());
  }
  Reservation reserve(Cost cost, std::chrono::nanoseconds within, SteadyInstant now) {
    Reservation reservation(host_, clock_, now, cost, within);
    listener_(cost, reservation.outcome());
    return reservation;
  }

  Standing peek(Cost cost = 1) { return host_.peek(clock_.now(), cost); }
  Standing peek(Cost cost, SteadyInstant now) { return host_.peek(now, cost); }

  /// Returns how many of the units were still owed, and are not any more.
  Cost refund(Cost units) { return host_.refund(clock_.now(), units); }
  Cost refund(Cost units, SteadyInstant now) { return host_.refund(now, units); }

  /// Takes what is left, at most so many; returns how many.
  Cost drain(Cost most) { return host_.drain(clock_.now(), most); }
  Cost drain(Cost most, SteadyInstant now) { return host_.drain(now, most); }

  /// Other numbers from here on. Waiters get new instants, reservations keep theirs.
  void reconfigure(const Settings& to, Inherit how = Inherit::as_is) {
    reconfigure(to, how, clock_.now());
  }
  void reconfigure(const Settings& to, Inherit how, SteadyInstant now) {
    host_.reconfigure(now, configured(to), how);
  }

  /// How many wait, or hold a reservation.
  std::size_t waiting() const { return host_.waiting(); }

  Host& host() noexcept { return host_; }
  const Clock& clock() const noexcept { return clock_; }
  const Listener& listener() const noexcept { return listener_; }

 private:
  using Config = typename Host::Config;

  BasicLimiter(const Settings& settings, const Config& config, Clock clock, Listener listener)
      : host_(config, Keeper::first(settings, config, clock.now())),
        clock_(std::move(clock)),
        listener_(std::move(listener)) {}

  static Config configured(const Settings& settings) {
    auto config = Keeper::configure(settings);
    if (!config) throw std::invalid_argument(std::string("limit: ") + describe(config.error()));
    return std::move(config).value();
  }

  Outcome wait(Cost cost, std::chrono::nanoseconds timeout, const std::stop_token& stop) {
    const SteadyInstant now = clock_.now();
    Outcome outcome{Verdict::denied, Refusal::stopped, now};
    if (!stop.stop_requested() && !host_.take_without_lock(now, cost, outcome)) {
      outcome = wait_in_line(cost, timeout, stop);
    }
    listener_(cost, outcome);
    return outcome;
  }

  [[gnu::noinline]] Outcome wait_in_line(Cost cost, std::chrono::nanoseconds timeout,
                                         const std::stop_token& stop) {
    SteadyInstant now = clock_.now();
    const SteadyInstant give_up_at =
        timeout < SteadyInstant::max() - now ? now + timeout : SteadyInstant::max();
    Sleeper sleeper;
    Outcome outcome = host_.take_or_join(sleeper, now, {cost, timeout});
    if (outcome.verdict != Verdict::deferred) return outcome;
    const std::stop_callback on_stop(stop, [&sleeper]() noexcept { sleeper.stop(); });
    for (;;) {
      outcome = host_.look(sleeper, now);
      if (outcome.verdict != Verdict::deferred) return outcome;
      const bool stopped = sleeper.stopped();
      if (stopped || outcome.ready_at > give_up_at) {
        static_cast<void>(host_.leave(sleeper, now));
        return {Verdict::denied, stopped ? Refusal::stopped : Refusal::limit, outcome.ready_at};
      }
      sleeper.sleep(until_next_look<Clock>(outcome.wait(now)));
      now = clock_.now();
    }
  }

  Host host_;
  [[no_unique_address]] Clock clock_;
  [[no_unique_address]] Listener listener_;
};

/// Keeps any limit that has a text.
class LimitState : public LockedState<Limit::Machine> {
 public:
  using LockedState::LockedState;
  using Settings = Limit;

  static Expected<Config, ConfigError> configure(const Limit& limit) {
    refuse_dates(limit);
    return limit.config();
  }
  static Limit::State first(const Limit& limit, const Config&, SteadyInstant now) {
    return limit.first_state(ticks(now));
  }
};

/// Any limit, under a lock: `weir::Limiter limiter = weir::Limiter::of("10/s & 1000/1d");`
using Limiter = BasicLimiter<LimitState>;

/// A token bucket that decides without a lock, at any rate up to 10^9 a second:
/// `weir::TokenBucket bucket({.count = 100, .period = 1s, .burst = 20});`
using TokenBucket = BasicLimiter<AtomicWord>;

}  // namespace weir
