// Pacing that starts slowly after a rest.
#pragma once

#include <algorithm>

#include "weir/algorithm/gcra.hpp"

namespace weir {

/// Calls act at an even pace, one interval apart; after a rest the pace is `cold_factor` times
/// slower and becomes the full one while calls come, in `warm_up` of time. For what is behind a
/// limit and must fill its caches first. A call never waits for its own cost: it acts when those
/// before it are paid, and whoever comes next waits for it.
///
/// While nobody calls, permits are stored, and stored ones are dearer the more of them there are:
/// up to a threshold each takes an interval, and from there ever more, up to cold_factor intervals
/// when all are stored. They are kept as the time that they would take at the full pace:
///
///   threshold   warm_up / 2
///   all         threshold + 2 * warm_up / (cold_factor + 1); stored in warm_up of rest
///   price       of s stored: s + (cold_factor^2 - 1) * (s - threshold)^2 / (4 * warm_up)
///
/// A call pays the price of what is stored less the price of what it leaves, so that calls of any
/// costs pay the same in sum.
///
/// Bound    less than the largest cost + length / interval in any half-open window
/// Memory   32 bytes a key
/// Refusal  leaves the state as it was
/// Source   Guava's SmoothWarmingUp, in exact integers
struct WarmUp {
  struct Config {
    Interval interval;             ///< one unit of cost is paid in this long, at the full pace
    Span warm_up{1};               ///< how long calls have to come until the pace is the full one
    std::int64_t cold_factor = 1;  ///< how many intervals a unit takes after a rest
    Cost largest = 1;              ///< the largest cost of one call
    int coarser = 0;  ///< bits that the price leaves out of what is stored, to multiply
    bool operator==(const Config&) const = default;
  };

  /// All that is remembered of one key. The default value is a key never seen, and cold.
  struct State {
    FineInstant next_at;  ///< when all calls so far are paid
    /// What was stored then. The rest counts fractions() of a tick. Below nothing by what the last
    /// call took beyond it, so that cancel finds the way back.
    FineSpan stored;
    bool operator==(const State&) const = default;
  };

  struct Settings {
    Cost count;
    Span period;
    Span warm_up;
    std::int64_t cold_factor = 3;
  };

  /// `count` units in each `period`, when warm. Errors:
  ///   not_positive  a number is zero or less
  ///   too_fast      above 10^9 units a second
  ///   too_long      period, period / count or warm_up is above longest_span
  ///   too_fine      a tick has more than 2^53 parts: those of the interval, 2 * (cold_factor + 1)
  ///                 in each
  static constexpr Expected<Config, ConfigError> configure(Settings wanted) noexcept {
    if (wanted.warm_up <= Span{0} || wanted.cold_factor <= 0) return ConfigError::not_positive;
    const auto bucket =
        Gcra::configure({wanted.count, wanted.period, 1, Gcra::Oversize::pay_over_time});
    if (!bucket) return bucket.error();
    if (wanted.warm_up > longest_span) return ConfigError::too_long;
    constexpr std::int64_t finest = std::int64_t{1} << 52;
    if (wanted.cold_factor >= finest / bucket->interval.parts()) return ConfigError::too_fine;
    Config config{bucket->interval, wanted.warm_up, wanted.cold_factor, bucket->largest};
    config.coarser = bits_to_leave_out(config);
    return config;
  }

  static constexpr Cost capacity(const Config& config) noexcept { return config.largest; }

  static constexpr std::optional<Span> own_wait(const Config&, Cost) noexcept { return {}; }

  static constexpr Instant earliest(const Config& config, const State& state, Instant now,
                                    Cost) noexcept {
    return config.interval.start(state.next_at, now).tick();
  }

  static constexpr void charge(const Config& config, State& state, Instant at, Cost cost) noexcept {
    const Interval& interval = config.interval;
    const Wide before = stored_at(config, state, at);
    const Wide after = before - worth(config, cost);
    const FineSpan price = interval.of_parts(difference(config, {before, after}));
    const FineInstant start = interval.start(state.next_at, at);
    const FineInstant end = interval.add(start, price);
    const FineInstant latest = interval.add({at, 0}, price);
    state = {end > latest ? std::max(start, latest) : end, kept(config, after)};
  }

