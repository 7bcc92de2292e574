#include "weir/local/concurrency.hpp"

#include <algorithm>

namespace weir {

Expected<ConcurrencyHost::Config, SettingsError> ConcurrencyHost::configure(
    const Settings& wanted) noexcept {
  if (wanted.limit < 1 || wanted.limit > PriorityShares::most) {
    return SettingsError{"limit", "from 1 to 2147483647"};
  }
  if (wanted.queue > WaitingRoom::most) return SettingsError{"queue", "65536 at most"};
  const auto shares = PriorityShares::configure(wanted.ceilings);
  if (!shares) return shares.error();
  return Config{{wanted.limit, *shares}, {wanted.queue, wanted.order}};
}

ConcurrencyHost::Admitted ConcurrencyHost::try_enter_slowly(const Entry& entry) {
  const std::lock_guard lock(mutex_);
  if (room_.empty()) return answer(word_.try_enter(entry), entry);  // it was opened meanwhile
  if (!room_.is_next(entry.priority)) return Admitted::refused(Refusal::limit);
  return answer(word_.enter_closed(entry), entry);
}

ConcurrencyHost::Admitted ConcurrencyHost::enter_or_join(Waiter& waiter, SteadyInstant) {
  const std::lock_guard lock(mutex_);
  // First of all, so that who leaves from here on comes to hand its room over.
  if (room_.empty()) word_.close();
  Admitted admitted = Admitted::refused(Refusal::limit);
  if (room_.is_next(waiter.entry.priority) || !word_.is_possible(waiter.entry)) {
    admitted = answer(word_.enter_closed(waiter.entry), waiter.entry);
  }
  if (admitted.verdict == Verdict::denied) {
    Waiter* const away = room_.join(waiter);
    if (away && away != &waiter) away->moved();
    admitted = standing(waiter, waiter.entry.weight);
  }
  if (room_.empty()) word_.open();
  return admitted;
}

ConcurrencyHost::Admitted ConcurrencyHost::look(const Waiter& waiter, SteadyInstant) {
  const std::lock_guard lock(mutex_);
  return standing(waiter, waiter.entry.weight);
}

ConcurrencyHost::Admitted ConcurrencyHost::give_up(Waiter& waiter, Refusal because,
                                                   SteadyInstant) noexcept {
  const std::lock_guard lock(mutex_);
  if (waiter.state != Waiter::State::waits) return standing(waiter, waiter.entry.weight);
  room_.leave(waiter, Waiter::State::apart);
  hand_over_locked();  // those that it held back may find room
  return Admitted::refused(because);
}

void ConcurrencyHost::set_limit(std::int64_t limit, SteadyInstant) noexcept {
  const std::lock_guard lock(mutex_);
  word_.set_limit(std::clamp(limit, std::int64_t{1}, PriorityShares::most));
  if (room_.empty()) return;
  room_.for_each([this](Waiter& waiter) {
    if (word_.is_possible(waiter.entry)) return;
    room_.leave(waiter, Waiter::State::impossible);
    waiter.moved();
  });
  hand_over_locked();
}

void ConcurrencyHost::hand_over() noexcept {
  const std::lock_guard lock(mutex_);
  if (!room_.empty()) hand_over_locked();
}

void ConcurrencyHost::hand_over_locked() noexcept {
  while (Waiter* const first = room_.first()) {
    const auto entered = word_.enter_closed(first->entry);
    if (entered.answer != Answer::entered) return;
    first->in_flight = entered.in_flight;
    room_.leave(*first, Waiter::State::let_in);
    first->moved();
  }
  word_.open();
}

}  // namespace weir
