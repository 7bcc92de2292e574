#include "weir/duration.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST(Duration, IsANumberAndAUnit) {
  EXPECT_EQ(parse_duration("1us").value(), 1us);
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("0s").value(), 0s);
  EXPECT_EQ(parse_duration("007s").value(), 7s);
  EXPECT_EQ(parse_duration("90s").value(), 90s);
  EXPECT_EQ(parse_duration("10m").value(), 10min);
  EXPECT_EQ(parse_duration("24h").value(), 24h);
  EXPECT_EQ(parse_duration("7d").value(), 7 * 24h);
}

TEST(Duration, MayBeWrittenInWords) {
  for (const char* text : {"2 seconds", "2seconds", "2  second", "2 sec", "2sec"}) {
    ASSERT_TRUE(parse_duration(text)) << text;
    EXPECT_EQ(parse_duration(text).value(), 2s) << text;
  }
  EXPECT_EQ(parse_duration("3 microseconds").value(), 3us);
  EXPECT_EQ(parse_duration("3 milliseconds").value(), 3ms);
  EXPECT_EQ(parse_duration("3 min").value(), 3min);
  EXPECT_EQ(parse_duration("3 minutes").value(), 3min);
  EXPECT_EQ(parse_duration("1 hour").value(), 1h);
  EXPECT_EQ(parse_duration("2 days").value(), 48h);
}

TEST(Duration, MayHaveDecimalsWhereWholeMicrosecondsResult) {
  EXPECT_EQ(parse_duration("1.5s").value(), 1'500ms);
  EXPECT_EQ(parse_duration("0.000001s").value(), 1us);
  EXPECT_EQ(parse_duration("1.0us").value(), 1us);
  EXPECT_EQ(parse_duration("2.25ms").value(), 2'250us);
  EXPECT_EQ(parse_duration("0.0000001s").error(), DurationError::not_whole);
  EXPECT_EQ(parse_duration("1.5us").error(), DurationError::not_whole);
}

TEST(Duration, IsAtMostThirtyFiveYears) {
  EXPECT_EQ(parse_duration("1125899906842624us").value(), longest_span);
  for (const char* text :
       {"1125899906842625us", "13032d", "99999999999999999999999999s", "9223372036854775807d",
        "18446744073709551617us", "100000000000000000000000000000000000000000d"}) {
    ASSERT_FALSE(parse_duration(text)) << text;
    EXPECT_EQ(parse_duration(text).error(), DurationError::out_of_range) << text;
  }
  EXPECT_TRUE(parse_duration("13031d"));
}

TEST(Duration, NeedsItsUnit) {
  for (const char* text :
       {"",       "5",     "s",    "ms",   "5 ",        "5x",     "5S",     "5Ms",         "5mss",
        "5uss",   "5 s x", "5s ",  " 5s",  "-5s",       "+5s",    "5.s",    ".5s",         "5..5s",
        "5.5.5s", "5e3s",  "0x5s", "5\ts", "5second s", "five s", "5secs!", "5 fortnights"}) {
    ASSERT_FALSE(parse_duration(text)) << text;
    EXPECT_EQ(parse_duration(text).error(), DurationError::no_unit) << text;
  }
}

TEST(Duration, IsReadFromTheStartOfAText) {
  const auto read = read_duration("10m burst 2");
  EXPECT_EQ(read.value().span, 10min);
  EXPECT_EQ(read.value().length, 3u);
  const auto bare = read_duration("s");
  EXPECT_EQ(bare.value().span, 1s);
  EXPECT_EQ(bare.value().length, 1u);
  EXPECT_EQ(read_duration("2 hours&").value().length, 7u);
}

TEST(Duration, IsPrintedInItsLargestWholeUnit) {
  EXPECT_EQ(print_duration(0us), "0s");
  EXPECT_EQ(print_duration(1us), "1us");
  EXPECT_EQ(print_duration(1'500us), "1500us");
  EXPECT_EQ(print_duration(1ms), "1ms");
  EXPECT_EQ(print_duration(1s), "1s");
  EXPECT_EQ(print_duration(90s), "90s");
  EXPECT_EQ(print_duration(120s), "2m");
  EXPECT_EQ(print_duration(90min), "90m");
  EXPECT_EQ(print_duration(25h), "25h");
  EXPECT_EQ(print_duration(48h), "2d");
  EXPECT_EQ(print_duration(longest_span), "1125899906842624us");
}

TEST(Duration, PrintedAndReadIsTheSame) {
  std::mt19937_64 random(3);
  for (int at = 0; at < 10'000; ++at) {
    Span span{static_cast<std::int64_t>(random() >> (14 + random() % 50))};
    if (at % 3 == 0) span = std::min(span / 1'000 * 1'000'000, longest_span);
    ASSERT_EQ(parse_duration(print_duration(span)).value(), span) << span.count();
  }
}

TEST(Duration, EveryErrorIsDescribed) {
  for (const auto error :
       {DurationError::no_unit, DurationError::not_whole, DurationError::out_of_range}) {
    EXPECT_GT(std::string(describe(error)).size(), 20u);
  }
}

}  // namespace
}  // namespace weir
