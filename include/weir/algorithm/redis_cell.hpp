// CL.THROTTLE's numbers: the arguments, the arithmetic and the five integers of redis-cell.
#pragma once

#include <array>

#include "weir/algorithm/gcra.hpp"

namespace weir {

/// GCRA as redis-cell does it: the interval is truncated to whole nanoseconds and the state is one
/// instant in nanoseconds, kept here as microseconds and a rest. The parameters come with every
/// call and may change; the instant stays.
///
/// Bound    that of Gcra with the truncated interval, burst max_burst + 1
/// Memory   16 bytes a key
/// Refusal  leaves the state as it was
/// Source   redis-cell 0.5.0; docs/algorithms/redis-cell.md lists where we differ, and why
struct RedisCell {
  struct Call {
    std::int64_t max_burst;
    std::int64_t count;
    std::int64_t period_s;
    std::int64_t quantity = 1;  ///< 0 asks without taking; below 0 gives units back
  };

  enum class Error : std::uint8_t {
    negative_burst,  ///< max_burst below 0
    zero_rate,       ///< count or period below 1
    too_fast,        ///< above 10^9 units a second
    too_large,       ///< period or the time to refill above 2^62 ns (146 years)
    too_much_back,   ///< a quantity below 0 that stands for more than 2^62 ns
  };

  /// limited, limit, remaining, retry after (s, -1 for never), reset after (s).
  using Reply = std::array<std::int64_t, 5>;

  static constexpr const char* describe(Error error) noexcept {
    constexpr const char* texts[] = {
        "max_burst must be 0 or more",
        "count and period must be 1 or more",
        "count per period must not be above 1000000000 a second",
        "the time to refill (period / count * (max_burst + 1)) must stay below 2^62 ns (146 years)",
        "quantity gives back more than can ever be owed",
    };
    return texts[static_cast<std::uint8_t>(error)];
  }

  static constexpr Expected<Gcra::Config, Error> configure(const Call& call) noexcept {
    constexpr std::int64_t most_ns = std::int64_t{1} << 62;
    constexpr std::int64_t ns_in_s = 1'000'000'000;
    if (call.max_burst < 0) return Error::negative_burst;
    if (call.count < 1 || call.period_s < 1) return Error::zero_rate;
    if (call.period_s > most_ns / ns_in_s || call.max_burst >= most_ns) return Error::too_large;
    const std::int64_t interval_ns = call.period_s * ns_in_s / call.count;
    if (interval_ns == 0) return Error::too_fast;
    // The product, not most_ns / interval_ns: this runs for every call, and divisions are slow.
    if (Wide{call.max_burst + 1} * interval_ns > most_ns) return Error::too_large;
    // Units above the burst are impossible and never multiplied; units given back are.
    if (Wide{call.quantity} * interval_ns < -most_ns) return Error::too_much_back;
    const Interval interval(Interval::Parts{interval_ns, ns_in_us});
    const Cost burst = call.max_burst + 1;
    return Gcra::Config{interval, burst, interval.times(burst)};
  }

  /// The reply to a decision. `repaid_at` is the state after it; `now` when it was taken.
  static constexpr Reply reply(const Gcra::Config& config, const Call& call,
                               const Decision& decision, FineInstant repaid_at,
                               Instant now) noexcept {
    std::int64_t retry_s = -1;
    if (decision.verdict == Verdict::denied) {
      const Interval& interval = config.interval;
      const FineInstant end =
          interval.add(interval.start(repaid_at, now), interval.times(call.quantity));
      retry_s = seconds(interval.subtract(end, config.capacity).whole - now);
    }
    const std::int64_t reset_s = repaid_at.whole > now ? seconds(repaid_at.whole - now) : 0;
    return {taken(decision.verdict) ? 0 : 1, config.burst, decision.remaining, retry_s, reset_s};
  }

 private:
  static constexpr std::int64_t ns_in_us = 1'000;

  /// redis-cell truncates to milliseconds, then rounds up to seconds.
  static constexpr std::int64_t seconds(Span span) noexcept {
    return (span.count() / 1'000 + 999) / 1'000;
  }
};

}  // namespace weir
