#include "weir/local/leased_concurrency.hpp"

#include <algorithm>

namespace weir {
namespace {

std::uint64_t packed(const LeasedPermits::Lease& lease) noexcept {
  return (std::uint64_t{lease.number} << 32) | lease.slot;
}

LeasedHost::Admitted standing_of(const Waiter& waiter) noexcept {
  return standing(waiter, LeasedPermits::Lease{static_cast<std::uint32_t>(waiter.held),
                                               static_cast<std::uint32_t>(waiter.held >> 32)});
}

}  // namespace

Expected<LeasedHost::Config, SettingsError> LeasedHost::configure(const Settings& wanted) noexcept {
  if (wanted.limit < 1 || wanted.limit > LeasedPermits::most) {
    return SettingsError{"limit", "from 1 to 1048576"};
  }
  if (wanted.lease_for <= std::chrono::nanoseconds{0}) {
    return SettingsError{"lease_for", "above 0"};
  }
  if (wanted.queue > WaitingRoom::most) return SettingsError{"queue", "65536 at most"};
  const auto shares = PriorityShares::configure(wanted.ceilings);
  if (!shares) return shares.error();
  return Config{{wanted.limit, wanted.lease_for, *shares}, {wanted.queue, wanted.order}};
}

LeasedHost::Admitted LeasedHost::try_enter(const Entry& entry, SteadyInstant now) noexcept {
  const std::lock_guard lock(mutex_);
  settle(now);
  return enter(entry, now);
}

bool LeasedHost::leave(const Holding& lease, SteadyInstant now) noexcept {
  const std::lock_guard lock(mutex_);
  const bool held = permits_.leave(lease, now);
  hand_over(now);
  return held;
}

bool LeasedHost::renew(const Holding& lease, SteadyInstant now) noexcept {
  const std::lock_guard lock(mutex_);
  const bool held = permits_.renew(lease, now);
  hand_over(now);
  return held;
}

LeasedHost::Admitted LeasedHost::enter_or_join(Waiter& waiter, SteadyInstant now) noexcept {
  const std::lock_guard lock(mutex_);
  settle(now);
  const Admitted admitted = enter(waiter.entry, now);
  if (admitted.verdict != Verdict::denied) return admitted;
  Waiter* const away = room_.join(waiter);
  if (away && away != &waiter) away->moved();
  return standing_of(waiter);
}

LeasedHost::Admitted LeasedHost::look(const Waiter& waiter, SteadyInstant now) noexcept {
  const std::lock_guard lock(mutex_);
  settle(now);
  return standing_of(waiter);
}

LeasedHost::Admitted LeasedHost::give_up(Waiter& waiter, Refusal because,
                                         SteadyInstant now) noexcept {
  const std::lock_guard lock(mutex_);
  if (waiter.state != Waiter::State::waits) return standing_of(waiter);
  room_.leave(waiter, Waiter::State::apart);
  permits_.expire(now);
  hand_over(now);  // those that it held back may find room
  return Admitted::refused(because);
}

SteadyInstant LeasedHost::changes_at() const noexcept {
  const std::lock_guard lock(mutex_);
  return permits_.expires_at();
}

void LeasedHost::set_limit(std::int64_t limit, SteadyInstant now) {
  const std::lock_guard lock(mutex_);
  permits_.set_limit(std::clamp(limit, std::int64_t{1}, LeasedPermits::most));
  room_.for_each([this](Waiter& waiter) {
    if (permits_.is_possible(waiter.entry)) return;
    room_.leave(waiter, Waiter::State::impossible);
    waiter.moved();
  });
  permits_.expire(now);
  hand_over(now);
}

std::int64_t LeasedHost::limit() const noexcept {
  const std::lock_guard lock(mutex_);
  return permits_.limit();
}

std::int64_t LeasedHost::in_flight() const noexcept {
  const std::lock_guard lock(mutex_);
  return permits_.in_flight();
}

std::size_t LeasedHost::waiting() const noexcept {
  const std::lock_guard lock(mutex_);
  return room_.size();
}

LeasedHost::Admitted LeasedHost::enter(const Entry& entry, SteadyInstant now) noexcept {
  if (!permits_.is_possible(entry)) return Admitted::impossible();
  if (!room_.is_next(entry.priority) || !permits_.fits(entry)) {
    return Admitted::refused(Refusal::limit);
  }
  const auto lease = permits_.enter(entry, now);
  return Admitted::granted(permits_.in_flight(), lease);
}

void LeasedHost::settle(SteadyInstant now) noexcept {
  if (permits_.expire(now) > 0) hand_over(now);
}

void LeasedHost::hand_over(SteadyInstant now) noexcept {
  for (Waiter* first = room_.first(); first && permits_.fits(first->entry); first = room_.first()) {
    first->held = packed(permits_.enter(first->entry, now));
    first->in_flight = permits_.in_flight();
    room_.leave(*first, Waiter::State::let_in);
    first->moved();
  }
}

}  // namespace weir
