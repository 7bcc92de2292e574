// The algorithms under law, each with tiny limits that reach every corner in a few events.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "test/law/law.hpp"
#include "weir/algorithm/pacer.hpp"
#include "weir/algorithm/warm_up.hpp"
#include "weir/limit.hpp"

namespace weir::law {

using Single = Limit::Single;
using SeveralGcra = AllOf<Gcra>;
using SeveralPacers = AllOf<Pacer>;

/// A limit and what to call it when a law breaks.
template <typename M>
struct Tiny {
  std::string name;
  typename M::Config config;
  std::size_t letters_less = 0;  ///< where a walk is slow and shorter ones have shown the most
};

template <typename M>
struct Tinies;

template <typename M>
std::vector<Tiny<M>> tinies() {
  return Tinies<M>::make();
}

inline Gcra::Config gcra(Gcra::Settings settings) { return Gcra::configure(settings).value(); }
inline Gcra::Config over_time(Gcra::Settings settings) {
  settings.oversize = Gcra::Oversize::pay_over_time;
  return gcra(settings);
}
inline LeakyBucket::Config leaky(LeakyBucket::Settings settings) {
  return LeakyBucket::configure(settings).value();
}
inline FixedWindow::Config fixed(FixedWindow::Settings settings) {
  return FixedWindow::configure(settings).value();
}
/// A zone whose clock is set within a few ticks.
inline TimeZone zone(Span first_offset, std::vector<TimeZone::Change> changes) {
  return TimeZone::configure({first_offset, std::move(changes), {}}).value();
}
/// Midnight is at tick 3; on tick 6 the clock is set a day ahead, on 7 two days back, and on 12 it
/// shows days again that it showed before.
inline const TimeZone& restless_days() {
  constexpr Span day = std::chrono::hours{24};
  static const TimeZone made = zone(
      Span{-3}, {{Instant{Span{6}}, day}, {Instant{Span{7}}, -day}, {Instant{Span{12}}, Span{0}}});
  return made;
}
/// The minute turns at tick 4, and wherever the clock is set.
inline const TimeZone& restless_minutes() {
  constexpr Span hour = std::chrono::hours{1};
  static const TimeZone made = zone(Span{-4}, {{Instant{Span{-1}}, hour - Span{4}},
                                               {Instant{Span{7}}, Span{-9}},
                                               {Instant{Span{12}}, hour}});
  return made;
}
inline CalendarWindow::Config calendar(CalendarWindow::Settings settings) {
  return CalendarWindow::configure(settings).value();
}
inline SlidingWindow::Config sliding(SlidingWindow::Settings settings) {
  return SlidingWindow::configure(settings).value();
}
inline SlidingLog::Config log(SlidingLog::Settings settings) {
  return SlidingLog::configure(settings).value();
}

inline Concurrency::Config at_once(Concurrency::Settings settings) {
  return Concurrency::configure(settings).value();
}

inline Pacer::Config pacer(Pacer::Settings settings) { return Pacer::configure(settings).value(); }
inline WarmUp::Config warm_up(WarmUp::Settings settings) {
  return WarmUp::configure(settings).value();
}

template <>
struct Tinies<Gcra> {
  static std::vector<Tiny<Gcra>> make() {
    return {{"1 per 1, burst 1", gcra({1, Span{1}, 1})},
            {"1 per 2, burst 2", gcra({1, Span{2}, 2})},
            {"2 per 1, burst 3", gcra({2, Span{1}, 3})},
            {"3 per 7, burst 2", gcra({3, Span{7}, 2})},
            {"1 per 5, burst 1", gcra({1, Span{5}, 1})},
            {"7 per 3, burst 2", gcra({7, Span{3}, 2})},
            {"1 per 1, burst 1, more over time", over_time({1, Span{1}, 1})},
            {"3 per 7, burst 1, more over time", over_time({3, Span{7}, 1})}};
  }
};

template <>
struct Tinies<LeakyBucket> {
  static std::vector<Tiny<LeakyBucket>> make() {
    return {{"1 per 1, no queue", leaky({1, Span{1}, 0})},
            {"1 per 2, queue 2", leaky({1, Span{2}, 2})},
            {"2 per 1, queue 2", leaky({2, Span{1}, 2})},
            {"3 per 7, queue 1", leaky({3, Span{7}, 1})},
            {"7 per 3, queue 3", leaky({7, Span{3}, 3})}};
  }
};

template <>
struct Tinies<FixedWindow> {
  static std::vector<Tiny<FixedWindow>> make() {
    return {{"1 per 1", fixed({1, Span{1}})},
            {"2 per 3", fixed({2, Span{3}})},
            {"3 per 5", fixed({3, Span{5}})},
            {"1 per 4", fixed({1, Span{4}})}};
  }
};

template <>
struct Tinies<CalendarWindow> {
  static std::vector<Tiny<CalendarWindow>> make() {
    return {{"2 per restless minute", calendar({2, CalendarUnit::minute, restless_minutes()})},
            {"1 per restless day", calendar({1, CalendarUnit::day, restless_days()})},
            {"3 per restless day", calendar({3, CalendarUnit::day, restless_days()})},
            {"1 per year", calendar({1, CalendarUnit::year, restless_days()})}};
  }
};

template <>
struct Tinies<SlidingWindow> {
  static std::vector<Tiny<SlidingWindow>> make() {
    return {{"1 per 1, 1 part", sliding({1, Span{1}, 1})},
            {"2 per 3, 3 parts", sliding({2, Span{3}, 3})},
            {"3 per 5, 2 parts", sliding({3, Span{5}, 2})},
            {"1 per 4, 1 part", sliding({1, Span{4}, 1})}};
  }
};

template <>
struct Tinies<SlidingLog> {
  static std::vector<Tiny<SlidingLog>> make() {
    return {{"1 per 1", log({1, Span{1}})},
            {"2 per 3", log({2, Span{3}})},
            {"3 per 5", log({3, Span{5}})},
            {"1 per 5", log({1, Span{5}})}};
  }
};

template <>
struct Tinies<Concurrency> {
  static std::vector<Tiny<Concurrency>> make() {
    return {{"1 for 1", at_once({1, Span{1}})},
            {"2 for 3", at_once({2, Span{3}})},
            {"3 for 5", at_once({3, Span{5}})},
            {"1 for 5", at_once({1, Span{5}})}};
  }
};

template <>
struct Tinies<Pacer> {
  static std::vector<Tiny<Pacer>> make() {
    return {{"1 per 1, no slack", pacer({1, Span{1}, 0})},
            {"1 per 2, slack 1", pacer({1, Span{2}, 1})},
            {"2 per 1, slack 2", pacer({2, Span{1}, 2})},
            {"3 per 7, slack 1", pacer({3, Span{7}, 1})},
            {"7 per 3, slack 3", pacer({7, Span{3}, 3})}};
  }
};

template <>
struct Tinies<WarmUp> {
  static std::vector<Tiny<WarmUp>> make() {
    return {{"1 per 1, warm in 1", warm_up({1, Span{1}, Span{1}})},
            {"1 per 2, warm in 6", warm_up({1, Span{2}, Span{6}})},
            {"1 per 1, warm in 4, never cold", warm_up({1, Span{1}, Span{4}, 1})},
            {"3 per 7, warm in 5, twice as slow", warm_up({3, Span{7}, Span{5}, 2})},
            {"7 per 3, warm in 3, ten times as slow", warm_up({7, Span{3}, Span{3}, 10})}};
  }
};

template <>
struct Tinies<SeveralPacers> {
  static std::vector<Tiny<SeveralPacers>> make() {
    return {{"1 per 1 slack 2 & 1 per 3", {{pacer({1, Span{1}, 2}), pacer({1, Span{3}, 0})}}}};
  }
};

template <>
struct Tinies<Block<Gcra>> {
  static std::vector<Tiny<Block<Gcra>>> make() {
    return {{"1 per 2, burst 2, block 3", {gcra({1, Span{2}, 2}), Span{3}}},
            {"3 per 7, burst 1, block 1", {gcra({3, Span{7}, 1}), Span{1}}},
            {"2 per 1, burst 2, no block", {gcra({2, Span{1}, 2}), Span{0}}},
            {"1 per 2, burst 1, more over time, block 3", {over_time({1, Span{2}, 1}), Span{3}}}};
  }
};

template <>
struct Tinies<Block<LeakyBucket>> {
  static std::vector<Tiny<Block<LeakyBucket>>> make() {
    return {{"1 per 2, queue 1, block 4", {leaky({1, Span{2}, 1}), Span{4}}}};
  }
};

template <>
struct Tinies<Block<SlidingLog>> {
  static std::vector<Tiny<Block<SlidingLog>>> make() {
    return {{"2 per 3, block 2", {log({2, Span{3}}), Span{2}}}};
  }
};

template <>
struct Tinies<AllOf<Single>> {
  static std::vector<Tiny<AllOf<Single>>> make() {
    return {
        {"1 per 1 burst 2 & fixed 3 per 5", {{gcra({1, Span{1}, 2}), fixed({3, Span{5}})}}},
        {"3 per 7 burst 2 & leaky 1 per 2 queue 1",
         {{gcra({3, Span{7}, 2}), leaky({1, Span{2}, 1})}},
         1},
        {"sliding 2 per 3 & log 3 per 5", {{sliding({2, Span{3}, 3}), log({3, Span{5}})}}, 1},
        {"3 per 7 burst 2 & 2 at once for 3", {{gcra({3, Span{7}, 2}), at_once({2, Span{3}})}}, 1}};
  }
};

/// All terms bucket the same way, so that remaining and cancel are exact.
template <>
struct Tinies<SeveralGcra> {
  static std::vector<Tiny<SeveralGcra>> make() {
    return {{"1 per 1 burst 2 & 1 per 3 burst 3", {{gcra({1, Span{1}, 2}), gcra({1, Span{3}, 3})}}},
            {"1 per 1 burst 1 over time & 1 per 3 burst 2",
             {{over_time({1, Span{1}, 1}), gcra({1, Span{3}, 2})}}}};
  }
};

inline Limit::Composite::Config composite(std::vector<Block<Single>::Config> terms) {
  return {std::move(terms)};
}

template <>
struct Tinies<Limit::Machine> {
  static std::vector<Tiny<Limit::Machine>> make() {
    return {{"3 per 7, burst 2", gcra({3, Span{7}, 2}), 1},
            {"leaky 3 per 7, queue 1", leaky({3, Span{7}, 1}), 1},
            {"fixed 2 per 3", fixed({2, Span{3}}), 1},
            {"sliding 2 per 3, 3 parts", sliding({2, Span{3}, 3}), 1},
            {"log 2 per 3", log({2, Span{3}}), 1},
            {"2 at once for 3", at_once({2, Span{3}}), 1},
            {"2 per restless day", calendar({2, CalendarUnit::day, restless_days()}), 1},
            {"1 per 2 burst 2 block 3 & fixed 3 per 5",
             composite({{gcra({1, Span{2}, 2}), Span{3}}, {fixed({3, Span{5}}), Span{0}}}), 1},
            {"leaky 1 per 2 queue 1 block 2 & log 2 per 3 block 4",
             composite({{leaky({1, Span{2}, 1}), Span{2}}, {log({2, Span{3}}), Span{4}}}), 1},
            {"1 per 2 burst 2 & 2 at once for 5, block 3",
             composite({{gcra({1, Span{2}, 2}), Span{0}}, {at_once({2, Span{5}}), Span{3}}}), 1}};
  }
};

template <>
struct Tinies<Boxed<SlidingWindow>> {
  static std::vector<Tiny<Boxed<SlidingWindow>>> make() {
    return {{"2 per 3, 3 parts", sliding({2, Span{3}, 3}), 1}};
  }
};

template <>
struct Traits<Gcra> {
  static constexpr bool exact_remaining = true;
  static constexpr bool partial_cancel(const Gcra::Config& config, Cost cost) {
    return cost <= config.burst;
  }
  static constexpr bool exact_refund = true;
};

/// What remains is counted in calls of cost 1; one call may take all, and the next pays.
struct NextPays : Traits<LeakyBucket> {
  static constexpr bool exact_remaining = false;
};
template <>
struct Traits<Pacer> : NextPays {};
template <>
struct Traits<WarmUp> : NextPays {};

/// A queue inside says how long a request may wait, and the time counts for the other terms and for
/// a penalty too: what remains is then at least what is told. Of what the terms give back, the
/// least is told.
struct CompositeTraits {
  static constexpr bool exact_remaining = false;
  template <typename Config>
  static constexpr bool partial_cancel(const Config&, Cost) {
    return false;
  }
  static constexpr bool exact_refund = false;
};
template <typename Term>
struct Traits<AllOf<Term>> : CompositeTraits {};
template <>
struct Traits<Limit::Machine> : CompositeTraits {};
template <>
struct Traits<SeveralGcra> : CompositeTraits {
  static constexpr bool exact_remaining = true;
};
template <>
struct Traits<Block<Gcra>> : CompositeTraits {
  static constexpr bool exact_remaining = true;
  static constexpr bool exact_refund = true;
};
template <>
struct Traits<Block<LeakyBucket>> : Traits<LeakyBucket> {
  static constexpr bool exact_remaining = false;
};
template <>
struct Traits<Block<Single>> : CompositeTraits {};
template <typename Inner>
struct Traits<Boxed<Inner>> : Traits<Inner> {};

}  // namespace weir::law
