// Limits as scripts are told them, read back.
#include "redis/told_limit.hpp"

#include <gtest/gtest.h>

#include "redis/limit_config.hpp"

namespace weir::redis {
namespace {

constexpr const char* limits[] = {
    "5/1m",
    "100/s burst 7",
    "7/3s burst 1000",
    "1M/1ms",
    "leaky-bucket 3/7ms queue 5",
    "fixed-window 3/1d",
    "sliding-window 10/1m parts 1024",
    "sliding-log 100000/1h",
    "concurrency 10000/1d",
    "5/1s block 300ms",
    "10/1s & 20/1m burst 3 & sliding-log 5/1s block 1h",
};

TEST(ToldLimit, IsTheLimitThatWasWritten) {
  for (const char* text : limits) {
    const Limit limit = Limit::of(text);
    for (const Span slack : {Span{0}, usual_slack, longest_span}) {
      const std::string told = config_text(limit, slack).value();
      const auto read = read_told_limit(told);
      ASSERT_TRUE(read) << told;
      EXPECT_EQ(read->config, limit.config()) << told;
      EXPECT_EQ(read->slack, slack_of(limit.config(), slack)) << told;
      EXPECT_EQ(config_text(read->config, read->slack).value(), told);
      EXPECT_EQ(term_count(read->config), limit.terms().size()) << told;
    }
  }
}

TEST(ToldLimit, IsNoneWhereAnyWordIsMissing) {
  for (const char* text : limits) {
    const std::string told = config_text(Limit::of(text)).value();
    for (std::size_t end = told.find_last_of(' '); end != std::string::npos && end > 0;
         end = told.find_last_of(' ', end - 1)) {
      EXPECT_FALSE(read_told_limit(told.substr(0, end))) << told.substr(0, end);
      EXPECT_FALSE(read_told_limit(told.substr(0, end + 1))) << told.substr(0, end + 1);
    }
    EXPECT_FALSE(read_told_limit(told + " 1"));
    EXPECT_FALSE(read_told_limit(told + " "));
    EXPECT_FALSE(read_told_limit(" " + told));
  }
}

TEST(ToldLimit, IsNoneBeyondWhatTheScriptsTake) {
  for (const char* text :
       {"",
        "t",
        "x 0 1 0 1 5",
        "tt 0 1 0 1 5",
        "t -1 1 0 1 5",
        "t 1125899906842625 1 0 1 5",
        "t 0 0 0 1 5",
        "t 0 1 1 1 5",
        "t 0 1 0 0 5",
        "t 0 1 0 1 0",
        "t 0 01 0 1 5",
        "t 0 1e3 0 1 5",
        "t 0 1 1 4503599627370497 5",
        "t 0 1 4503599627370495 4503599627370496 3",
        "t 0 562949953421312 0 1 3",
        "f 0 0 1",
        "f 0 1125899906842625 1",
        "f 0 1 0",
        "w 0 1 1 1",
        "w 0 1 1 1026",
        "o 0 100001 1",
        "c 0 10001 1",
        "m 0 0",
        "m 0 9 0 f 1 1 0 f 1 1 0 f 1 1 0 f 1 1 0 f 1 1 0 f 1 1 0 f 1 1 0 f 1 1 0 f 1 1",
        "m 0 1 0 m 0 1",
        "m 0 1 1125899906842625 f 1 1",
        "m 0 1 -1 f 1 1"}) {
    EXPECT_FALSE(read_told_limit(text)) << text;
  }
}

}  // namespace
}  // namespace weir::redis
