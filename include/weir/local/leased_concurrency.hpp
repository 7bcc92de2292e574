// A concurrency limit whose permits end by themselves.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "weir/local/concurrency.hpp"
#include "weir/overload/leased_permits.hpp"

namespace weir {

/// The leases of a concurrency limit, their lock, and those who wait.
class LeasedHost {
 public:
  using Holding = LeasedPermits::Lease;
  using Admitted = Admission<Holding>;
  static constexpr bool expires = true;

  struct Settings {
    std::int64_t limit;                  ///< weight in flight at once; 1 to 2^20
    std::chrono::nanoseconds lease_for;  ///< what is held longer is free again; > 0
    std::size_t queue = 0;               ///< as many may wait; 65 536 at most
    QueueOrder order = QueueOrder::first_come;
    Ceilings ceilings{};
  };
  struct Config {
    LeasedPermits::Config permits;
    WaitingRoom::Settings room;
  };
  static Expected<Config, SettingsError> configure(const Settings& wanted) noexcept;

  explicit LeasedHost(const Config& config) : permits_(config.permits), room_(config.room) {}

  Admitted try_enter(const Entry& entry, SteadyInstant now) noexcept;
  bool leave(const Holding& lease, SteadyInstant now) noexcept;
  bool renew(const Holding& lease, SteadyInstant now) noexcept;

  Admitted enter_or_join(Waiter& waiter, SteadyInstant now) noexcept;
  Admitted look(const Waiter& waiter, SteadyInstant now) noexcept;
  Admitted give_up(Waiter& waiter, Refusal because, SteadyInstant now) noexcept;
  SteadyInstant changes_at() const noexcept;

  void set_limit(std::int64_t limit, SteadyInstant now);

  std::int64_t limit() const noexcept;
  std::int64_t in_flight() const noexcept;
  std::size_t waiting() const noexcept;

 private:
  Admitted enter(const Entry& entry, SteadyInstant now) noexcept;
  void settle(SteadyInstant now) noexcept;
  void hand_over(SteadyInstant now) noexcept;

  mutable std::mutex mutex_;
  LeasedPermits permits_;
  WaitingRoom room_;
};

/// A concurrency limit for holders that may never come back: what is held longer than `lease_for`
/// is free again, and ending it later changes nothing and is told to nobody. Permit::renew() holds
/// on. The verbs are those of BasicConcurrencyLimit.
///
/// A holder whose lease has ended may still be at work; then more is at work than the limit. So
/// `lease_for` is longer than any call takes that is not lost.
///
/// That a lease has ended is noticed by the next that asks, or by who waits; until then in_flight()
/// counts it.
///
/// Bound    the weight whose leases last is never let in above the limit, or the priority's ceiling
/// Memory   24 bytes for each unit of the limit
/// Threads  as BasicConcurrencyLimit
/// Cost     a lock and a clock reading to enter, to leave and to renew
/// Errors   as BasicConcurrencyLimit; std::bad_alloc where the limit is raised above all before
template <typename Clock = DefaultClock, typename Listener = NoSamples>
using BasicLeasedConcurrencyLimit = BasicConcurrencyLimit<Clock, Listener, LeasedHost>;

/// `weir::LeasedConcurrencyLimit limit({.limit = 20, .lease_for = 30s});`
using LeasedConcurrencyLimit = BasicLeasedConcurrencyLimit<>;

}  // namespace weir
