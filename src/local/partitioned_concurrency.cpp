#include "weir/local/partitioned_concurrency.hpp"

#include <algorithm>

namespace weir {

using Admitted = PartitionedHost::Admitted;

Admitted PartitionedHost::try_enter(std::size_t partition, const Entry& entry) noexcept {
  const std::lock_guard lock(mutex_);
  return enter(partition, entry);
}

void PartitionedHost::leave(std::size_t partition, std::int64_t weight) noexcept {
  const std::lock_guard lock(mutex_);
  partitions_.leave(partition, weight);
  hand_over();
}

Admitted PartitionedHost::enter_or_join(std::size_t partition, Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  const Admitted admitted = enter(partition, waiter.entry);
  if (admitted.verdict != Verdict::denied) return admitted;
  Waiter* const away = rooms_[partition].join(waiter);
  if (!away) {
    ++waiting_;
  } else if (away != &waiter) {
    away->moved();
  }
  hand_over();  // it may stand before one that wants more
  return standing(waiter, waiter.entry.weight);
}

Admitted PartitionedHost::look(const Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  return standing(waiter, waiter.entry.weight);
}

Admitted PartitionedHost::give_up(std::size_t partition, Waiter& waiter, Refusal because) noexcept {
  const std::lock_guard lock(mutex_);
  if (waiter.state != Waiter::State::waits) return standing(waiter, waiter.entry.weight);
  rooms_[partition].leave(waiter, Waiter::State::apart);
  --waiting_;
  hand_over();  // those that it held back may find room
  return Admitted::refused(because);
}

void PartitionedHost::set_limit(std::int64_t limit) noexcept {
  const std::lock_guard lock(mutex_);
  partitions_.set_limit(std::clamp(limit, std::int64_t{1}, Partitions::most));
  for (std::size_t at = 0; at < rooms_.size(); ++at) {
    rooms_[at].for_each([&](Waiter& waiter) {
      if (partitions_.is_possible(at, waiter.entry.weight)) return;
      rooms_[at].leave(waiter, Waiter::State::impossible);
      --waiting_;
      waiter.moved();
    });
  }
  hand_over();
}

Admitted PartitionedHost::enter(std::size_t partition, const Entry& entry) noexcept {
  if (!partitions_.is_possible(partition, entry.weight)) return Admitted::impossible();
  // Whoever waits, waits for room that is open to all.
  const bool fits = waiting_ == 0 ? partitions_.fits(partition, entry.weight)
                                  : rooms_[partition].is_next(entry.priority) &&
                                        partitions_.fits_guarantee(partition, entry.weight);
  if (!fits) return Admitted::refused(Refusal::limit);
  partitions_.enter(partition, entry.weight);
  return Admitted::granted(partitions_.in_flight(), entry.weight);
}

void PartitionedHost::hand_over() noexcept {
  if (waiting_ == 0) return;
  for (std::size_t at = 0; at < rooms_.size(); ++at) {
    while (hand_over_guaranteed(at)) {
    }
  }
  while (waiting_ > 0) {
    while (rooms_[turn_].empty()) turn_ = (turn_ + 1) % rooms_.size();
    Waiter& first = *rooms_[turn_].first();
    if (!partitions_.fits(turn_, first.entry.weight)) return;
    let_in(turn_, first);
    turn_ = (turn_ + 1) % rooms_.size();
  }
}

bool PartitionedHost::hand_over_guaranteed(std::size_t partition) noexcept {
  Waiter* const first = rooms_[partition].first();
  if (!first || !partitions_.fits_guarantee(partition, first->entry.weight)) return false;
  let_in(partition, *first);
  return true;
}

void PartitionedHost::let_in(std::size_t partition, Waiter& waiter) noexcept {
  partitions_.enter(partition, waiter.entry.weight);
  waiter.in_flight = partitions_.in_flight();
  rooms_[partition].leave(waiter, Waiter::State::let_in);
  --waiting_;
  waiter.moved();
}

}  // namespace weir
