// A time zone as data: when its clocks are set, and to what.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "weir/algorithm/calendar.hpp"
#include "weir/algorithm/window_counter.hpp"

namespace weir {

/// Why numbers make no time zone.
enum class TimeZoneError : std::uint8_t {
  too_far,    ///< an offset is above farthest_offset
  unordered,  ///< a change is not later than the one before
  no_day,     ///< a yearly change has no such day, or leaves its year
};

/// What a place's clocks show at any instant. It does not change once made.
///
/// Threads  share it freely
/// Cost     an instant is found by halving some 300 changes
class TimeZone {
 public:
  /// Local time less UTC is `offset` from this instant on.
  struct Change {
    Instant at;
    Span offset;
    bool operator==(const Change&) const = default;
  };

  /// A change that comes each year: on the month's n-th such weekday, 5 being the last of them.
  struct YearlyChange {
    unsigned month;    ///< 1 to 12
    unsigned week;     ///< 1 to 5
    unsigned weekday;  ///< 0 to 6, from Sunday
    Span time;         ///< since that day's midnight, by the clock that is about to be set
    Span offset;
    bool operator==(const YearlyChange&) const = default;
  };
  struct Yearly {
    int first_year;
    std::array<YearlyChange, 2> changes;  ///< in the order of the year
    bool operator==(const Yearly&) const = default;
  };

  struct Settings {
    Span first_offset{0};         ///< before any change
    std::vector<Change> changes;  ///< those before the yearly ones
    std::optional<Yearly> yearly;
  };

  static constexpr Span farthest_offset = std::chrono::hours{26};
  /// Yearly changes are worked out up to this year, which is behind every instant and patience that
  /// a machine accepts. What the clock shows then, it goes on to show.
  static constexpr int last_year = 2150;

  TimeZone() : TimeZone(Settings{}) {}

  static Expected<TimeZone, TimeZoneError> configure(Settings wanted) {
    if (wanted.yearly) {
      const auto trouble = trouble_of(*wanted.yearly);
      if (trouble) return *trouble;
    }
    TimeZone zone(std::move(wanted));
    if (!fits(zone.settings_.first_offset)) return TimeZoneError::too_far;
    for (std::size_t at = 0; at < zone.changes_.size(); ++at) {
      const Change& change = zone.changes_[at];
      if (!fits(change.offset)) return TimeZoneError::too_far;
      if (at > 0 && change.at <= zone.changes_[at - 1].at) return TimeZoneError::unordered;
    }
    zone.measure();
    return zone;
  }

  static const TimeZone& utc() {
    static const TimeZone zone;
    return zone;
  }

  const Settings& settings() const noexcept { return settings_; }
  /// All of them, those of each year too.
  const std::vector<Change>& changes() const noexcept { return changes_; }

  Span offset_at(Instant at) const noexcept { return offset(stretch_of(at)); }

  /// The window of the unit that an instant lies in. One of days or more begins at the first
  /// instant at which the clock shows that day, and a clock set back does not end it. One of hours
  /// or minutes ends where the clock is set, so an hour that comes twice is counted twice.
  Window window_at(CalendarUnit unit, Instant at) const noexcept {
    const std::size_t stretch = stretch_of(at);
    const LocalTime shown{at.time_since_epoch() + offset(stretch)};
    const LocalTime unit_begin = begin_of(unit, shown);
    if (unit < CalendarUnit::day) {
      const Instant begin = at - (shown - unit_begin);
      return {std::max(begin, begins_at(stretch)),
              std::min(begin + weir::shortest(unit), ends_at(stretch))};
    }
    Instant begin = first_showing(unit_begin);
    for (LocalTime next = next_of(unit, unit_begin);; next = next_of(unit, next)) {
      const Instant turns_at = first_showing(next);
      if (turns_at > at) return {begin, turns_at};
      begin = turns_at;  // the clock was there already, before it was set back
    }
  }

  /// No window of the unit is shorter.
  Span shortest(CalendarUnit unit) const noexcept {
    return shortest_[static_cast<std::size_t>(unit)];
  }

