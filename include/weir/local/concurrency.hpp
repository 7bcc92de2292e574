// A limit on how much is in flight at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "weir/local/concurrency_word.hpp"
#include "weir/local/permit_gate.hpp"
#include "weir/local/refuse_settings.hpp"
#include "weir/local/waiting_room.hpp"
#include "weir/vocabulary.hpp"

namespace weir {

/// The word of a concurrency limit, its lock, and those who wait.
class ConcurrencyHost {
 public:
  /// The weight, as it was told.
  using Holding = std::int64_t;
  using Admitted = Admission<Holding>;
  static constexpr bool expires = false;

  struct Settings {
    std::int64_t limit;     ///< weight in flight at once; 1 to 2^31 - 1
    std::size_t queue = 0;  ///< as many may wait; 65 536 at most
    QueueOrder order = QueueOrder::first_come;
    Ceilings ceilings{};
  };
  struct Config {
    ConcurrencyWord::Config word;
    WaitingRoom::Settings room;
  };
  static Expected<Config, SettingsError> configure(const Settings& wanted) noexcept;

  explicit ConcurrencyHost(const Config& config) noexcept
      : word_(config.word), room_(config.room) {}

  [[gnu::always_inline]] Admitted try_enter(const Entry& entry, SteadyInstant) {
    const auto entered = word_.try_enter(entry);
    if (entered.answer == Answer::ask_with_the_lock) [[unlikely]] {
      return try_enter_slowly(entry);
    }
    return answer(entered, entry);
  }

  [[gnu::always_inline]] bool leave(Holding weight, SteadyInstant) noexcept {
    if (word_.leave(weight)) [[unlikely]]
      hand_over();
    return true;
  }

  /// Lets it in where it is its turn; else it waits, unless there is no place for it.
  Admitted enter_or_join(Waiter& waiter, SteadyInstant);
  /// How one that has joined stands.
  Admitted look(const Waiter& waiter, SteadyInstant);
  /// The same, and it waits no longer.
  Admitted give_up(Waiter& waiter, Refusal because, SteadyInstant) noexcept;

  static constexpr SteadyInstant changes_at() noexcept { return SteadyInstant::max(); }

  void set_limit(std::int64_t limit, SteadyInstant now) noexcept;

  std::int64_t limit() const noexcept { return word_.limit(); }
  std::int64_t in_flight() const noexcept { return word_.in_flight(); }
  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return room_.size();
  }

 private:
  using Answer = ConcurrencyWord::Answer;

  static Admitted answer(const ConcurrencyWord::Entered& entered, const Entry& entry) noexcept {
    switch (entered.answer) {
      case Answer::entered: return Admitted::granted(entered.in_flight, entry.weight);
      case Answer::impossible: return Admitted::impossible();
      default: return Admitted::refused(Refusal::limit);
    }
  }

  Admitted try_enter_slowly(const Entry& entry);
  void hand_over() noexcept;
  void hand_over_locked() noexcept;

  ConcurrencyWord word_;
  mutable std::mutex mutex_;
  WaitingRoom room_;  ///< not empty, where the lock is free, just while the word is closed
};

/// Lets in at most so much at once.
///
///   try_enter        now or not at all
///   enter_for        waits as long as that
///   enter            waits for its turn, until it is stopped
///   async_enter, async_enter_for
///                    the same for a coroutine
///   set_limit        another limit from here on
///
/// Each returns a Permit, which gives its place back when the call ends. Who waits is handed the
/// room by who leaves: nobody overtakes one that came first, or is more urgent. One that wants more
/// than there is holds all behind it back until there is enough, and so is never starved.
///
/// A weight above what its priority may fill is impossible, and so is one below 1.
///
/// Bound    nobody is let in above the limit in force, or above the ceiling of its priority; when
///          the limit is lowered, what is in flight stays
/// Memory   192 bytes; who waits brings its own
/// Threads  safe from any thread; not to be destroyed while a permit is out or somebody waits
/// Cost     one swap to enter and one subtraction to leave; a lock while somebody waits
/// Errors   the constructor throws std::invalid_argument and names the setting
template <typename Clock = DefaultClock, typename Listener = NoSamples,
          typename Host = ConcurrencyHost>
class BasicConcurrencyLimit : public PermitGate<Host, Clock, Listener> {
  using Gate = PermitGate<Host, Clock, Listener>;

 public:
  using Settings = typename Host::Settings;

  explicit BasicConcurrencyLimit(const Settings& settings, Clock clock = {}, Listener listener = {})
      : Gate(std::in_place, configured(settings), std::move(clock), std::move(listener)) {}

  /// A limit below 1 is taken as 1, one above the most as that. Raising it lets waiters in; those
  /// that want more than a lowered one are told that it is impossible.
  void set_limit(std::int64_t limit) noexcept(noexcept(this->host().set_limit(limit, {}))) {
    this->host().set_limit(limit, this->time());
  }

  std::int64_t limit() const noexcept { return this->host().limit(); }
  /// The weight in flight.
  std::int64_t in_flight() const noexcept { return this->host().in_flight(); }
  /// How many wait.
  std::size_t waiting() const { return this->host().waiting(); }

 private:
  static typename Host::Config configured(const Settings& settings) {
    const auto config = Host::configure(settings);
    if (!config) refuse_settings("concurrency limit", config.error());
    return *config;
  }
};

/// `weir::ConcurrencyLimit limit({.limit = 20, .queue = 100});`
using ConcurrencyLimit = BasicConcurrencyLimit<>;

}  // namespace weir
