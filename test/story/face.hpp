// Stories told through a limiter's verbs, in a time that the story sets.
#pragma once

#include <gtest/gtest.h>

#include <chrono>

#include "weir/local/limiter.hpp"

namespace weir {

using ManualBucket = BasicLimiter<AtomicWord, ManualClock>;
using AnyLimiter = BasicLimiter<LimitState, ManualClock>;
template <Algorithm M>
using Typed = BasicLimiter<TypedState<M>, ManualClock>;

class FaceStory : public testing::Test {
 protected:
  using Time = std::chrono::nanoseconds;

  /// The clock says so much since the beginning; it may go back.
  void at(Time since) { time_.set(begin_ + since); }
  void pass(Time span) { time_.advance(span); }
  Time now() const { return since(time_.now()); }

  SteadyInstant instant(Time since) const { return begin_ + since; }
  Time since(SteadyInstant instant) const { return instant - begin_; }
  ManualClock clock() const { return ManualClock(time_); }

  /// Sleeps for its turn; returns how long.
  template <typename Limiter>
  Time acquire(Limiter& limiter, Cost cost = 1) {
    auto turn = limiter.reserve(cost);
    EXPECT_TRUE(turn);
    const Time wait = turn.outcome().wait(time_.now());
    pass(wait);
    turn.commit();
    return wait;
  }

  /// The same where the turn comes within the timeout.
  template <typename Limiter>
  bool try_acquire(Limiter& limiter, Cost cost, Time timeout) {
    auto turn = limiter.reserve(cost, timeout);
    if (!turn) return false;
    pass(turn.outcome().wait(time_.now()));
    turn.commit();
    return true;
  }

  /// How many of `most` calls of cost 1 are granted now.
  template <typename Limiter>
  Cost grants(Limiter& limiter, Cost most) {
    Cost count = 0;
    for (Cost call = 0; call < most; ++call) count += limiter.try_acquire() ? 1 : 0;
    return count;
  }

  /// What is left now.
  template <typename Limiter>
  static Cost left(Limiter& limiter) {
    return limiter.peek().remaining;
  }

 private:
  static constexpr SteadyInstant begin_{std::chrono::hours{24}};
  ManualTime time_{begin_};
};

}  // namespace weir
