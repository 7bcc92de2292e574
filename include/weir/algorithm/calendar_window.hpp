// The calendar window counter.
#pragma once

#include "weir/algorithm/concept.hpp"
#include "weir/algorithm/fixed_window.hpp"
#include "weir/algorithm/time_zone.hpp"

namespace weir {

/// The numbers of a calendar window. The zone is not owned and outlives all that use it.
struct CalendarWindows {
  Cost limit = 1;
  CalendarUnit unit = CalendarUnit::day;
  const TimeZone* zone = &TimeZone::utc();

  Window window_at(Instant at) const noexcept { return zone->window_at(unit, at); }
  bool operator==(const CalendarWindows&) const = default;
};

/// Calendar window: a counter that starts again with each minute, hour, day, week, month or year of
/// a time zone.
///
/// Bound    limit for each window touched, of the shortest that the zone has
/// Memory   16 bytes a key
/// Refusal  leaves the state as it was
/// Source   the quota of a contract: so many a month, by the customer's calendar
struct CalendarWindow : WindowCounter<CalendarWindows> {
  struct Settings {
    Cost count;
    CalendarUnit unit;
    const TimeZone& zone;
  };

  /// Errors:
  ///   not_positive  the count is zero or less
  ///   too_long      the count is above 2^50
  static Expected<Config, ConfigError> configure(Settings wanted) noexcept {
    if (wanted.count <= 0) return ConfigError::not_positive;
    if (wanted.count > longest_span.count()) return ConfigError::too_long;
    return Config{wanted.count, wanted.unit, &wanted.zone};
  }

  /// The window behind that of the grants that may be there, as a fixed window.
  static void settle(const Config& config, State& state, Instant now, Span slack) noexcept {
    if (state.window <= now + slack) return;
    state.window = std::min(state.window, config.window_at(now + slack).turns_at);
  }

  static Cost bound(const Config& config, Span length, Cost) noexcept {
    if (length <= Span{0}) return 0;
    return granted_in(windows_touched(length, config.zone->shortest(config.unit)), config.limit);
  }
};

}  // namespace weir
