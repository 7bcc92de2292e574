// What was used before counts when a limit's numbers change.
#pragma once

#include <algorithm>

#include "weir/algorithm/concept.hpp"

namespace weir {

/// How a limit that goes on under other numbers counts what was used before. None of the last three
/// grants anything that had not been earned: repeated changes mint nothing.
/// Source  the four of bucket4j's replaceConfiguration
enum class Inherit : std::uint8_t {
  reset,         ///< not at all: as never used
  as_is,         ///< what is left stays left, up to the new limit
  proportional,  ///< the same share of the limit is left: 4 of 10 become 8 of 20
  additive,      ///< the same number is used: 4 of 10 become 14 of 20
};

/// A state, and the numbers that it was kept under.
template <typename M>
struct Kept {
  const typename M::Config& config;
  const typename M::State& state;
  Instant now;
};

/// The numbers to go on under; the same instant may be another tick there.
template <typename M>
struct Successor {
  const typename M::Config& config;
  Instant now;
};

/// Of a whole that was left of `before`, what is left of `after`.
constexpr Cost inherited(Cost left, Room before, Room after, Inherit how) noexcept {
  switch (how) {
    case Inherit::reset: break;
    case Inherit::as_is: return std::min(left, after.limit);
    case Inherit::proportional:
      return static_cast<Cost>(Wide{left} * after.limit / std::max<Cost>(before.limit, 1));
    case Inherit::additive:
      return std::clamp(left + (after.limit - before.limit), Cost{0}, after.limit);
  }
  return after.limit;
}

struct Limits {
  Cost before;
  Cost after;
};
/// Of what was used of the limit before, what counts as used of the one after: more than all of it
/// where that is what was used, or it would be minted when the limit grows again.
constexpr Cost inherited_use(Cost used, Limits limits, Inherit how) noexcept {
  switch (how) {
    case Inherit::reset: break;
    case Inherit::as_is: return std::max<Cost>(used + limits.after - limits.before, 0);
    case Inherit::proportional:
      return static_cast<Cost>((Wide{used} * limits.after + limits.before - 1) / limits.before);
    case Inherit::additive: return used;
  }
  return 0;
}

/// Charges a state never seen for what is not left of `had`: in whole units, so a fraction of one
/// is lost, and a window forgets it one period from now. Of several limits each is charged by
/// itself.
template <Algorithm M>
void inherit_room(const typename M::Config& config, typename M::State& state, Instant now, Room had,
                  Inherit how) {
  if constexpr (requires { M::inherit_room(config, state, now, had, how); }) {
    M::inherit_room(config, state, now, had, how);
  } else {
    const Room fresh = M::room(config, state, now);
    // A room does not tell debts, and growth that is added to one would be minted.
    const bool spent = how == Inherit::additive && had.remaining == 0;
    const Cost used = fresh.limit - (spent ? 0 : inherited(had.remaining, had, fresh, how));
    if (used > 0) M::charge(config, state, now, used);
  }
}

/// For any algorithm, and from any algorithm to another.
template <Algorithm M>
typename M::State inherit_units(const Kept<M>& before, const Successor<M>& after, Inherit how) {
  typename M::State state{};
  const Room had = M::room(before.config, before.state, before.now);
  inherit_room<M>(after.config, state, after.now, had, how);
  return state;
}

/// The state to go on with. Requires that nobody stands in line.
template <Algorithm M>
typename M::State inherit(const Kept<M>& before, const Successor<M>& after, Inherit how) {
  if constexpr (requires { M::inherit(before, after, how); }) {
    return M::inherit(before, after, how);
  } else {
    return inherit_units<M>(before, after, how);
  }
}

struct Bucket {
  const Interval& interval;
  Cost burst;
};

/// For algorithms that keep the time that repays their debt: what of it is owed under the new
/// numbers. Exact but for 2^-32 of an interval, which is lost.
constexpr FineSpan inherit_debt(Bucket before, FineSpan debt, Bucket after, Inherit how) noexcept {
  const FineSpan none{};
  if (how == Inherit::reset || debt <= none) {
    if (how == Inherit::as_is && after.burst > before.burst) {
      return after.interval.times(after.burst - before.burst);
    }
    return none;
  }
  constexpr int digits = 32;
  const auto parts_of = [](const Interval& interval, FineSpan span) {
    return Wide{span.whole.count()} * interval.parts() + span.rest;
  };
  // The debt in units: whole ones, and a fraction in 2^-32 that is rounded up.
  const Wide unit = parts_of(before.interval, before.interval.times(1));
  const Wide owed = parts_of(before.interval, debt);
  Wide units = owed / unit;
  Wide fraction = ((owed % unit << digits) + unit - 1) / unit;
  if (how == Inherit::as_is) units += after.burst - before.burst;
  if (how == Inherit::proportional) {
    const Wide share = units * after.burst;
    const Wide rest = ((share % before.burst) << digits) + fraction * after.burst;
    units = share / before.burst;
    fraction = (rest + before.burst - 1) / before.burst;
  }
  const Wide into = parts_of(after.interval, after.interval.times(1));
  const Wide parts = units * into + ((fraction * into + (Wide{1} << digits) - 1) >> digits);
  if (parts <= 0) return none;
  const std::int64_t in_tick = after.interval.parts();
  constexpr std::int64_t most = std::int64_t{1} << 61;  // to it an instant and a capacity add up
  if (parts / in_tick >= most) return {Span{most}, 0};
  return {Span{static_cast<std::int64_t>(parts / in_tick)},
          static_cast<std::int64_t>(parts % in_tick)};
}

/// The same for those that keep the instant at which the debt is repaid.
struct Due {
  FineInstant at;
  Instant now;
};
constexpr FineInstant inherit_due(Bucket before, Due due, Bucket after, Instant now,
                                  Inherit how) noexcept {
  const FineInstant since{due.now, 0};
  const FineSpan debt = due.at > since ? before.interval.between(since, due.at) : FineSpan{};
  const FineSpan owed = inherit_debt(before, debt, after, how);
  return owed > FineSpan{} ? after.interval.add({now, 0}, owed) : FineInstant{};
}

}  // namespace weir