  /// When the clocks are set in that year by the first or second yearly change.
  static Instant change_in(int year, const Yearly& yearly, std::size_t which) noexcept {
    using std::chrono::local_days;
    const YearlyChange& change = yearly.changes[which];
    const std::chrono::weekday day{change.weekday};
    const auto month = std::chrono::year{year} / static_cast<int>(change.month);
    const local_days date = change.week < 5 ? local_days{month / day[change.week]}
                                            : local_days{month / day[std::chrono::last]};
    const Span before = yearly.changes[1 - which].offset;
    return Instant{LocalTime{date}.time_since_epoch() + change.time - before};
  }

 private:
  explicit TimeZone(Settings wanted) : settings_(std::move(wanted)), changes_(settings_.changes) {
    for (const CalendarUnit unit : calendar_units) {
      shortest_[static_cast<std::size_t>(unit)] = weir::shortest(unit);
    }
    if (!settings_.yearly) return;
    const Yearly& yearly = *settings_.yearly;
    for (int year = yearly.first_year; year <= last_year; ++year) {
      for (std::size_t which = 0; which < yearly.changes.size(); ++which) {
        changes_.push_back({change_in(year, yearly, which), yearly.changes[which].offset});
      }
    }
  }

  static bool fits(Span offset) noexcept {
    return offset <= farthest_offset && offset >= -farthest_offset;
  }

  static std::optional<TimeZoneError> trouble_of(const Yearly& yearly) {
    using std::chrono::days;
    if (yearly.first_year < 1800 || yearly.first_year > last_year) return TimeZoneError::no_day;
    for (const YearlyChange& change : yearly.changes) {
      if (!fits(change.offset)) return TimeZoneError::too_far;
      const bool has_day = change.month >= 1 && change.month <= 12 && change.week >= 1 &&
                           change.week <= 5 && change.weekday <= 6;
      if (!has_day || change.time > days{8} || change.time < -days{8}) {
        return TimeZoneError::no_day;
      }
    }
    for (int year = yearly.first_year; year <= last_year; ++year) {
      const Instant first = change_in(year, yearly, 0);
      const Instant second = change_in(year, yearly, 1);
      if (first >= second) return TimeZoneError::unordered;
      if (first < begin_of_year(year) || second >= begin_of_year(year + 1)) {
        return TimeZoneError::no_day;
      }
    }
    return {};
  }

  static Instant begin_of_year(int year) noexcept {
    const std::chrono::sys_days day{std::chrono::year{year} / 1 / 1};
    return Instant{day.time_since_epoch()};
  }

  /// Stretches are numbered from 0; a change begins each but the first.
  std::size_t stretch_of(Instant at) const noexcept {
    const auto later =
        std::upper_bound(changes_.begin(), changes_.end(), at,
                         [](Instant instant, const Change& change) { return instant < change.at; });
    return static_cast<std::size_t>(later - changes_.begin());
  }
  Span offset(std::size_t stretch) const noexcept {
    return stretch == 0 ? settings_.first_offset : changes_[stretch - 1].offset;
  }
  Instant begins_at(std::size_t stretch) const noexcept {
    return stretch == 0 ? Instant::min() : changes_[stretch - 1].at;
  }
  Instant ends_at(std::size_t stretch) const noexcept {
    return stretch == changes_.size() ? Instant::max() : changes_[stretch].at;
  }

  /// The first instant at which the clock shows this time or a later one.
  Instant first_showing(LocalTime time) const noexcept {
    const Instant as_utc{time.time_since_epoch()};
    // No clock is further ahead, so none shows it before this stretch.
    for (std::size_t stretch = stretch_of(as_utc - farthest_offset);; ++stretch) {
      const Instant shown_at = std::max(begins_at(stretch), as_utc - offset(stretch));
      if (shown_at < ends_at(stretch)) return shown_at;
    }
  }

  /// Only where a clock is set may windows be shorter than in the calendar.
  void measure() {
    for (const CalendarUnit unit : calendar_units) {
      Span& least = shortest_[static_cast<std::size_t>(unit)];
      for (const Change& change : changes_) {
        for (Instant at = change.at - Span{1}; at <= change.at;) {
          const Window window = window_at(unit, at);
          least = std::min(least, window.turns_at - window.begin);
          at = window.turns_at;
        }
      }
    }
  }

  Settings settings_;
  std::vector<Change> changes_;
  std::array<Span, calendar_units.size()> shortest_{};
};

}  // namespace weir
