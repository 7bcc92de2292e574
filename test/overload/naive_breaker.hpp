// A circuit breaker as one would explain it: it remembers every call, and counts anew each time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/overload/circuit_breaker.hpp"

namespace weir {

/// The reference of Breaker. Slow, and its memory grows with every call.
class NaiveBreaker {
 public:
  explicit NaiveBreaker(const Breaker::Settings& settings) : settings_(settings) {}

  /// The call's number, or -1 for one that is refused.
  std::ptrdiff_t enter(SteadyInstant now) {
    now = see(now);
    if (hold_ == Breaker::Hold::open) return -1;
    if (circuit_ == Circuit::open && now >= ready_at_) turn(Circuit::half_open);
    if (circuit_ == Circuit::open) return -1;
    if (circuit_ == Circuit::half_open && probing(now) >= settings_.probes) return -1;
    calls_.push_back({.let_in_at = now, .turns = turns_});
    return std::ssize(calls_) - 1;
  }

  void end(std::ptrdiff_t number, const CallSample& sample) {
    const SteadyInstant now = see(sample.ended_at);
    Call& call = calls_[static_cast<std::size_t>(number)];
    if (call.turns != turns_ || hold_ == Breaker::Hold::closed) return;
    const bool in_time = circuit_ == Circuit::closed || is_probing(call, now);
    call.ended = true;
    if (!in_time) return;
    if (sample.end == CallEnd::ignored) return forget();
    ended_.push_back({.at = now,
                      .failed = sample.end != CallEnd::success,
                      .slow = settings_.slow_ratio > 0 && sample.latency > settings_.slow_after});
    const bool errors_count = settings_.error_ratio > 0 || settings_.error_count > 0;
    if (circuit_ == Circuit::closed) {
      if (trips()) open_itself(now);
    } else if ((errors_count && ended_.back().failed) || ended_.back().slow) {
      open_itself(now);
    } else if (succeeded() == settings_.successes) {
      turn(Circuit::closed);
    }
  }

  void withdraw(std::ptrdiff_t number, SteadyInstant now) {
    end(number, {.ended_at = now, .end = CallEnd::ignored});
  }

  void hold(Breaker::Hold hold, SteadyInstant now) {
    ready_at_ = see(now);
    hold_ = hold;
    turn(hold == Breaker::Hold::open ? Circuit::open : Circuit::closed);
  }

  Circuit circuit() const { return circuit_; }
  SteadyInstant ready_at() const { return ready_at_; }

  std::int64_t probing(SteadyInstant now) const {
    if (circuit_ != Circuit::half_open) return 0;
    now = std::max(now, seen_at_);
    return std::ranges::count_if(calls_, [&](const Call& call) { return is_probing(call, now); });
  }
  std::int64_t succeeded() const { return circuit_ == Circuit::half_open ? std::ssize(ended_) : 0; }

  OutcomeCounts counts(SteadyInstant now) const {
    now = std::max(now, seen_at_);
    OutcomeCounts sum;
    if (circuit_ != Circuit::closed) return sum;
    const bool by_calls = settings_.window_calls > 0;
    const auto left_out =
        by_calls ? std::max<std::ptrdiff_t>(0, std::ssize(ended_) - settings_.window_calls) : 0;
    for (auto call = ended_.begin() + left_out; call != ended_.end(); ++call) {
      if (by_calls || part(call->at) > part(now) - settings_.window_parts) {
        sum += {1, call->failed, call->slow};
      }
    }
    return sum;
  }

 private:
  struct Call {
    SteadyInstant let_in_at{};
    int turns = 0;  ///< how often the circuit had turned by then
    bool ended = false;
  };
  struct Ended {
    SteadyInstant at{};
    bool failed = false;
    bool slow = false;
  };

  SteadyInstant see(SteadyInstant now) { return seen_at_ = std::max(seen_at_, now); }

  bool is_probing(const Call& call, SteadyInstant now) const {
    return call.turns == turns_ && !call.ended && now - call.let_in_at < settings_.probe_for;
  }

  std::int64_t part(SteadyInstant at) const {
    return std::chrono::floor<std::chrono::nanoseconds>(at.time_since_epoch()) /
           (settings_.window_for / settings_.window_parts);
  }

  bool trips() const {
    const OutcomeCounts sum = counts(seen_at_);
    const auto calls = static_cast<double>(sum.calls);
    const auto meets = [&](double ratio, std::int64_t part) {
      return ratio > 0 && static_cast<double>(part) >= ratio * calls;
    };
    return sum.calls >= settings_.minimum_calls &&
           (meets(settings_.error_ratio, sum.failures) || meets(settings_.slow_ratio, sum.slow) ||
            (settings_.error_count > 0 && sum.failures >= settings_.error_count));
  }

  void open_itself(SteadyInstant now) {
    auto open_for = settings_.open_for;
    const auto longest = std::max(open_for, settings_.longest_open_for);
    for (int again = 0; again < opened_in_a_row_; ++again) {
      open_for = std::min(open_for * 2, longest);
    }
    ++opened_in_a_row_;
    turn(Circuit::open);
    ready_at_ = now + open_for;
  }

  void forget() {
    if (circuit_ == Circuit::half_open && probing(seen_at_) == 0 && succeeded() == 0)
      turn(Circuit::open);
  }

  void turn(Circuit to) {
    circuit_ = to;
    ++turns_;
    ended_.clear();
    if (to == Circuit::closed) opened_in_a_row_ = 0;
  }

  Breaker::Settings settings_;
  Circuit circuit_ = Circuit::closed;
  Breaker::Hold hold_ = Breaker::Hold::none;
  SteadyInstant seen_at_{};
  SteadyInstant ready_at_{};
  int turns_ = 0;
  int opened_in_a_row_ = 0;
  std::vector<Call> calls_;
  std::vector<Ended> ended_;  ///< since the circuit last turned
};

}  // namespace weir
