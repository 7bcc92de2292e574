// Those who wait until there is room, in the order in which they are to be served.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weir/overload/call.hpp"

namespace weir {

enum class QueueOrder : std::uint8_t {
  first_come,    ///< who waits longest is served first; where all places are taken nobody joins
  newest_first,  ///< who came last is served first; where all are taken the oldest is turned away
};

/// One who waits. Whoever keeps the room reads and writes it under its lock.
class Waiter {
 public:
  enum class State : std::uint8_t {
    apart,
    waits,
    let_in,       ///< it holds what it wanted
    turned_away,  ///< for want of a place
    impossible,   ///< the limit has become less than what it wants
  };

  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// Told under the lock that it waits no more.
  virtual void moved() noexcept = 0;

  Entry entry{};
  State state = State::apart;
  std::int64_t in_flight = 0;  ///< with itself, where it was let in
  std::uint64_t held = 0;      ///< what its host knows it by then, where it needs to

 protected:
  ~Waiter() = default;

 private:
  friend class WaitingRoom;
  Waiter* sooner_ = nullptr;  ///< served before it, of its priority
  Waiter* later_ = nullptr;
};

/// A line for each priority; the most urgent is served first. It neither locks nor allocates.
///
/// Bound    `places`: when one more joins, whoever would be served last is turned away
/// Cost     each function takes the same time for any number of waiters, for_each apart
class WaitingRoom {
 public:
  static constexpr std::size_t most = 65'536;

  struct Settings {
    std::size_t places;  ///< `most` at most
    QueueOrder order;
  };

  explicit WaitingRoom(const Settings& settings) noexcept : settings_(settings) {}

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

  /// Who is served next; nobody is served before it, though it wants more than there is.
  Waiter* first() const noexcept {
    for (const Line& line : lines_) {
      if (line.first) return line.first;
    }
    return nullptr;
  }

  /// Whether one who comes now would be served next.
  bool is_next(Priority priority) const noexcept {
    const auto own = static_cast<std::size_t>(priority);
    for (std::size_t at = 0; at < own; ++at) {
      if (lines_[at].first) return false;
    }
    return settings_.order == QueueOrder::newest_first || !lines_[own].first;
  }

  /// Returns who is turned away for it, which may be itself; it is out of line then.
  Waiter* join(Waiter& waiter) noexcept {
    Line& line = line_of(waiter);
    if (settings_.order == QueueOrder::first_come) {
      waiter.sooner_ = line.last;
      waiter.later_ = nullptr;
    } else {
      waiter.sooner_ = nullptr;
      waiter.later_ = line.first;
    }
    (waiter.sooner_ ? waiter.sooner_->later_ : line.first) = &waiter;
    (waiter.later_ ? waiter.later_->sooner_ : line.last) = &waiter;
    waiter.state = Waiter::State::waits;
    if (++size_ <= settings_.places) return nullptr;
    Waiter* const last = served_last();
    leave(*last, Waiter::State::turned_away);
    return last;
  }

  /// Requires one who waits.
  void leave(Waiter& waiter, Waiter::State to) noexcept {
    Line& line = line_of(waiter);
    (waiter.sooner_ ? waiter.sooner_->later_ : line.first) = waiter.later_;
    (waiter.later_ ? waiter.later_->sooner_ : line.last) = waiter.sooner_;
    waiter.sooner_ = waiter.later_ = nullptr;
    waiter.state = to;
    --size_;
  }

  /// Calls for each who waits; it may leave meanwhile.
  template <typename Act>
  void for_each(Act&& act) {
    for (Line& line : lines_) {
      for (Waiter* waiter = line.first; waiter;) {
        Waiter& one = *waiter;
        waiter = one.later_;
        act(one);
      }
    }
  }

 private:
  struct Line {
    Waiter* first = nullptr;
    Waiter* last = nullptr;
  };

  Line& line_of(const Waiter& waiter) noexcept {
    return lines_[static_cast<std::size_t>(waiter.entry.priority)];
  }

  Waiter* served_last() const noexcept {
    for (std::size_t at = priorities; at-- > 0;) {
      if (lines_[at].last) return lines_[at].last;
    }
    return nullptr;
  }

  Settings settings_;
  std::array<Line, priorities> lines_{};
  std::size_t size_ = 0;
};

}  // namespace weir
