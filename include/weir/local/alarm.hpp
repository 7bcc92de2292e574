// A thread that calls at an instant, for those who wait without a thread of their own.
#pragma once

#include <optional>

#include "weir/steady_instant.hpp"

namespace weir {

/// Somebody to be called at an instant. Its owner keeps it until it was called or cleared.
class Alarm {
 public:
  Alarm() = default;
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  /// Rings at the instant; requires that it is not set.
  void set(SteadyInstant at);
  /// Rings now, or as soon as it is set.
  void hurry() noexcept;
  /// Takes it back, after the call where it rings just now; false where it was not set.
  bool clear() noexcept;

 protected:
  ~Alarm() = default;

 private:
  /// Called by the one thread of all alarms, without a lock; while it lasts no other alarm rings.
  /// Returns when to ring again, or nothing: then it may have destroyed the alarm.
  virtual std::optional<SteadyInstant> ring() noexcept = 0;

  friend class AlarmThread;
  SteadyInstant at_{};  ///< these are the thread's, under its lock
  bool set_ = false;
  bool hurried_ = false;
};

}  // namespace weir
