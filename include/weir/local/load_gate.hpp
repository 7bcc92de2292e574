// Lets no more calls in than a loaded machine can do.
#pragma once

#include <cmath>
#include <cstdint>
#include <mutex>
#include <utility>

#include "weir/local/clocks.hpp"
#include "weir/local/gate_pass.hpp"
#include "weir/local/machine_load.hpp"
#include "weir/local/refuse_settings.hpp"
#include "weir/overload/elapsed.hpp"
#include "weir/overload/load_shedder.hpp"

namespace weir {

/// Sheds calls while this machine or process is loaded, the least important first, and only those
/// beyond what the service has shown it can do (LoadShedder):
///
///   weir::LoadGate gate({.above = {.machine_cpu = 850, .cpu_pressure = 600}});
///   weir::LoadGate::Pass pass = gate.try_enter({.priority = weir::Priority::sheddable});
///   if (!pass) return reply_503();
///   pass.end(answer() ? weir::CallEnd::success : weir::CallEnd::failure);
///
/// There is no thread: once in each `sample_every` one of the calls takes the readings before it is
/// judged, and the others are judged by those there are. Whoever lets no call in for long takes no
/// readings.
///
/// Bound    LoadShedder's
/// Memory   2 KB
/// Threads  safe from any thread; no call waits for a reading of another
/// Cost     a lock when a call comes and one when it ends; some 80 us for the call that reads
/// Errors   the constructor throws std::invalid_argument for settings that are no good, bad_alloc
template <typename Clock = DefaultClock, typename Source = MachineLoad>
class BasicLoadGate {
 public:
  using Settings = LoadShedder::Settings;

  /// Why a call was refused.
  struct Refused {
    LoadGauge because{};     ///< the first gauge that is above its level
    std::int32_t reading{};  ///< of it, per mille
    std::int64_t in_flight{};
    std::int64_t capacity{};   ///< see LoadShedder; rounded
    SteadyInstant since{};     ///< when shedding of such calls began
    SteadyInstant ready_at{};  ///< now: it hangs on the calls in flight
  };
  /// What the gate knows of a call in flight.
  struct Ticket {
    SteadyInstant entered_at{};
    std::int64_t weight = 1;
    std::int64_t in_flight = 1;
  };
  using Pass = GatePass<BasicLoadGate>;

  explicit BasicLoadGate(const Settings& settings, Clock clock = {}, Source source = {})
      : config_(configured(settings)), clock_(std::move(clock)), source_(std::move(source)) {}

  BasicLoadGate(const BasicLoadGate&) = delete;
  BasicLoadGate& operator=(const BasicLoadGate&) = delete;

  Pass try_enter(const Entry& entry = {}) { return try_enter(entry, clock_.now()); }
  Pass try_enter(const Entry& entry, SteadyInstant now) {
    std::unique_lock lock(mutex_);
    if (!sampling_ && LoadShedder::wants_readings(config_, state_, now)) [[unlikely]] {
      take_readings(lock, now);
    }
    if (LoadShedder::refuses(config_, state_, entry, now)) return Pass(refusal(entry, now));
    LoadShedder::enter(state_, entry.weight, now);
    return Pass(*this, {now, entry.weight, state_.in_flight});
  }

  struct Stats {
    LoadReadings readings{};     ///< smoothed
    std::int64_t in_flight = 0;  ///< weights
    std::int64_t capacity = -1;  ///< rounded; -1: not known
    std::uint64_t samples = 0;   ///< readings taken
    std::uint64_t refused = 0;
  };
  Stats stats() { return stats(clock_.now()); }
  Stats stats(SteadyInstant now) {
    const std::lock_guard lock(mutex_);
    const LoadShedder::Capacity able = LoadShedder::capacity(config_, state_, now);
    const bool known = able.room == LoadShedder::Room::known;
    const auto& read = state_.readings;
    return {.readings = {rounded(read[0]), rounded(read[1]), rounded(read[2]), rounded(read[3]),
                         rounded(read[4])},
            .in_flight = state_.in_flight,
            .capacity = known ? rounded_weight(able) : -1,
            .samples = samples_,
            .refused = refused_};
  }

  const Clock& clock() const noexcept { return clock_; }

 private:
  friend Pass;

  static LoadShedder::Config configured(const Settings& settings) {
    const auto config = LoadShedder::configure(settings);
    if (config) return *config;
    refuse_settings("load gate", config.error());
  }
  static std::int32_t rounded(double reading) noexcept {
    return reading < 0 ? LoadReadings::unknown : static_cast<std::int32_t>(reading);
  }

  static std::int64_t rounded_weight(const LoadShedder::Capacity& able) noexcept {
    return std::llround(able.weight);
  }

  /// Reads without the lock; `sampling_` keeps others off the source, and hands it on to the next.
  [[gnu::noinline]] void take_readings(std::unique_lock<std::mutex>& lock, SteadyInstant now) {
    sampling_ = true;
    lock.unlock();
    static_assert(noexcept(source_.read()), "what throws here would end all reading");
    const LoadReadings readings = source_.read();
    lock.lock();
    sampling_ = false;
    ++samples_;
    LoadShedder::observe(config_, state_, readings, now);
  }

  Refused refusal(const Entry& entry, SteadyInstant now) {
    ++refused_;
    const LoadShedder::Shedding& shedding = LoadShedder::shedding(state_, entry.priority);
    const LoadShedder::Capacity able = LoadShedder::capacity(config_, state_, now);
    return {.because = shedding.because,
            .reading = rounded(state_.readings[static_cast<std::size_t>(shedding.because)]),
            .in_flight = state_.in_flight,
            .capacity = rounded_weight(able),
            .since = shedding.since,
            .ready_at = now};
  }

  void end(const Ticket& ticket, CallEnd how, SteadyInstant now) {
    const std::lock_guard lock(mutex_);
    LoadShedder::end(config_, state_, ticket.weight,
                     {.ended_at = now,
                      .latency = elapsed(ticket.entered_at, now),
                      .in_flight = ticket.in_flight,
                      .end = how});
  }
  void withdraw(const Ticket& ticket, SteadyInstant) {
    const std::lock_guard lock(mutex_);
    LoadShedder::withdraw(state_, ticket.weight);
  }

  const LoadShedder::Config config_;
  [[no_unique_address]] Clock clock_;
  std::mutex mutex_;  ///< of all below but the source
  LoadShedder::State state_;
  bool sampling_ = false;
  std::uint64_t samples_ = 0;
  std::uint64_t refused_ = 0;
  Source source_;  ///< whoever set `sampling_` reads it
};

using LoadGate = BasicLoadGate<>;

}  // namespace weir
