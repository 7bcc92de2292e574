#include "weir/limit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace weir {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;
using Algorithm = LimitTerm::Algorithm;

std::string canonical(std::string_view text) {
  const auto limit = Limit::parse(text);
  return limit ? limit->text()
               : "column " + std::to_string(limit.error().column) + ": " + limit.error().message;
}

LimitTerm term(std::string_view text) { return Limit::parse(text).value().terms().at(0); }

TEST(Limit, IsATokenBucketUnlessItSaysOtherwise) {
  const LimitTerm bucket = term("100/s");
  EXPECT_EQ(bucket.algorithm, Algorithm::token_bucket);
  EXPECT_EQ(bucket.count, 100);
  EXPECT_EQ(bucket.period, 1s);
  EXPECT_EQ(bucket.burst, 100);
  EXPECT_EQ(bucket.initial, 100);
  EXPECT_EQ(bucket.block, 0s);
  EXPECT_EQ(term("token-bucket 100/s"), bucket);
  EXPECT_EQ(term("gcra 100/s"), bucket);
}

TEST(Limit, NamesEachAlgorithm) {
  EXPECT_EQ(term("leaky-bucket 1/s").algorithm, Algorithm::leaky_bucket);
  EXPECT_EQ(term("fixed-window 1/s").algorithm, Algorithm::fixed_window);
  EXPECT_EQ(term("sliding-window 1/s").algorithm, Algorithm::sliding_window);
  EXPECT_EQ(term("sliding-log 1/s").algorithm, Algorithm::sliding_log);
  EXPECT_EQ(term("concurrency 1/s").algorithm, Algorithm::concurrency);
}

TEST(Limit, HasTheMachineThatItNames) {
  const auto config = [](std::string_view text) { return Limit::parse(text).value().config(); };
  EXPECT_EQ(std::get<Gcra::Config>(config("7/3s burst 5")), Gcra::configure({7, 3s, 5}).value());
  EXPECT_EQ(std::get<LeakyBucket::Config>(config("leaky-bucket 7/3s queue 5")),
            LeakyBucket::configure({7, 3s, 5}).value());
  EXPECT_EQ(std::get<FixedWindow::Config>(config("fixed-window 7/3s")),
            FixedWindow::configure({7, 3s}).value());
  EXPECT_EQ(std::get<SlidingWindow::Config>(config("sliding-window 7/3s parts 4")),
            SlidingWindow::configure({7, 3s, 4}).value());
  EXPECT_EQ(std::get<SlidingLog::Config>(config("sliding-log 7/3s")),
            SlidingLog::configure({7, 3s}).value());
  EXPECT_EQ(std::get<Concurrency::Config>(config("concurrency 7/3s")),
            Concurrency::configure({7, 3s}).value());
  const auto several =
      std::get<Limit::Composite::Config>(config("7/3s block 9s & sliding-log 8/4s"));
  ASSERT_EQ(several.terms.size(), 2u);
  EXPECT_EQ(std::get<Gcra::Config>(several.terms[0].inner), Gcra::configure({7, 3s, 7}).value());
  EXPECT_EQ(several.terms[0].penalty, 9s);
  EXPECT_EQ(std::get<SlidingLog::Config>(several.terms[1].inner),
            SlidingLog::configure({8, 4s}).value());
  EXPECT_EQ(several.terms[1].penalty, 0s);
}

struct Spelling {
  const char* text;
  const char* canonical;
};