  /// Counted in calls of cost 1. One call may cost more, and the next waits for it.
  static constexpr Room room(const Config& config, const State& state, Instant now) noexcept {
    return {1, earliest(config, state, now, 1) > now ? 0 : 1};
  }

  /// When it is cold again.
  static constexpr Instant fresh_at(const Config& config, const State& state) noexcept {
    if (state.next_at.whole == Instant::min()) return Instant::min();
    const Wide missing = most_stored(config) - stored_then(config, state);
    const Wide a_part = config.cold_factor + 5;
    const FineSpan rest = config.interval.of_parts((missing + a_part - 1) / a_part);
    const FineInstant cold_at = config.interval.add(state.next_at, rest);
    return std::max(cold_at.tick(), Interval::fresh_at(state.next_at));
  }

  static constexpr FineInstant* mark(const Config&, const State& state, FineInstant* to) noexcept {
    *to = state.next_at;
    return to + 1;
  }

  /// All or nothing: whoever came since acts at the pace, and nobody may act beside them.
  static constexpr Cost cancel(const Config& config, State& state, Instant, const Grant& grant,
                               const FineInstant* mark) noexcept {
    if (state.next_at != *mark || grant.cost > config.largest) return 0;
    if (mark->whole < grant.acts_at - Span{1}) return 0;
    const Wide after = in_fractions(config, state.stored);
    const Wide before = after + worth(config, grant.cost);
    if (before > most_stored(config)) return 0;
    const Interval& interval = config.interval;
    const FineSpan price = interval.of_parts(difference(config, {before, after}));
    const FineInstant start = interval.subtract(*mark, price);
    if (start.tick() != grant.acts_at) return 0;  // a grant under older numbers
    state = {start, kept(config, before)};
    return grant.cost;
  }

  /// The units go back into the store at the price of those that lie there.
  static constexpr Cost refund(const Config& config, State& state, Instant now,
                               Cost units) noexcept {
    const Interval& interval = config.interval;
    const FineInstant here{now, 0};
    if (state.next_at <= here) return 0;
    const FineSpan debt = interval.between(here, state.next_at);
    const Wide most = most_stored(config);
    const Wide after = std::min(most, in_fractions(config, state.stored));
    const auto price = [&](Cost cost) {
      const Wide before = std::min(most, after + worth(config, cost));
      const Wide dearer = surcharge(config, before) - surcharge(config, after);
      return interval.of_parts(interval.in_parts(interval.times(cost)) + dearer);
    };
    // At least so many are needed as at the full pace, where they are cheapest: none is more.
    Cost owed = interval.units_covering(debt, std::min(units, config.largest));
    for (Cost low = 0; low < owed;) {
      const Cost middle = low + (owed - low) / 2;
      if (price(middle) < debt) {
        low = middle + 1;
      } else {
        owed = middle;
      }
    }
    const FineSpan back = price(owed);
    state = {back < debt ? interval.subtract(state.next_at, back) : here,
             kept(config, std::min(most, after + worth(config, owed)))};
    return owed;
  }

  static constexpr Cost bound(const Config& config, Span length, Cost largest) noexcept {
    if (length <= Span{0}) return 0;
    return config.interval.units_below({length, 0}) + std::min(largest, config.largest);
  }

  /// The state under new numbers. What was taken at the old pace is paid at the old pace; what is
  /// stored keeps its share of all that can be, rounded up, so that it is as cold as it was.
  static constexpr State rescaled(const Config& from, const Config& to, const State& state,
                                  Instant now) noexcept {
    const Wide most = most_stored(from);
    const Share missing{most - stored_at(from, state, now), most};
    const FineInstant start = from.interval.start(state.next_at, now);
    const Wide stored = most_stored(to) - missing.floor_of(most_stored(to));
    return {to.interval.adopt(start, from.interval), kept(to, stored)};
  }

