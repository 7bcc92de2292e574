// A circuit breaker for the threads of a process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <utility>

#include "weir/local/clocks.hpp"
#include "weir/local/gate_pass.hpp"
#include "weir/local/refuse_settings.hpp"
#include "weir/overload/circuit_breaker.hpp"
#include "weir/overload/elapsed.hpp"

namespace weir {

/// A circuit has turned.
struct CircuitChange {
  Circuit from = Circuit::closed;
  Circuit to = Circuit::closed;
  SteadyInstant at{};
};

/// Hears of every turn of a circuit: listener(change), outside the lock and in the order of the
/// turns, in the thread of one whose call turned it. This one hears nothing and costs nothing.
struct SilentOnChanges {
  void operator()(const CircuitChange&) const noexcept {}
};

/// A circuit breaker; see Breaker for what opens and closes it.
///
///   try_enter      let in, or refused; returns a Pass, which is told how the call ended
///   force_open     lets nothing in, until force_close() or reset()
///   force_close    lets all in and counts nothing, until force_open() or reset()
///   reset          closed, nothing counted, and by itself from here on
///   state          closed, open, half_open
///   standing       the same, the counts of its window and the probes under way
///
/// A listener may call any verb. While it works others do not wait for it: what they turn is told
/// by the thread that is telling already. Of 16 turns that wait to be told, the last and those that
/// come then are told as one.
///
/// Bound    as Breaker's: counted from outside, at any instant and by any number of threads
/// Memory   3 kB
/// Threads  safe from any thread; not to be destroyed while a pass is out
/// Cost     closed, a load to enter and a lock to end; else a lock for each. Each reads the clock
/// Errors   the constructor throws std::invalid_argument and names the setting
/// Requires a listener that does not throw
template <typename Clock = DefaultClock, typename Listener = SilentOnChanges>
class BasicCircuitBreaker {
 public:
  using Settings = Breaker::Settings;

  /// Why a call was not let in.
  struct Refused {
    Circuit circuit = Circuit::closed;  ///< open, or half_open with all its probes under way
    SteadyInstant since{};              ///< it is so
    SteadyInstant ready_at{};  ///< when to ask again; now, where others' calls or hands decide
  };

  /// What the breaker knows of a call in flight.
  struct Ticket {
    Breaker::Ticket number = 0;
    SteadyInstant entered_at{};
  };
  using Pass = GatePass<BasicCircuitBreaker>;

  explicit BasicCircuitBreaker(const Settings& settings, Clock clock = {}, Listener listener = {})
      : config_(configured(settings)), clock_(std::move(clock)), listener_(std::move(listener)) {}

  BasicCircuitBreaker(const BasicCircuitBreaker&) = delete;
  BasicCircuitBreaker& operator=(const BasicCircuitBreaker&) = delete;

  Pass try_enter(const Entry& entry = {}) { return try_enter(entry, clock_.now()); }
  Pass try_enter(const Entry&, SteadyInstant now) {
    // Who reads a ticket that is just being withdrawn has come before it was.
    const Breaker::Ticket ticket = closed_ticket_.load(std::memory_order_relaxed);
    if (ticket != 0) [[likely]]
      return Pass(*this, {ticket, now});
    return try_enter_slowly(now);
  }

  void force_open() { force_open(clock_.now()); }
  void force_open(SteadyInstant now) {
    change([&] { Breaker::open(state_, now); });
  }
  void force_close() { force_close(clock_.now()); }
  void force_close(SteadyInstant now) {
    change([&] { Breaker::close(state_, now); });
  }
  void reset() { reset(clock_.now()); }
  void reset(SteadyInstant now) {
    change([&] { Breaker::reset(state_, now); });
  }

  Circuit state() const {
    const std::lock_guard lock(mutex_);
    return state_.circuit;
  }
  Breaker::Standing standing() const { return standing(clock_.now()); }
  Breaker::Standing standing(SteadyInstant now) const {
    const std::lock_guard lock(mutex_);
    return Breaker::standing(config_, state_, now);
  }