TEST(Limit, HasOneCanonicalText) {
  for (const Spelling& spelling : {
           Spelling{"100/s", "100/1s"},
           Spelling{"100/1s", "100/1s"},
           Spelling{"100/second", "100/1s"},
           Spelling{"100/1000ms", "100/1s"},
           Spelling{"100/sec", "100/1s"},
           Spelling{"  100 / s  ", "100/1s"},
           Spelling{"\t100\t/\ts\t", "100/1s"},
           Spelling{"0100/s", "100/1s"},
           Spelling{"token-bucket 100/s burst 100", "100/1s"},
           Spelling{"gcra 100/s burst 7", "100/1s burst 7"},
           Spelling{"5/1m burst 2", "5/1m burst 2"},
           Spelling{"5/60s burst 2", "5/1m burst 2"},
           Spelling{"10k/s", "10000/1s"},
           Spelling{"1M/s", "1000000/1s"},
           Spelling{"1/1.5s", "1/1500ms"},
           Spelling{"1/2 hours", "1/2h"},
           Spelling{"1/day", "1/1d"},
           Spelling{"leaky-bucket 10/s", "leaky-bucket 10/1s"},
           Spelling{"leaky-bucket 10/s queue 0", "leaky-bucket 10/1s"},
           Spelling{"leaky-bucket 10/s queue 50", "leaky-bucket 10/1s queue 50"},
           Spelling{"fixed-window 10/s", "fixed-window 10/1s"},
           Spelling{"sliding-window 10/s parts 10", "sliding-window 10/1s"},
           Spelling{"sliding-window 10/s parts 60", "sliding-window 10/1s parts 60"},
           Spelling{"sliding-log 100/1m", "sliding-log 100/1m"},
           Spelling{"concurrency 10/30 seconds", "concurrency 10/30s"},
           Spelling{"calendar-window 1k/month", "calendar-window 1000/month"},
           Spelling{"calendar-window 10/d zone UTC", "calendar-window 10/day"},
           Spelling{"calendar-window 10 / h block 1m zone Etc/GMT+5",
                    "calendar-window 10/hour zone Etc/GMT+5 block 1m"},
           Spelling{"10/s & concurrency 5/30s block 1m", "10/1s & concurrency 5/30s block 1m"},
           Spelling{"5/s initial 5", "5/1s"},
           Spelling{"5/s initial 0", "5/1s initial 0"},
           Spelling{"5/s initial 2 burst 9", "5/1s burst 9 initial 2"},
           Spelling{"5/s block 10m burst 9", "5/1s burst 9 block 10m"},
           Spelling{"5/s block 90 seconds burst 9", "5/1s burst 9 block 90s"},
           Spelling{"10/s & 1000/1d", "10/1s & 1000/1d"},
           Spelling{"10/s&1000/1d", "10/1s & 1000/1d"},
           Spelling{"10/s burst 2& sliding-log 3/m &1/h",
                    "10/1s burst 2 & sliding-log 3/1m & 1/1h"},
       }) {
    EXPECT_EQ(canonical(spelling.text), spelling.canonical) << spelling.text;
    EXPECT_EQ(canonical(spelling.canonical), spelling.canonical);
  }
}

TEST(Limit, EqualLimitsAreEqualHoweverWritten) {
  EXPECT_EQ(Limit::parse("gcra 60/1m").value(), Limit::parse("60 / minute burst 60").value());
  EXPECT_FALSE(Limit::parse("60/1m").value() == Limit::parse("1/1s").value());
}

struct Mistake {
  const char* text;
  std::size_t column;
  const char* message;
};

void expect_told(const Mistake& mistake) {
  const auto limit = Limit::parse(mistake.text);
  ASSERT_FALSE(limit) << mistake.text;
  EXPECT_EQ(limit.error().column, mistake.column) << mistake.text << ": " << limit.error().message;
  EXPECT_THAT(limit.error().message, HasSubstr(mistake.message)) << mistake.text;
}

