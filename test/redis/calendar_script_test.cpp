// The calendar of the script against that of the machine: zones, units, instants of any year.
#include <gtest/gtest.h>

#include <random>

#include "redis/limit_config.hpp"
#include "redis/stored_form.hpp"
#include "test/limit/zones.hpp"
#include "test/redis/lua_store.hpp"

namespace weir::redis {
namespace {

using Machine = Limit::Machine;

class CalendarScript : public testing::Test {
 protected:
  /// Takes what is left of a window, at an instant and a tick before it turns, then as it turns.
  void expect_twins(const Limit& limit, Instant at) {
    const std::string config = config_text(limit).value();
    const std::string key = std::to_string(++keys_);
    Limit::State state;
    Instant now = at;
    for (const Span step : {Span{0}, Span{-1}, Span{0}}) {
      store_.set_time(now);
      const Decision decision = weir::step<Machine>(limit.config(), state, {now, 2, {}});
      const auto reply = store_.call({ScriptVerb::take, 'k', {key}, {config, "2", "-1"}});
      ASSERT_EQ(reply.error, "") << limit.text();
      const std::vector<std::int64_t> told(reply.integers.begin(), reply.integers.begin() + 6);
      const std::vector<std::int64_t> expected{static_cast<std::int64_t>(decision.verdict),
                                               ticks(now),
                                               ticks(decision.ready_at),
                                               decision.limit,
                                               decision.remaining,
                                               ticks(decision.reset_at)};
      ASSERT_EQ(told, expected) << limit.text() << " at " << ticks(now);
      ASSERT_EQ(store_.get(key), write_stored(state)) << limit.text() << " at " << ticks(now);
      now = decision.reset_at + step;
    }
  }

  /// Mostly close to where the clocks are set, else anywhere from 1827 to 2112.
  Instant some_instant(const Limit& limit) {
    const auto& zone = *std::get<CalendarWindow::Config>(limit.config()).zone;
    const auto below = [&](std::int64_t end) {
      return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
    };
    if (zone.changes().empty() || below(3) == 0) {
      return Instant{Span{below(std::int64_t{1} << 53) - (std::int64_t{1} << 52)}};
    }
    const auto which = static_cast<std::size_t>(
        below(std::min<std::int64_t>(180, static_cast<std::int64_t>(zone.changes().size()))));
    const std::int64_t spans[] = {2, 3'600'000'000, 100'000'000'000};
    const std::int64_t span = spans[below(3)];
    return zone.changes()[which].at + Span{below(2 * span) - span};
  }

  static std::int64_t ticks(Instant at) { return at.time_since_epoch().count(); }

  LuaStore store_{Loaded::library};
  std::mt19937_64 random_{20261122};
  int keys_ = 0;
};

TEST_F(CalendarScript, DecidesAsTheMachineInTheHardZones) {
  for (const char* zone : hard_zones) {
    for (const CalendarUnit unit : calendar_units) {
      const Limit limit =
          Limit::of(std::string("calendar-window 3/") + name(unit) + " zone " + zone);
      for (int round = 0; round < 60; ++round) {
        ASSERT_NO_FATAL_FAILURE(expect_twins(limit, some_instant(limit)));
      }
    }
  }
}

TEST_F(CalendarScript, DecidesAsTheMachineInEveryZone) {
  for (const std::string& zone : all_zones()) {
    const auto unit = calendar_units[random_() % calendar_units.size()];
    const Limit limit = Limit::of(std::string("calendar-window 3/") + name(unit) + " zone " + zone);
    for (int round = 0; round < 4; ++round) {
      ASSERT_NO_FATAL_FAILURE(expect_twins(limit, some_instant(limit)));
    }
  }
}

TEST_F(CalendarScript, RefusesWhatIsNoZone) {
  for (const char* zone :
       {"", "x", "0", "0,1", "0,1,5", "93601,0", "0,2,5,0,5,0", "0,1,5,93601", "0,-1", "0,0.5",
        "0,0,2020,3,5,0,7200,7200,10,5,0,10800", "0,0,2020,13,5,0,7200,7200,10,5,0,10800,3600",
        "0,0,2020,3,6,0,7200,7200,10,5,0,10800,3600", "0,0,2020,3,5,7,7200,7200,10,5,0,10800,3600",
        "0,0,9999,3,5,0,7200,7200,10,5,0,10800,3600", "0,nan", "inf,0", "0,0,1"}) {
    const auto reply = store_.call(
        {ScriptVerb::take, 'k', {"k"}, {"k 60000000 3 2 " + std::string(zone), "1", "-1"}});
    EXPECT_NE(reply.error.find("is no limit that this script knows"), std::string::npos) << zone;
  }
}

/// Numbers that no zone has must not keep the store busy: they are answered somehow.
TEST_F(CalendarScript, AnswersUnderNumbersThatNoZoneHas) {
  for (int round = 0; round < 2'000; ++round) {
    std::string zone = "0,0," + std::to_string(1800 + random_() % 351);
    for (int change = 0; change < 2; ++change) {
      zone += "," + std::to_string(1 + random_() % 12) + "," + std::to_string(1 + random_() % 5) +
              "," + std::to_string(random_() % 7) + "," +
              std::to_string(static_cast<std::int64_t>(random_() % 1'382'400) - 691'200) + "," +
              std::to_string(static_cast<std::int64_t>(random_() % 180'000) - 90'000);
    }
    store_.set_time(Instant{Span{static_cast<std::int64_t>(random_() % (std::uint64_t{1} << 52))}});
    const std::string unit = std::to_string(random_() % 6);
    const auto reply = store_.call(
        {ScriptVerb::take, 'k', {"k"}, {"k 60000000 3 " + unit + " " + zone, "1", "-1"}});
    EXPECT_EQ(reply.error, "") << zone;
  }
}

}  // namespace
}  // namespace weir::redis