  const Clock& clock() const noexcept { return clock_; }
  const Listener& listener() const noexcept { return listener_; }

 private:
  friend Pass;

  static constexpr bool listens = !std::is_same_v<Listener, SilentOnChanges>;

  /// Turns that wait to be told.
  struct Told {
    static constexpr std::size_t most = 16;

    void push(const CircuitChange& change) noexcept {
      if (count == most) {
        CircuitChange& last = waiting[(first + count - 1) % most];
        last = {last.from, change.to, change.at};
      } else {
        waiting[(first + count++) % most] = change;
      }
    }
    CircuitChange pop() noexcept {
      const CircuitChange change = waiting[first];
      first = (first + 1) % most;
      --count;
      return change;
    }

    std::array<CircuitChange, most> waiting{};
    std::size_t first = 0;
    std::size_t count = 0;
    bool telling = false;  ///< some thread is at it
  };
  struct Nothing {};

  static Breaker::Config configured(const Settings& settings) {
    const auto config = Breaker::configure(settings);
    if (config) return *config;
    refuse_settings("circuit breaker", config.error());
  }

  [[gnu::noinline]] Pass try_enter_slowly(SteadyInstant now) {
    Breaker::Answer answer;
    Refused refused;
    change([&] {
      answer = Breaker::enter(config_, state_, now);
      refused = {state_.circuit, state_.since, answer.ready_at};
    });
    return answer.ticket != 0 ? Pass(*this, {answer.ticket, now}) : Pass(refused);
  }

  void end(const Ticket& ticket, CallEnd how, SteadyInstant now) noexcept {
    if (how == CallEnd::ignored && is_of_now(ticket)) return;
    const CallSample sample{
        .ended_at = now, .latency = elapsed(ticket.entered_at, now), .end = how};
    change([&] { Breaker::observe(config_, state_, ticket.number, sample); });
  }

  void withdraw(const Ticket& ticket, SteadyInstant now) noexcept {
    if (is_of_now(ticket)) return;
    change([&] { Breaker::withdraw(config_, state_, ticket.number, now); });
  }

  /// Of a closed circuit there is nothing to give back.
  bool is_of_now(const Ticket& ticket) const noexcept {
    return closed_ticket_.load(std::memory_order_relaxed) == ticket.number;
  }

  /// Does it under the lock, and tells of a turn outside of it.
  template <typename Step>
  void change(Step&& step) {
    std::unique_lock lock(mutex_);
    const Circuit before = state_.circuit;
    step();
    if (state_.closed_ticket != closed_ticket_.load(std::memory_order_relaxed)) [[unlikely]] {
      closed_ticket_.store(state_.closed_ticket, std::memory_order_relaxed);
    }
    if constexpr (listens) {
      if (state_.circuit == before) [[likely]]
        return;
      told_.push({before, state_.circuit, state_.since});
      tell(lock);
    }
  }

  [[gnu::noinline]] void tell(std::unique_lock<std::mutex>& lock) noexcept {
    if (std::exchange(told_.telling, true)) return;
    while (told_.count > 0) {
      const CircuitChange change = told_.pop();
      lock.unlock();
      listener_(change);
      lock.lock();
    }
    told_.telling = false;
  }

  std::atomic<Breaker::Ticket> closed_ticket_{Breaker::State{}.closed_ticket};
  Breaker::Config config_;
  [[no_unique_address]] Clock clock_;
  [[no_unique_address]] Listener listener_;
  mutable std::mutex mutex_;
  Breaker::State state_;
  [[no_unique_address]] std::conditional_t<listens, Told, Nothing> told_;
};

/// `weir::CircuitBreaker breaker({.error_ratio = 0.5, .minimum_calls = 20});`
using CircuitBreaker = BasicCircuitBreaker<>;

}  // namespace weir