  /// Under all of them but reset, what is owed stays owed and what is stored keeps its share.
  static constexpr State inherit(const Kept<WarmUp>& before, const Successor<WarmUp>& after,
                                 Inherit how) noexcept {
    if (how == Inherit::reset) return {};
    return rescaled(before.config, after.config, before.state, after.now);
  }

  /// Into how many parts the stored time divides a tick.
  static constexpr std::int64_t fractions(const Config& config) noexcept {
    return static_cast<std::int64_t>(config.interval.parts() * fractions_of_part(config));
  }

 private:
  // Stored time is counted in fractions of a tick, of which all that is said of it above is a whole
  // number. It is below 2^104: 2^51 ticks of 2^53 fractions.

  static constexpr Wide fractions_of_part(const Config& config) noexcept {
    return Wide{2} * (config.cold_factor + 1);
  }
  static constexpr Wide threshold(const Config& config) noexcept {
    return Wide{config.warm_up.count()} * config.interval.parts() * (config.cold_factor + 1);
  }
  static constexpr Wide above_threshold(const Config& config) noexcept {
    return Wide{config.warm_up.count()} * config.interval.parts() * 4;
  }
  static constexpr Wide most_stored(const Config& config) noexcept {
    return threshold(config) + above_threshold(config);
  }
  static constexpr Wide in_fractions(const Config& config, FineSpan stored) noexcept {
    return Wide{stored.whole.count()} * fractions(config) + stored.rest;
  }
  static constexpr FineSpan kept(const Config& config, Wide stored) noexcept {
    const Wide in_tick = fractions(config);
    const Wide rest = (stored % in_tick + in_tick) % in_tick;
    return {Span{static_cast<std::int64_t>((stored - rest) / in_tick)},
            static_cast<std::int64_t>(rest)};
  }
  /// What a cost takes out of the store.
  static constexpr Wide worth(const Config& config, Cost cost) noexcept {
    const Interval& interval = config.interval;
    return interval.in_parts(interval.times(cost)) * fractions_of_part(config);
  }

  /// At the instant when all calls were paid.
  static constexpr Wide stored_then(const Config& config, const State& state) noexcept {
    return std::clamp<Wide>(in_fractions(config, state.stored), 0, most_stored(config));
  }

  static constexpr Wide stored_at(const Config& config, const State& state, Instant now) noexcept {
    const Wide most = most_stored(config);
    if (state.next_at.tick() >= now) return stored_then(config, state);
    if (state.next_at.whole < now - config.warm_up) return most;
    const Interval& interval = config.interval;
    const FineInstant paid_at = interval.start(state.next_at, state.next_at.whole);
    const Wide rested = interval.in_parts(interval.between(paid_at, {now, 0}));
    return std::min(most, stored_then(config, state) + rested * (config.cold_factor + 5));
  }

  /// What the stored time costs beyond its own length, in parts of the interval. It never falls as
  /// more is stored, whatever is rounded: so no unit ever costs less than an interval.
  static constexpr Wide surcharge(const Config& config, Wide stored) noexcept {
    const Wide above = stored - threshold(config);
    if (above <= 0) return 0;
    const Wide coarse = above >> config.coarser;
    const Wide height = above_threshold(config) >> config.coarser;
    const Wide area = (config.cold_factor - 1) * coarse * coarse / (2 * height);
    return (area << config.coarser) / fractions_of_part(config);
  }

  struct Taken {
    Wide before;
    Wide after;
  };
  /// The price of what was taken, in parts of the interval.
  static constexpr Wide difference(const Config& config, Taken stored) noexcept {
    const Wide time = (stored.before - stored.after) / fractions_of_part(config);
    return time + surcharge(config, stored.before) - surcharge(config, stored.after);
  }

  /// So that a square of stored time and the cold factor stay below 2^126.
  static constexpr int bits_to_leave_out(const Config& config) noexcept {
    int bits = 126;
    for (std::int64_t left = config.cold_factor; left > 0; left /= 2) --bits;
    int coarser = 0;
    while (above_threshold(config) >> coarser >= Wide{1} << bits / 2) ++coarser;
    return coarser;
  }
};

}  // namespace weir
