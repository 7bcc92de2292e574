// Leaves a store alone that does not answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "weir/overload/circuit_breaker.hpp"
#include "weir/redis/policy.hpp"
#include "weir/redis/trouble.hpp"

namespace weir::redis {

/// What an ended call says of the store's health: one that refuses is well.
CallEnd end_of(TroubleKind kind) noexcept;

/// A circuit breaker over the last calls. Each time it opens it stays so for `probe_every` and up
/// to half as long again, by chance, so that many processes do not probe together.
///
/// Threads  safe from any
/// Errors   the constructor throws std::invalid_argument and names the setting
class StoreBreaker {
 public:
  StoreBreaker(const Policy& policy, std::uint64_t seed);

  /// Whether a call may go out: its ticket, or 0.
  Breaker::Ticket enter(SteadyInstant now);

  Circuit circuit() const;

  /// A call with this ticket has ended.
  void observe(Breaker::Ticket ticket, const CallSample& sample);

 private:
  std::chrono::nanoseconds probe_every_;
  mutable std::mutex mutex_;
  Breaker::Config config_;
  Breaker::State state_;
  std::uint64_t random_;
};

}  // namespace weir::redis
