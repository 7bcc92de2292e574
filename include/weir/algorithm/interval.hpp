// Spans and instants finer than a tick, so that no rate is bent to fit the clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "weir/vocabulary.hpp"

namespace weir {

/// A span of whole ticks and a rest. What part of a tick the rest counts is the Interval's to say.
struct FineSpan {
  Span whole{0};
  std::int64_t rest = 0;  ///< in [0, parts) of the Interval it belongs to

  auto operator<=>(const FineSpan&) const = default;
};

/// An instant between two ticks.
struct FineInstant {
  Instant whole = Instant::min();
  std::int64_t rest = 0;

  auto operator<=>(const FineInstant&) const = default;

  /// The first tick that is not before this instant.
  constexpr Instant tick() const noexcept { return rest > 0 ? whole + Span{1} : whole; }
};

/// A product of two 64-bit numbers.
__extension__ using Wide = __int128;

/// So much of something: 0 <= part <= whole, whole > 0.
struct Share {
  Wide part;
  Wide whole;

  /// That share of an amount >= 0, rounded down, with no product that could overflow. A whole of
  /// 2^63 and more is taken as a multiple of a power of two.
  constexpr Wide floor_of(Wide amount) const noexcept {
    if (part == whole) return amount;
    Share share = *this;
    while (share.whole >= Wide{1} << 63) share = {share.part / 2, (share.whole + 1) / 2};
    return amount / share.whole * share.part + amount % share.whole * share.part / share.whole;
  }
};

/// The time that one unit of cost takes to be repaid: exactly period/count, as whole + rest/parts.
class Interval {
 public:
  constexpr Interval() = default;

  struct Rate {
    Cost count;   ///< > 0
    Span period;  ///< > 0
  };
  constexpr explicit Interval(Rate rate) noexcept {
    const std::int64_t ticks = rate.period.count();
    const std::int64_t common = std::gcd(ticks % rate.count, rate.count);
    whole_ = Span{ticks / rate.count};
    rest_ = ticks % rate.count / common;
    parts_ = rate.count / common;
  }

  struct Parts {
    std::int64_t count;          ///< of all parts in the interval, > 0
    std::int64_t parts_in_tick;  ///< > 0
  };
  /// An interval given in parts of a tick, kept unreduced: state written under one such interval is
  /// read under another with the same parts (CL.THROTTLE, in nanoseconds).
  constexpr explicit Interval(Parts given) noexcept
      : whole_(given.count / given.parts_in_tick),
        rest_(given.count % given.parts_in_tick),
        parts_(given.parts_in_tick) {}

  struct Mixed {
    Span whole;
    std::int64_t rest;
    std::int64_t parts;
  };
  /// An interval as its own words have it. Requires 0 <= rest < parts, and that it is not nothing.
  constexpr explicit Interval(Mixed given) noexcept
      : whole_(given.whole), rest_(given.rest), parts_(given.parts) {}

  constexpr Span whole() const noexcept { return whole_; }
  constexpr std::int64_t rest() const noexcept { return rest_; }
  constexpr std::int64_t parts() const noexcept { return parts_; }

  /// The time that n units take. Requires that n * rest() and n * whole() stay below 2^62.
  constexpr FineSpan times(Cost n) const noexcept {
    if (rest_ == 0) return {n * whole_, 0};
    const std::int64_t rest = n * rest_;
    return {n * whole_ + Span{rest / parts_}, rest % parts_};
  }

  /// The most units that times() takes by the rest.
  constexpr Cost most_in_times() const noexcept {
    return rest_ == 0 ? std::numeric_limits<Cost>::max() : (std::int64_t{1} << 61) / rest_;
  }

