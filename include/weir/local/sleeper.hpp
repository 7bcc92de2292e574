// A thread that waits for its turn.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "weir/local/line.hpp"

namespace weir {

/// What a thread sleeps on until another wakes it.
class WakeSignal {
 public:
  void wake() noexcept { set(Woken::moved); }
  void stop() noexcept { set(Woken::stopped); }

  bool stopped() const {
    const std::lock_guard lock(mutex_);
    return woken_ == Woken::stopped;
  }

  /// Returns at about the end of that time, or sooner where it is woken or stopped.
  void sleep(std::chrono::nanoseconds left);

 private:
  enum class Woken : std::uint8_t { no, moved, stopped };

  void set(Woken by) noexcept {
    // Told under the lock: once it is free the thread may be gone, and this with it.
    const std::lock_guard lock(mutex_);
    if (woken_ != Woken::stopped) woken_ = by;
    changed_.notify_one();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Woken woken_ = Woken::no;
};

/// The place of a thread, which it sleeps on.
class Sleeper final : public Place, public WakeSignal {
 public:
  Sleeper() : Place(Kind::waiter) {}

  void moved() noexcept override { wake(); }
};

}  // namespace weir
