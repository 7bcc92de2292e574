// Asks less of a backend the less of it the backend takes.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "weir/local/clocks.hpp"
#include "weir/local/gate_pass.hpp"
#include "weir/local/keyed_hash.hpp"
#include "weir/local/refuse_settings.hpp"
#include "weir/overload/accept_ratio.hpp"

namespace weir {

/// Stands before calls to a backend, and refuses here what would most likely be refused there
/// (AcceptRatio):
///
///   weir::AcceptRatioGate gate({.window = 30s});
///   weir::AcceptRatioGate::Pass pass = gate.try_enter();
///   if (!pass) return fallback();
///   const Reply reply = ask_backend();
///   pass.end(reply.overloaded ? weir::CallEnd::dropped : weir::CallEnd::success);
///
/// One gate for each backend. A call counts once, whatever its weight.
///
/// Bound    AcceptRatio's
/// Memory   4.5 KB
/// Threads  safe from any thread
/// Cost     a lock when a call comes and one when it ends
/// Errors   the constructor throws std::invalid_argument for settings that are no good
template <typename Clock = DefaultClock>
class BasicAcceptRatioGate {
 public:
  using Settings = AcceptRatio::Settings;

  /// Why a call was refused.
  struct Refused {
    double probability{};      ///< of the refusal
    SteadyInstant ready_at{};  ///< now: the next call draws anew
  };
  /// What the gate knows of a call in flight.
  struct Ticket {
    Priority priority = Priority::normal;
  };
  using Pass = GatePass<BasicAcceptRatioGate>;

  explicit BasicAcceptRatioGate(const Settings& settings = {}, Clock clock = {})
      : config_(configured(settings)),
        clock_(std::move(clock)),
        state_(AcceptRatio::first(config_)) {}

  BasicAcceptRatioGate(const BasicAcceptRatioGate&) = delete;
  BasicAcceptRatioGate& operator=(const BasicAcceptRatioGate&) = delete;

  Pass try_enter(const Entry& entry = {}) { return try_enter(entry, clock_.now()); }
  Pass try_enter(const Entry& entry, SteadyInstant now) {
    const std::lock_guard lock(mutex_);
    const double probability = AcceptRatio::refused_at(config_, state_, entry.priority, now);
    if (probability > 0) return Pass(Refused{probability, now});
    return Pass(*this, {entry.priority});
  }

  /// What the last window held, and what it comes to.
  struct Standing {
    AcceptRatio::Counts counts{};
    double refusal = 0;  ///< the probability
  };
  Standing peek(Priority priority = Priority::normal) { return peek(priority, clock_.now()); }
  Standing peek(Priority priority, SteadyInstant now) {
    const std::lock_guard lock(mutex_);
    const double refusal = AcceptRatio::refusal(config_, state_, priority, now);
    return {AcceptRatio::counts(state_, priority), refusal};
  }

  const Clock& clock() const noexcept { return clock_; }

 private:
  friend Pass;

  static AcceptRatio::Config configured(const Settings& settings) {
    auto config = AcceptRatio::configure(settings);
    if (!config) refuse_settings("accept ratio", config.error());
    AcceptRatio::Config seeded = *config;
    if (seeded.seed == 0) seeded.seed = HashKey::random().first;
    return seeded;
  }

  void end(const Ticket& ticket, CallEnd how, SteadyInstant now) {
    const std::lock_guard lock(mutex_);
    AcceptRatio::end(config_, state_, ticket.priority, {.ended_at = now, .end = how});
  }
  void withdraw(const Ticket&, SteadyInstant) noexcept {}  // nothing was counted

  const AcceptRatio::Config config_;
  [[no_unique_address]] Clock clock_;
  std::mutex mutex_;
  AcceptRatio::State state_;
};

using AcceptRatioGate = BasicAcceptRatioGate<>;

}  // namespace weir
