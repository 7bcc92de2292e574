// Where a host gets its time.
#pragma once

#include <atomic>
#include <functional>

#include "weir/vocabulary.hpp"

namespace weir {

/// Unix time in microseconds that never goes back: the steady clock plus an offset. A system clock
/// that is ahead is followed at once; one that is behind is slewed to, by 1 part in 1000, so that
/// limits never see time stand still or return.
///
/// Threads  now() from any thread; adjust() from one
/// Cost     one read of the steady clock and two atomic loads
class UnixClock {
 public:
  /// A source of ticks; both are injectable for tests.
  using Source = std::function<Span()>;

  UnixClock();
  UnixClock(Source steady, Source system);

  Instant now() const noexcept;

  /// Compares with the system clock; call it about once a second. A late call only slews later, and
  /// one that was interrupted between its readings changes nothing.
  void adjust();

 private:
  struct Reading {
    Span steady;
    std::int64_t offset;  ///< of the system clock, too small by at most `width`
    Span width;           ///< how long the readings took
  };
  Reading read_both() const;
  std::int64_t offset_at(Span steady) const noexcept;

  Source steady_;
  Source system_;
  bool real_ = false;  ///< read the steady clock directly, without the call through a function
  std::atomic<std::int64_t> target_;  ///< the offset that the last adjust() found to be right
  std::atomic<std::int64_t> slope_;   ///< less steady/1000: the offset while it falls to the target
};

}  // namespace weir