TEST(Limit, TellsTheColumnAndWhatWasExpected) {
  for (const Mistake& mistake : {
           Mistake{"", 1, "expected a count such as 100 or 10k, got the end"},
           Mistake{"   ", 4, "expected a count such as 100 or 10k, got the end"},
           Mistake{"&", 1, "expected a count such as 100 or 10k, got '&'"},
           Mistake{"/s", 1, "expected a count such as 100 or 10k, got '/s'"},
           Mistake{"-5/s", 1, "expected a count such as 100 or 10k, got '-5/s'"},
           Mistake{"5", 2, "expected '/' and a period, as in 100/s, got the end"},
           Mistake{"5 s", 3, "expected '/' and a period, as in 100/s, got 's'"},
           Mistake{"5/", 3, "expected a period such as s, 10s, 1m, 1h or 1d, got the end"},
           Mistake{"5/ & 6/s", 4, "expected a period such as s, 10s, 1m, 1h or 1d, got '&'"},
           Mistake{"5/x", 3, "expected a period such as s, 10s, 1m, 1h or 1d, got 'x'"},
           Mistake{"5/10", 3, "expected a period such as s, 10s, 1m, 1h or 1d, got '10'"},
           Mistake{"5/-1s", 3, "expected a period such as s, 10s, 1m, 1h or 1d, got '-1s'"},
           Mistake{"5/1.5us", 3, "whole microseconds"},
           Mistake{"5/14000d", 3, "at most 2^50 microseconds"},
           Mistake{"5/1s,burst 2", 5, "expected a space or the end after the period, got ',burst'"},
           Mistake{"5.5/s", 2, "expected a count such as 100 or 10k, got '5.'"},
           Mistake{"5kk/s", 3, "expected a count such as 100 or 10k, got '5kk'"},
           Mistake{"5K/s", 2, "expected a count such as 100 or 10k, got '5K'"},
           Mistake{"9999999999999999/s", 1, "a number may be at most 2^50"},
           Mistake{"99999999999999999999999999/s", 1, "a number may be at most 2^50"},
           Mistake{"9999999999M/s", 1, "a number may be at most 2^50"},
           Mistake{"tokenbucket 5/s", 1, "unknown algorithm 'tokenbucket'; expected token-bucket"},
           Mistake{"Gcra 5/s", 1, "unknown algorithm 'Gcra'"},
           Mistake{"gcra5/s", 1, "unknown algorithm 'gcra5/s'"},
           Mistake{"gcra", 5, "expected a count such as 100 or 10k, got the end"},
           Mistake{"5/s brust 2", 5, "unknown option 'brust'; expected burst, queue, parts"},
           Mistake{"5/s burst", 10, "expected a number, got the end"},
           Mistake{"5/s burst x", 11, "expected a number, got 'x'"},
           Mistake{"5/s burst -1", 11, "expected a number, got '-1'"},
           Mistake{"5/s burst 2 burst 3", 13, "burst is given twice"},
           Mistake{"5/s queue 2", 5, "queue belongs to leaky-bucket"},
           Mistake{"5/s parts 2", 5, "parts belongs to sliding-window"},
           Mistake{"sliding-log 5/s burst 2", 17, "burst belongs to token-bucket and gcra"},
           Mistake{"fixed-window 5/s initial 2", 18, "initial belongs to token-bucket and gcra"},
           Mistake{"5/s block", 10, "expected how long to block, such as 10m, got the end"},
           Mistake{"5/s block m", 11, "expected how long to block, such as 10m, got 'm'"},
           Mistake{"5/s block 10", 11, "expected how long to block, such as 10m, got '10'"},
           Mistake{"5/s block 0s", 11, "must be greater than zero"},
           Mistake{"5/s block 14000d", 11, "at most 2^50 microseconds"},
           Mistake{"5/s block 1.5us", 11, "whole microseconds"},
           Mistake{"5/s block 1s;", 13, "expected a space or the end after the time to block"},
           Mistake{"0/s", 1, "'0/s' must be greater than zero"},
           Mistake{"5/0s", 1, "'5/0s' must be greater than zero"},
           Mistake{"5/s burst 0", 1, "must be greater than zero"},
           Mistake{"gcra  0/s", 7, "'0/s' must be greater than zero"},
           Mistake{"2/s & 0/s", 7, "'0/s' must be greater than zero"},
           Mistake{"1001/1us", 1, "is more than 1000000000 a second"},
           Mistake{"1/1d burst 10M", 1, "takes longer than 2^50 microseconds"},
           Mistake{"999999937/1s burst 10000M", 1, "needs finer fractions than 2^53"},
           Mistake{"sliding-log 2M/1s", 13, "needs too much memory for each key"},
           Mistake{"sliding-window 5/1s parts 1025", 16, "needs too much memory for each key"},
           Mistake{"sliding-window 5/s parts 0", 16, "must be greater than zero"},
           Mistake{"5/s initial 6", 1, "initial is more than the burst"},
           Mistake{"5/s &", 6, "expected a count such as 100 or 10k, got the end"},
           Mistake{"5/s & & 6/s", 7, "expected a count such as 100 or 10k, got '&'"},
           Mistake{"5/s\n", 4, "expected a space or the end after the period"},
           Mistake{"1/s&1/s&1/s&1/s&1/s&1/s&1/s&1/s&1/s", 33, "at most 8 limits"},
       }) {
    expect_told(mistake);
  }
}

