#include "limit/time_zones.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "limit/posix_rule.hpp"
#include "limit/tzif.hpp"
#include "test/limit/zones.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string file_of(const std::string& name) {
  std::ifstream file(std::string(TimeZones::usual_folder) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TimeZone zone(const std::string& name) { return read_tzif(file_of(name)).value(); }

struct Cut {
  const char* zone;
  CalendarUnit unit;
  std::int64_t within;  ///< a second of UTC that lies in the window
  std::int64_t begin;
  std::int64_t turns_at;
};

TEST(Tzif, CutsTheDaysThatAreHard) {
  for (const Cut& cut : {
           // There was no midnight: 00:00 to 00:59 were left out.
           Cut{"America/Sao_Paulo", CalendarUnit::day, 1'541'300'400, 1'541'300'400, 1'541'383'200},
           // 30 December 2011 was left out: the day after the 29th is the 31st.
           Cut{"Pacific/Apia", CalendarUnit::day, 1'325'239'199, 1'325'152'800, 1'325'239'200},
           Cut{"Pacific/Apia", CalendarUnit::day, 1'325'239'200, 1'325'239'200, 1'325'325'600},
           Cut{"Asia/Kathmandu", CalendarUnit::hour, 1'700'000'000, 1'699'996'500, 1'700'000'100},
           // Back by half an hour at two: from one o'clock an hour, then half of one.
           Cut{"Australia/Lord_Howe", CalendarUnit::hour, 1'775'314'800, 1'775'314'800,
               1'775'316'600},
           Cut{"America/New_York", CalendarUnit::day, 1'772'960'400, 1'772'946'000, 1'773'028'800},
           Cut{"Europe/Berlin", CalendarUnit::day, 1'792'886'400, 1'792'879'200, 1'792'969'200},
           Cut{"Asia/Shanghai", CalendarUnit::week, 1'700'000'000, 1'699'804'800, 1'700'409'600},
       }) {
    const Window window =
        zone(cut.zone).window_at(cut.unit, Instant{std::chrono::seconds{cut.within}});
    EXPECT_EQ(window.begin.time_since_epoch() / 1s, cut.begin) << cut.zone << cut.within;
    EXPECT_EQ(window.turns_at.time_since_epoch() / 1s, cut.turns_at) << cut.zone << cut.within;
  }
}

TEST(Tzif, EveryZoneOfThisMachineIsRead) {
  const auto names = all_zones();
  EXPECT_GT(names.size(), 300u);
  for (const std::string& name : names) EXPECT_TRUE(read_tzif(file_of(name))) << name;
}

/// No gap, no overlap, none shorter than stated: the promise of windows, at each change and beside.
TEST(Tzif, WindowsOfEveryZonePartitionTime) {
  for (const std::string& name : all_zones()) {
    const TimeZone read = zone(name);
    for (const CalendarUnit unit : calendar_units) {
      for (const TimeZone::Change& change : read.changes()) {
        Window before = read.window_at(unit, change.at - Span{1});
        for (int step = 0; step < 3; ++step) {
          const Window window = read.window_at(unit, before.turns_at);
          ASSERT_EQ(window.begin, before.turns_at) << name;
          ASSERT_EQ(read.window_at(unit, window.turns_at - Span{1}), window) << name;
          ASSERT_GE(window.turns_at - window.begin, read.shortest(unit)) << name;
          before = window;
        }
      }
    }
  }
}

TEST(Tzif, WhatIsForgottenChangesNothingSince) {
  for (const char* name : hard_zones) {
    const TimeZone whole = zone(name);
    const TimeZone recent = forgetting_before(2020, whole);
    for (std::int64_t second = 1'577'836'800; second < 4'500'000'000; second += 86'413 * 3) {
      const Instant at{std::chrono::seconds{second}};
      ASSERT_EQ(recent.offset_at(at), whole.offset_at(at)) << name << " " << second;
    }
    EXPECT_LE(recent.settings().changes.size(), 200u) << name;
  }
}

TEST(Tzif, CutOffAnywhereItIsRefused) {
  const std::string whole = file_of("Europe/Berlin");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_tzif(std::string_view(whole).substr(0, size))) << size;
  }
}

TEST(Tzif, SaysWhatIsWrong) {
  const std::string good = file_of("Europe/Berlin");
  const auto changed = [&](std::size_t at, char byte) {
    std::string bad = good;
    bad[at] = byte;
    return read_tzif(bad).error();
  };
  EXPECT_EQ(changed(0, 't'), TzifError::not_tzif);
  EXPECT_EQ(changed(4, '\0'), TzifError::old);
  EXPECT_EQ(changed(20, '\x7f'), TzifError::odd);
  EXPECT_EQ(changed(good.size() - 2, 'x'), TzifError::unknown_rule);
  EXPECT_EQ(read_tzif("TZif").error(), TzifError::cut_short);
}

TEST(PosixRule, IsReadAsZonesHaveIt) {
  const auto berlin = read_posix_rule("CET-1CEST,M3.5.0,M10.5.0/3");
  ASSERT_TRUE(berlin && berlin->yearly);
  EXPECT_EQ(berlin->yearly->changes[0], (TimeZone::YearlyChange{3, 5, 0, 2h, 2h}));
  EXPECT_EQ(berlin->yearly->changes[1], (TimeZone::YearlyChange{10, 5, 0, 3h, 1h}));
  const auto south = read_posix_rule("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0");
  ASSERT_TRUE(south && south->yearly);
  EXPECT_EQ(south->yearly->changes[0], (TimeZone::YearlyChange{4, 1, 0, 2h, 10h + 30min}));
  EXPECT_EQ(south->yearly->changes[1], (TimeZone::YearlyChange{10, 1, 0, 2h, 11h}));
  EXPECT_EQ(read_posix_rule("<-02>2<-01>,M3.5.0/-1,M10.5.0/0")->yearly->changes[0].time, -1h);
  EXPECT_FALSE(read_posix_rule("<+0545>-5:45")->yearly);
  EXPECT_FALSE(read_posix_rule("")->yearly);
}

TEST(PosixRule, WhatIsNoneIsRefused) {
  for (const char* text :
       {"CET", "CE-1", "CET-25", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,J300",
        "CET-1CEST,M13.1.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,M3.5.0/168,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0 ", "<CET-1", "CET-1:60", "CET--1",
        "CET-99999999999999999999"}) {
    EXPECT_FALSE(read_posix_rule(text)) << text;
  }
}

TEST(TimeZones, GiveOneZoneForOneName) {
  TimeZones zones;
  const auto first = zones.find("Asia/Tokyo");
  ASSERT_TRUE(first);
  EXPECT_EQ(zones.find("Asia/Tokyo").value(), *first);
  EXPECT_NE(zones.find("Europe/Berlin").value(), *first);
  EXPECT_EQ(zones.find("UTC").value(), &TimeZone::utc());
}

class ZoneFolder : public testing::Test {
 protected:
  ZoneFolder() {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_ / "zoneinfo/Area");
  }
  ~ZoneFolder() override { std::filesystem::remove_all(path_); }

  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(path_ / "zoneinfo" / name, std::ios::binary) << bytes;
  }
  std::string folder() const { return (path_ / "zoneinfo").string(); }

  std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("weir_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ZoneFolder, WithoutZonesSaysWhatToInstall) {
  TimeZones zones(folder());
  EXPECT_EQ(zones.find("Europe/Berlin").error(),
            "no time zones in " + folder() + "; install tzdata, or leave the zone out for UTC");
  EXPECT_TRUE(zones.find("UTC"));
  write("Area/Town", file_of("Europe/Berlin"));  // installed meanwhile
  EXPECT_TRUE(zones.find("Area/Town"));
}

TEST_F(ZoneFolder, OpensOnlyWhatItListed) {
  write("Area/Town", file_of("Europe/Berlin"));
  write("secret", file_of("Europe/Berlin"));
  write("Secret.txt", file_of("Europe/Berlin"));
  std::ofstream(path_ / "Outside", std::ios::binary) << file_of("Europe/Berlin");
  TimeZones zones(folder());
  EXPECT_TRUE(zones.find("Area/Town"));
  for (const char* name : {"../Outside", "Area/../../Outside", "secret", "Secret.txt", "Area",
                           "Area/", "/Area/Town", "Area//Town", "./Area/Town", ""}) {
    EXPECT_FALSE(zones.find(name)) << name;
  }
  EXPECT_FALSE(zones.find(std::string_view("Area/Town\0", 10)));
  EXPECT_FALSE(zones.find(std::string(100'000, 'A')));
}

TEST_F(ZoneFolder, NamesTheFileThatIsNoZone) {
  write("Area/Town", "no zone");
  TimeZones zones(folder());
  EXPECT_THAT(zones.find("Area/Town").error(), HasSubstr(folder() + "/Area/Town is cut short"));
}

}  // namespace
}  // namespace weir