  /// How many whole units fit into the span: none when it is negative, `most` at the most.
  constexpr Cost units_in(FineSpan span, Cost most) const noexcept {
    if (span.whole < Span{0}) return 0;
    if (rest_ == 0) return std::min(span.whole / whole_, most);
    // A guess good to one unit or so, then settled exactly; the guess alone would drift.
    const double parts = static_cast<double>(parts_);
    const double length =
        static_cast<double>(span.whole.count()) + static_cast<double>(span.rest) / parts;
    const double unit = static_cast<double>(whole_.count()) + static_cast<double>(rest_) / parts;
    const double guess = length / unit;
    if (guess > static_cast<double>(most) + 2) return most;
    Cost units = static_cast<Cost>(guess);
    while (units > 0 && times(units) > span) --units;
    while (units < most && times(units + 1) <= span) ++units;
    return std::min(units, most);
  }

  /// How many units it takes to cover the span.
  constexpr Cost units_covering(FineSpan span, Cost most) const noexcept {
    const Cost units = units_in(span, most);
    return units < most && times(units) < span ? units + 1 : units;
  }

  /// The most units whose time is strictly shorter than the span: what a half-open window holds.
  constexpr Cost units_below(FineSpan span) const noexcept {
    const Wide unit = in_parts({whole_, rest_});
    const Wide length = in_parts(span);
    if (length <= 0) return 0;
    const Wide units = (length - 1) / unit;
    constexpr Wide most = std::int64_t{1} << 62;
    return static_cast<Cost>(std::min(units, most));
  }

  constexpr FineInstant add(FineInstant instant, FineSpan span) const noexcept {
    FineInstant sum{instant.whole + span.whole, instant.rest + span.rest};
    if (sum.rest >= parts_) {
      sum.rest -= parts_;
      sum.whole += Span{1};
    }
    return sum;
  }

  constexpr FineInstant subtract(FineInstant instant, FineSpan span) const noexcept {
    FineInstant difference{instant.whole - span.whole, instant.rest - span.rest};
    if (difference.rest < 0) {
      difference.rest += parts_;
      difference.whole -= Span{1};
    }
    return difference;
  }

  constexpr FineSpan between(FineInstant earlier, FineInstant later) const noexcept {
    const FineInstant difference =
        subtract(later, {earlier.whole.time_since_epoch(), earlier.rest});
    return {difference.whole.time_since_epoch(), difference.rest};
  }

  /// The span as a count of parts.
  constexpr Wide in_parts(FineSpan span) const noexcept {
    return Wide{span.whole.count()} * parts_ + span.rest;
  }

  /// The span of so many parts. Requires parts >= 0.
  constexpr FineSpan of_parts(Wide parts) const noexcept {
    return {Span{static_cast<std::int64_t>(parts / parts_)},
            static_cast<std::int64_t>(parts % parts_)};
  }

  /// An instant that was kept under another interval, rounded up to a part of this one.
  constexpr FineInstant adopt(FineInstant instant, const Interval& other) const noexcept {
    const Wide rest = (Wide{instant.rest} * parts_ + other.parts_ - 1) / other.parts_;
    return add({instant.whole, 0}, of_parts(rest));
  }

  /// Where the next unit's time begins for a request at `now`: when the earlier ones are repaid, or
  /// now. A fraction that ends within the tick before now still counts from where it ended, so that
  /// a caller on whole ticks loses none of the rate.
  constexpr FineInstant start(FineInstant repaid_at, Instant now) const noexcept {
    if (repaid_at.rest >= parts_) {  // kept under an older interval that had more parts
      repaid_at = {repaid_at.whole + Span{1}, 0};
    }
    return repaid_at.tick() >= now ? repaid_at : FineInstant{now, 0};
  }

  /// From when on start() forgets the state.
  static constexpr Instant fresh_at(FineInstant repaid_at) noexcept {
    return repaid_at.rest > 0 ? repaid_at.whole + Span{2} : repaid_at.whole;
  }

  bool operator==(const Interval&) const = default;

 private:
  Span whole_{1};
  std::int64_t rest_ = 0;
  std::int64_t parts_ = 1;
};

}  // namespace weir
