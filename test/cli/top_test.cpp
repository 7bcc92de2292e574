#include <gmock/gmock.h>

#include "cli/top_figures.hpp"
#include "cli/top_view.hpp"

namespace weir::test {
namespace {

using cli::Characters;
using cli::Colour;
using cli::TopFigures;
using cli::TopFrame;
using cli::TopKey;
using cli::TopReading;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

constexpr TopFrame utf8{.columns = 80, .characters = Characters::utf8};

TopReading at_first() {
  return {.at_us = 1'000'000,
          .version = "0.1.0",
          .up_s = 59,
          .commands = 1'000,
          .cpu_s = 1.5,
          .limits = {{.name = "cl.throttle"},
                     {.name = "login", .decisions = {10, 0, 90, 0}},
                     {.name = "api", .decisions = {5'000, 0, 0, 0}}}};
}

TopReading two_seconds_later() {
  return {.at_us = 3'000'000,
          .version = "0.1.0",
          .up_s = 61,
          .connections = 12,
          .keys = 1'234,
          .table_bytes = 99'000,
          .resident_bytes = 20 << 20,
          .commands = 31'000,
          .shared_decisions = 7,
          .cpu_s = 2.0,
          .limits = {{.name = "cl.throttle"},
                     {.name = "login", .decisions = {30, 0, 270, 0}},
                     {.name = "api", .decisions = {29'690, 1, 9, 100}}},
          .hottest = {{.begin = "user:alice",
                       .bytes = 10,
                       .limit = "@api",
                       .calls_per_s = 8'123,
                       .error_per_s = 211},
                      {.begin = "\x1b[2Jroot\n",
                       .bytes = 9,
                       .limit = "@login",
                       .calls_per_s = 99.94,
                       .error_per_s = 8.4},
                      {.begin = std::string(64, 'k'),
                       .bytes = 900,
                       .limit = "100/1s",
                       .calls_per_s = 12.25},
                      {.begin = "", .bytes = 0, .limit = "cl.throttle", .calls_per_s = 0.4}},
          .most_refused = {}};
}

TopFigures figures() { return cli::between({.before = at_first(), .after = two_seconds_later()}); }

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(TopFiguresTest, AreDifferencesOverTheServersTime) {
  const TopFigures seen = figures();
  EXPECT_DOUBLE_EQ(seen.span_s, 2);
  EXPECT_DOUBLE_EQ(seen.commands_per_s, 15'000);
  EXPECT_DOUBLE_EQ(seen.shared_per_s, 3.5);
  EXPECT_DOUBLE_EQ(seen.cpu, 0.25);
  ASSERT_EQ(seen.limits.size(), 3U);
  EXPECT_EQ(seen.limits[0].name, "api");  // the busiest first
  EXPECT_DOUBLE_EQ(seen.limits[0].decisions_per_s[0], 12'345);
  EXPECT_EQ(seen.limits[1].name, "login");
  EXPECT_DOUBLE_EQ(seen.limits[1].refused().value(), 0.9);
  EXPECT_EQ(seen.limits[2].refused(), std::nullopt);
}

TEST(TopFiguresTest, OfAServerThatBeganAnewAreNone) {
  TopReading anew = at_first();
  anew.at_us = 5'000'000;
  anew.up_s = 1;
  const TopFigures seen = cli::between({.before = two_seconds_later(), .after = anew});
  EXPECT_EQ(seen.commands_per_s, 0);
  EXPECT_EQ(seen.cpu, 0);
  EXPECT_EQ(seen.all.all_per_s(), 0);
}

TEST(TopViewTest, IsATable) {
  EXPECT_EQ(joined(cli::table(figures(), utf8)),
            "weir 0.1.0, up 1m 1s, 12.5k decisions/s, 1.2 % refused, 12 connections\n"
            "1.23k keys, 96.7 KiB of states, 20.0 MiB resident, CPU 25.0 %, 3.5 shared/s\n"
            "\n"
            "limit                     granted/s  deferred/s  denied/s  impossible/s  refused\n"
            "api                           12.3k         0.5       4.5          50.0    0.4 %\n"
            "login                          10.0           0      90.0             0   90.0 %\n"
            "cl.throttle                       0           0         0             0        -\n"
            "\n"
            "hottest keys                           limit                   calls/s         ±\n"
            "user:alice                             @api                      8.12k       211\n"
            "\\x1b[2Jroot\\x0a                        @login                     99.9       8.4\n"
            "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk… 100/1s                     12.2         0\n"
            "\"\"                                     cl.throttle                 0.4         0\n"
            "\n"
            "most refused keys                      limit                 refused/s         ±\n"
            "none lately\n");
}

TEST(TopViewTest, OfANarrowScreenSaysLess) {
  EXPECT_EQ(joined(cli::table(figures(), {.columns = 44, .rows = 12})),
            "weir 0.1.0, up 1m 1s, 12.5k decisions/s,\n"
            "1.2 % refused, 12 connections\n"
            "1.23k keys, 96.7 KiB of states,\n"
            "20.0 MiB resident, CPU 25.0 %, 3.5 shared/s\n"
            "\n"
            "limit (0 of 3)  granted/s  denied/s  refused\n"
            "\n"
            "hottest keys               calls/s        +-\n"
            "user:alice                   8.12k       211\n"
            "\n"
            "most refused keys        refused/s        +-\n"
            "none lately\n");
}

TEST(TopViewTest, FitsEveryScreen) {
  TopReading reading = two_seconds_later();
  for (int more = 0; more < 50; ++more) {
    reading.limits.push_back({.name = "limit" + std::to_string(more)});
    reading.hottest.push_back({.begin = "key", .bytes = 3, .limit = "other", .calls_per_s = 3});
    reading.most_refused.push_back(reading.hottest.back());
  }
  const TopFigures many = cli::between({.before = reading, .after = reading});
  for (std::size_t columns = 40; columns < 160; ++columns) {
    for (std::size_t rows = 1; rows < 180; rows += 7) {
      const auto lines = cli::table(many, {.columns = columns, .rows = rows});
      EXPECT_LE(lines.size(), rows);
      for (const std::string& line : lines) EXPECT_LE(line.size(), columns) << line;
    }
  }
}

TEST(TopViewTest, FillsItsScreen) {
  TopReading reading = two_seconds_later();
  for (int more = 0; more < 50; ++more) {
    reading.hottest.push_back({.begin = "key", .bytes = 3, .limit = "other", .calls_per_s = 3});
    reading.most_refused.push_back(reading.hottest.back());
  }
  const TopFigures many = cli::between({.before = reading, .after = reading});
  for (std::size_t rows = 20; rows < 100; ++rows) {
    EXPECT_EQ(cli::table(many, {.columns = 80, .rows = rows}).size(), rows);
  }
}

TEST(TopViewTest, PaintsWhatIsRefusedWhereThereAreColours) {
  const auto plain = cli::table(figures(), utf8);
  EXPECT_THAT(plain, Each(Not(HasSubstr("\x1b"))));
  TopFrame frame = utf8;
  frame.colour = Colour::ansi;
  const auto lines = cli::table(figures(), frame);
  EXPECT_THAT(lines[3], testing::StartsWith("\x1b[1mlimit"));
  EXPECT_THAT(lines[4], HasSubstr("\x1b[33m0.4 %\x1b[0m"));
  EXPECT_THAT(lines[5], HasSubstr("\x1b[31m90.0 %\x1b[0m"));
  EXPECT_THAT(lines[6], Not(HasSubstr("\x1b")));
}

TEST(TopViewTest, ShortNumbersKeepThreeDigits) {
  for (const auto& [number, text] : std::vector<std::pair<double, std::string>>{{0, "0"},
                                                                                {0.04, "0"},
                                                                                {0.06, "0.1"},
                                                                                {9.94, "9.9"},
                                                                                {99.96, "100"},
                                                                                {812, "812"},
                                                                                {999.4, "999"},
                                                                                {999.6, "1.00k"},
                                                                                {1'250, "1.25k"},
                                                                                {12'340, "12.3k"},
                                                                                {999'600, "1.00M"},
                                                                                {17.3e6, "17.3M"},
                                                                                {2e9, "2.00G"}}) {
    EXPECT_EQ(cli::short_number(number), text);
  }
}

TEST(TopJsonTest, HasNoByteThatAStrangerChose) {
  const std::string text = cli::as_json(figures()).text();
  EXPECT_THAT(text, HasSubstr(R"({"key":"\\x1b[2Jroot\\x0a","key_bytes":9,"limit":"@login",)"
                              R"("calls_per_s":99.94,"error_per_s":8.4})"));
  EXPECT_THAT(text, HasSubstr(R"({"limit":"login","granted_per_s":10,"deferred_per_s":0,)"
                              R"("denied_per_s":90,"impossible_per_s":0})"));
  EXPECT_THAT(text, HasSubstr(R"("span_us":2000000,)"));
}

TEST(TopReadingTest, IsNoneOfAnotherServer) {
  const wire::Reply other{.type = wire::ReplyType::bulk, .text = "hello"};
  EXPECT_FALSE(cli::read_top({.top = other, .info = other}));
  const wire::Reply list{.type = wire::ReplyType::array, .elements = {other, other, other}};
  EXPECT_FALSE(cli::read_top({.top = list, .info = list}));
}

}  // namespace
}  // namespace weir::test