TEST(Limit, TellsWhatIsWrongWithACalendarWindow) {
  for (const Mistake& mistake : {
           Mistake{"calendar-window 5/", 19, "expected minute, hour, day, week, month or year"},
           Mistake{"calendar-window 5/1d", 19, "day, week, month or year, got '1d'"},
           Mistake{"calendar-window 5/m", 19, "expected minute or month, got 'm'"},
           Mistake{"calendar-window 5/days", 19, "got 'days'"},
           Mistake{"calendar-window 0/day", 17, "must be greater than zero"},
           Mistake{"calendar-window 5/day burst 2", 23, "burst belongs to token-bucket and gcra"},
           Mistake{"5/day zone UTC", 7, "zone belongs to calendar-window"},
           Mistake{"calendar-window 5/day zone", 27, "expected a time zone such as Europe/Berlin"},
           Mistake{"calendar-window 5/day zone UTC zone UTC", 32, "zone is given twice"},
           Mistake{"calendar-window 5/day zone Europe/Berln", 28,
                   "unknown time zone 'Europe/Berln'; did you mean 'Europe/Berlin'?"},
           Mistake{"calendar-window 5/day zone berlin", 28, "did you mean 'Europe/Berlin'?"},
           Mistake{"calendar-window 5/day zone ../../etc/passwd", 28,
                   "expected a time zone such as Europe/Berlin, got '../../etc/passwd'"},
           Mistake{"calendar-window 5/day zone /etc/passwd", 28, "unknown time zone"},
       }) {
    expect_told(mistake);
  }
}

TEST(Limit, TellsWhatIsWrongWithAConcurrency) {
  for (const Mistake& mistake : {
           Mistake{"concurrency 10001/1s", 13, "needs too much memory for each key"},
           Mistake{"concurrency 5", 14, "expected '/' and a period, as in 100/s, got the end"},
           Mistake{"concurrency 5/30s queue 2", 19, "queue belongs to leaky-bucket"},
           Mistake{"concurrency 5/30s&1/s &  concurrency 6/1m", 26, "concurrency is given twice"},
           Mistake{"concurrency  0/30s", 14, "'0/30s' must be greater than zero"},
       }) {
    expect_told(mistake);
  }
}

TEST(Limit, ShowsNoByteThatATerminalWouldObey) {
  for (const std::string& text :
       {std::string("5/s \x1b[31m"), std::string("5/s a\0b", 7), std::string("\xff\xfe 5/s"),
        std::string("5/s 'quoted'"), "5/s " + std::string(400, 'x')}) {
    const auto limit = Limit::parse(text);
    ASSERT_FALSE(limit);
    for (const char c : limit.error().message) {
      const bool harmless = (c >= ' ' && c <= '~') || static_cast<unsigned char>(c) >= 0x80;
      EXPECT_TRUE(harmless) << limit.error().message;
    }
    EXPECT_LT(limit.error().message.size(), 200u);
  }
}

