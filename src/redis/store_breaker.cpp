#include "redis/store_breaker.hpp"

#include "weir/local/refuse_settings.hpp"
#include "weir/overload/chance.hpp"

namespace weir::redis {
namespace {

Breaker::Config configured(const Policy& policy) {
  Breaker::Settings settings;
  settings.error_count = policy.breaker.failures;
  settings.minimum_calls = policy.breaker.failures;
  settings.window_calls = policy.breaker.calls;
  settings.open_for = policy.breaker.probe_every;
  settings.probe_for = 2 * policy.deadline + policy.breaker.probe_every;
  const auto config = Breaker::configure(settings);
  if (!config) refuse_settings("store's breaker", config.error());
  return *config;
}

}  // namespace

CallEnd end_of(TroubleKind kind) noexcept {
  switch (kind) {
    case TroubleKind::timed_out:
    case TroubleKind::unreachable:
    case TroubleKind::unavailable: return CallEnd::dropped;
    case TroubleKind::none:
    case TroubleKind::refused:
    case TroubleKind::garbled: break;
  }
  return CallEnd::success;
}

StoreBreaker::StoreBreaker(const Policy& policy, std::uint64_t seed)
    : probe_every_(policy.breaker.probe_every), config_(configured(policy)), random_(seed) {}

Breaker::Ticket StoreBreaker::enter(SteadyInstant now) {
  const std::lock_guard lock(mutex_);
  return Breaker::enter(config_, state_, now).ticket;
}

Circuit StoreBreaker::circuit() const {
  const std::lock_guard lock(mutex_);
  return state_.circuit;
}

void StoreBreaker::observe(Breaker::Ticket ticket, const CallSample& sample) {
  const std::lock_guard lock(mutex_);
  const auto most = static_cast<std::uint64_t>(probe_every_.count() / 2) + 1;
  config_.open_for = probe_every_ + std::chrono::nanoseconds{next_random(random_) % most};
  config_.longest_open_for = config_.open_for;
  Breaker::observe(config_, state_, ticket, sample);
}

}  // namespace weir::redis
