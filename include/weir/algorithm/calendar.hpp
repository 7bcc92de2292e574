// The calendar's units of time, as a local clock shows them.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include "weir/vocabulary.hpp"

namespace weir {

/// What a clock on the wall shows: ticks since it showed 1970-01-01 00:00.
using LocalTime = std::chrono::local_time<Span>;

enum class CalendarUnit : std::uint8_t { minute, hour, day, week, month, year };

inline constexpr std::array calendar_units{CalendarUnit::minute, CalendarUnit::hour,
                                           CalendarUnit::day,    CalendarUnit::week,
                                           CalendarUnit::month,  CalendarUnit::year};

constexpr const char* name(CalendarUnit unit) noexcept {
  constexpr std::array names{"minute", "hour", "day", "week", "month", "year"};
  return names[static_cast<std::size_t>(unit)];
}

/// How long the shortest of a unit is while nobody sets the clock: February, and no leap year.
constexpr Span shortest(CalendarUnit unit) noexcept {
  using std::chrono::hours;
  constexpr hours day{24};
  constexpr std::array<Span, calendar_units.size()> spans{
      std::chrono::minutes{1}, hours{1}, day, 7 * day, 28 * day, 365 * day};
  return spans[static_cast<std::size_t>(unit)];
}

/// How long the longest is: a month of 31 days, a leap year.
constexpr Span longest(CalendarUnit unit) noexcept {
  if (unit < CalendarUnit::month) return shortest(unit);
  return std::chrono::hours{24 * (unit == CalendarUnit::month ? 31 : 366)};
}

/// The beginning of the unit that a local time lies in. A week begins on Monday (ISO 8601).
constexpr LocalTime begin_of(CalendarUnit unit, LocalTime time) noexcept {
  using std::chrono::local_days;
  const local_days day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  switch (unit) {
    case CalendarUnit::minute: return std::chrono::floor<std::chrono::minutes>(time);
    case CalendarUnit::hour: return std::chrono::floor<std::chrono::hours>(time);
    case CalendarUnit::day: return day;
    case CalendarUnit::week: return day - (std::chrono::weekday{day} - std::chrono::Monday);
    case CalendarUnit::month: return local_days{date.year() / date.month() / 1};
    case CalendarUnit::year: return local_days{date.year() / 1 / 1};
  }
  return time;
}

/// Where the next unit begins. Requires the beginning of one.
constexpr LocalTime next_of(CalendarUnit unit, LocalTime begin) noexcept {
  if (unit < CalendarUnit::month) return begin + shortest(unit);
  const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(begin)};
  const std::chrono::months length{unit == CalendarUnit::month ? 1 : 12};
  return std::chrono::local_days{date + length};
}

}  // namespace weir
