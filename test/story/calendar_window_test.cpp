#include "weir/algorithm/calendar_window.hpp"

#include "limit/time_zones.hpp"
#include "test/story/story.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;
using std::chrono::sys_days;

/// A date and time of UTC, as a story counts it.
Span utc(std::chrono::year_month_day date, Span time = Span{0}) {
  return sys_days{date}.time_since_epoch() + time;
}

CalendarWindow::Config window(Cost count, CalendarUnit unit, const char* zone) {
  return CalendarWindow::configure({count, unit, *time_zones().find(zone).value()}).value();
}

TEST(CalendarWindow, CountsAnewAtTheMidnightOfItsZone) {
  using namespace std::chrono;
  const Span evening = utc(2026y / January / 31, 22h);
  const Span midnight = utc(2026y / January / 31, 23h);
  // clang-format off
  expect_story<CalendarWindow>(window(3, CalendarUnit::day, "Europe/Berlin"), {
      // at, cost, patience, verdict, ready_at, remaining
      {evening,        2, 0us, granted,    evening,  1},
      {evening,        2, 0us, denied,     midnight, 1},
      {midnight - 1us, 2, 0us, denied,     midnight, 1},
      {midnight,       2, 0us, granted,    midnight, 1},
      {midnight,       4, 1h,  impossible, forever,  1},
  });
  // clang-format on
}

TEST(CalendarWindow, AMonthIsAsLongAsItIs) {
  using namespace std::chrono;
  const Span february = utc(2028y / February / 1);
  const Span march = utc(2028y / March / 1);
  const Span april = utc(2028y / April / 1);
  // clang-format off
  expect_story<CalendarWindow>(window(1, CalendarUnit::month, "UTC"), {
      {february,    1, 0us,         granted,  february, 0},
      {march - 1us, 1, 0us,         denied,   march,    0},
      {march - 1us, 1, 1us,         deferred, march,    0},
      {march,       1, 31 * 24h,    deferred, april,    0},
  });
  // clang-format on
}

TEST(CalendarWindow, TheDayOnWhichTheClockIsSetForwardHasTwentyThreeHours) {
  using namespace std::chrono;
  const CalendarWindow::Config config = window(1, CalendarUnit::day, "Europe/Berlin");
  const auto length_at = [&](Span at) {
    const Window found = config.window_at(Instant{at});
    return found.turns_at - found.begin;
  };
  EXPECT_EQ(length_at(utc(2026y / March / 28, 12h)), 24h);
  EXPECT_EQ(length_at(utc(2026y / March / 29, 12h)), 23h);
  EXPECT_EQ(length_at(utc(2026y / October / 25, 12h)), 25h);
  EXPECT_EQ(CalendarWindow::bound(config, 23h, 1), 2);
  EXPECT_EQ(CalendarWindow::bound(config, 23h + 1us, 1), 2);
  EXPECT_EQ(CalendarWindow::bound(config, 23h + 2us, 1), 3);
}

TEST(CalendarWindow, AnHourThatComesTwiceIsCountedTwice) {
  using namespace std::chrono;
  const Span first = utc(2026y / October / 25, 0h);  // 02:00 in summer, then in winter time
  // clang-format off
  expect_story<CalendarWindow>(window(2, CalendarUnit::hour, "Europe/Berlin"), {
      {first,      2, 0us, granted, first,      0},
      {first + 1s, 1, 0us, denied,  first + 1h, 0},
      {first + 1h, 2, 0us, granted, first + 1h, 0},
      {first + 2h, 2, 0us, granted, first + 2h, 0},
  });
  // clang-format on
}

TEST(CalendarWindow, AWeekBeginsOnMonday) {
  using namespace std::chrono;
  const CalendarWindow::Config config = window(1, CalendarUnit::week, "Asia/Kathmandu");
  const Window found = config.window_at(Instant{utc(2026y / November / 22, 18h)});
  EXPECT_EQ(found.begin.time_since_epoch(), utc(2026y / November / 15, 18h + 15min));
  EXPECT_EQ(found.turns_at.time_since_epoch(), utc(2026y / November / 22, 18h + 15min));
}

TEST(CalendarWindow, AClockSetBackMintsNothing) {
  using namespace std::chrono;
  const Span midnight = utc(2026y / May / 1, 22h);
  // clang-format off
  expect_story<CalendarWindow>(window(2, CalendarUnit::day, "Europe/Berlin"), {
      {midnight,       2, 0us, granted, midnight,       0},
      {midnight - 1us, 1, 0us, denied,  midnight + 24h, 0},
      {midnight + 24h, 1, 0us, granted, midnight + 24h, 1},
  });
  // clang-format on
}

TEST(CalendarWindow, GivesBackWithinItsWindow) {
  using namespace std::chrono;
  const CalendarWindow::Config config = window(2, CalendarUnit::year, "UTC");
  CalendarWindow::State state;
  const Instant now{utc(2026y / May / 1)};
  const Request request{now, 2, {}};
  const Decision decision = step<CalendarWindow>(config, state, request);
  const Grant grant = grant_of<CalendarWindow>(config, state, request, decision);
  EXPECT_EQ(cancel<CalendarWindow>(config, state, now, grant), 2);
  (void)step<CalendarWindow>(config, state, request);
  EXPECT_EQ(CalendarWindow::refund(config, state, now, 5), 2);
  EXPECT_EQ(CalendarWindow::refund(config, state, Instant{utc(2027y / January / 1)}, 1), 0);
}

}  // namespace
}  // namespace weir
