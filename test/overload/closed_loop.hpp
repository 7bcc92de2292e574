// A service that can work on so many calls at once, and callers that keep its limit full.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <vector>

#include "weir/overload/estimator.hpp"

namespace weir {

/// First come, first served, on `at_once` servers; each call takes a time drawn evenly from
/// `takes` to a tenth more. There is always a caller for each place under the limit, up to
/// `callers`. All is determined by the seed.
class ClosedLoop {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  struct Service {
    int at_once;
    Nanoseconds takes;
    std::int64_t callers = 1'000'000;
    Nanoseconds patience = std::chrono::hours{1};  ///< a call that takes longer is dropped
  };

  explicit ClosedLoop(const Service& service) : service_(service) {
    for (int server = 0; server < service.at_once; ++server) free_at_.push(0);
  }

  /// From here on calls take so long.
  void now_takes(Nanoseconds takes) { service_.takes = takes; }
  void now_calls(std::int64_t callers) { service_.callers = callers; }

  /// Time that estimators see stands this much beside the service's.
  void set_clock_back(Nanoseconds by) { clock_ -= by; }

  struct Seen {
    double limit = 0;       ///< average over the calls that ended
    double latency_ms = 0;  ///< likewise
    double rate = 0;        ///< calls a second
    std::int64_t highest = 0;
    std::int64_t lowest = largest_limit;
  };

  template <Estimator E>
  Seen run(const typename E::Config& config, typename E::State& state, Nanoseconds length) {
    Seen seen;
    const std::int64_t from = now_;
    const std::int64_t until = now_ + length.count();
    std::int64_t ended = 0;
    while (true) {
      const std::int64_t limit = E::limit(config, state);
      while (in_flight_ < std::min(limit, service_.callers)) begin_call();
      if (calls_.empty() || calls_.top().ends_at > until) break;
      const Call call = calls_.top();
      calls_.pop();
      now_ = call.ends_at;
      --in_flight_;
      const Nanoseconds latency{call.ends_at - call.begun_at};
      const CallEnd end = latency > service_.patience ? CallEnd::dropped : CallEnd::success;
      E::observe(config, state,
                 {SteadyInstant{Nanoseconds{now_} + clock_}, latency, call.in_flight, end});
      ++ended;
      seen.limit += static_cast<double>(limit);
      seen.latency_ms += static_cast<double>(latency.count()) / 1e6;
      seen.highest = std::max(seen.highest, limit);
      seen.lowest = std::min(seen.lowest, limit);
    }
    now_ = until;
    if (ended > 0) {
      seen.limit /= static_cast<double>(ended);
      seen.latency_ms /= static_cast<double>(ended);
      seen.rate = static_cast<double>(ended) * 1e9 / static_cast<double>(until - from);
    }
    return seen;
  }

 private:
  struct Call {
    std::int64_t ends_at;
    std::int64_t begun_at;
    std::int64_t in_flight;
    bool operator>(const Call& other) const { return ends_at > other.ends_at; }
  };

  void begin_call() {
    const std::int64_t takes = service_.takes.count();
    const std::int64_t lasts = takes + std::uniform_int_distribution(0L, takes / 10)(random_);
    const std::int64_t free_at = free_at_.top();
    free_at_.pop();
    const std::int64_t ends_at = std::max(now_, free_at) + lasts;
    free_at_.push(ends_at);
    calls_.push({ends_at, now_, ++in_flight_});
  }

  template <typename Time>
  using Earliest = std::priority_queue<Time, std::vector<Time>, std::greater<>>;

  Service service_;
  std::mt19937_64 random_{20'261'120};
  Earliest<std::int64_t> free_at_;
  Earliest<Call> calls_;
  std::int64_t now_ = 0;
  std::int64_t in_flight_ = 0;
  Nanoseconds clock_{std::chrono::hours{1000}};
};

}  // namespace weir