TEST(Limit, IsNoLongerThanAllowed) {
  const std::string padded = "5/s" + std::string(Limit::longest_text - 3, ' ');
  EXPECT_TRUE(Limit::parse(padded));
  const auto longer = Limit::parse(padded + " ");
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().column, Limit::longest_text + 1);
}

TEST(Limit, EightMayBeJoined) {
  std::string text = "1/1s";
  for (int more = 1; more < 8; ++more) text += " & 1/" + std::to_string(more + 1) + "s";
  EXPECT_EQ(canonical(text), text);
}

TEST(Limit, StartsFullUnlessInitialSaysLess) {
  EXPECT_TRUE(Limit::parse("5/s").value().starts_full());
  EXPECT_TRUE(Limit::parse("5/s initial 5").value().starts_full());
  EXPECT_FALSE(Limit::parse("5/s initial 4").value().starts_full());
  EXPECT_FALSE(Limit::parse("sliding-log 5/s & 5/s initial 4").value().starts_full());
}

TEST(Limit, BeginsWithTheTokensThatInitialLeaves) {
  const Instant now{Span{1'750'000'000'000'000}};
  for (const char* text : {"5/1s burst 9 initial 2", "5/1s burst 9 initial 2 block 1us",
                           "sliding-log 100/1s & 5/1s burst 9 initial 2"}) {
    const Limit limit = Limit::parse(text).value();
    Limit::State state = limit.first_state(now);
    const auto peek = [&](Instant at) {
      return weir::peek<Limit::Machine>(limit.config(), state, {at, 0, {}}).remaining;
    };
    EXPECT_EQ(peek(now), 2) << text;
    EXPECT_EQ(peek(now + 200ms - 1us), 2) << text;
    EXPECT_EQ(peek(now + 200ms), 3) << text;
    EXPECT_EQ(peek(now + 1'400ms), 9) << text;
  }
  EXPECT_EQ(Limit::parse("5/s").value().first_state(now), Limit::State{});
}

TEST(Limit, TellsWhichTermHandsOutPermits) {
  EXPECT_EQ(Limit::of("concurrency 5/30s").permit_term(), 0u);
  EXPECT_EQ(Limit::of("10/s & 1000/1d & concurrency 5/30s block 1m").permit_term(), 2u);
  EXPECT_EQ(Limit::of("10/s & sliding-log 5/30s").permit_term(), std::nullopt);
}

TEST(Limit, KnowsHowLargeAStateMayGrow) {
  const auto bytes = [](std::string_view text) {
    return Limit::parse(text).value().largest_state_bytes();
  };
  EXPECT_EQ(bytes("5/s"), sizeof(Limit::State));
  EXPECT_LE(sizeof(Limit::State), 24u);
  EXPECT_GE(bytes("sliding-log 1000/1s"), 8'000u);
  EXPECT_LE(bytes("sliding-log 1000/1s"), 8'100u);
  EXPECT_GE(bytes("sliding-window 5/1s parts 60"), 61u * 8);
  EXPECT_EQ(bytes("concurrency 1000/1s"), 24u + 32u + 24'000u);
  EXPECT_GT(bytes("5/s & sliding-log 1000/1s"), bytes("sliding-log 1000/1s"));
}

TEST(Limit, ATextOfTheProgramThrowsWhatIsWrongWithIt) {
  EXPECT_EQ(Limit::of("10/s").text(), "10/1s");
  try {
    static_cast<void>(Limit::of("10/x"));
    FAIL() << "10/x is no limit";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "limit, column 4: expected a period such as s, 10s, 1m, 1h or 1d, got 'x'");
  }
}

}  // namespace
}  // namespace weir
