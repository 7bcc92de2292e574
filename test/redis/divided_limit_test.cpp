// A share of a limit, for each of its members.
#include "redis/divided_limit.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weir::redis {
namespace {

using Machine = Limit::Machine;

const std::vector<std::string> texts{
    "5/1s",
    "100/1s burst 7",
    "3/7ms burst 4",
    "1000000/7ms burst 3000",
    "1M/1s",
    "1/1d",
    "1/1s",
    "1000M/1s burst 1",
    "999999937/1s burst 9",
    "leaky-bucket 10/1s",
    "leaky-bucket 10/1s queue 5",
    "leaky-bucket 7/3ms queue 20",
    "fixed-window 3/100ms",
    "fixed-window 50/1s",
    "sliding-window 4/1s",
    "sliding-window 6/70ms parts 3",
    "sliding-window 20/1s parts 1",
    "sliding-log 3/100ms",
    "sliding-log 40/1s",
    "calendar-window 50/minute",
    "calendar-window 500/month zone Europe/Berlin",
    "calendar-window 2/year",
    "5/1s block 300ms",
    "10/1s burst 3 & 20/1m",

    "leaky-bucket 10/1s queue 4 & sliding-window 8/2s parts 4",
    "7/1s burst 2 block 100ms & fixed-window 5/1s & sliding-log 9/3s block 1s",
    "1/1125899906842624us",
    "fixed-window 1/1125899906842624us"};

TEST(DividedLimit, OfAllMembersTogetherKeepsToTheWholeAndTwoUnitsEach) {
  std::mt19937_64 random(1);
  for (const std::string& text : texts) {
    const Limit whole = Limit::of(text);
    for (const std::uint32_t members : {1u, 2u, 3u, 7u, 10u, 64u, 1000u, 4'000'000'000u}) {
      const Limit share = divided(whole, members);
      ASSERT_GE(Machine::capacity(share.config()), 1) << text;
      for (int at = 0; at < 200; ++at) {
        const Span length{static_cast<std::int64_t>(random() >> (24 + random() % 38))};
        const Cost largest = Machine::capacity(whole.config());
        const Wide together = Wide{Machine::bound(share.config(), length, largest)} * members;
        const Wide bound = Machine::bound(whole.config(), length, largest);
        ASSERT_LE(together, bound + 2 * Wide{members})
            << text << " by " << members << " is " << share.text() << ", over " << length.count();
      }
    }
  }
}

TEST(DividedLimit, HasPlacesForNoMoreAtOnceOrOneOfEachMember) {
  for (const Cost places : {1, 7, 30}) {
    const Limit whole = Limit::of("concurrency " + std::to_string(places) + "/1s");
    for (const std::uint32_t members : {1u, 2u, 7u, 31u}) {
      EXPECT_LE(Machine::capacity(divided(whole, members).config()) * members,
                std::max<Cost>(places, members));
    }
  }
}

TEST(DividedLimit, HasTheRateExactlyAndWholeUnits) {
  const auto text = [](const char* limit, std::uint32_t members) {
    return divided(Limit::of(limit), members).text();
  };
  EXPECT_EQ(text("100/1s", 1), Limit::of("100/1s").text());
  EXPECT_EQ(text("100/1s", 3), Limit::of("100/3s burst 33").text());
  EXPECT_EQ(text("2/1s", 5), Limit::of("2/5s burst 1").text());
  EXPECT_EQ(text("leaky-bucket 10/1s queue 5", 2), Limit::of("leaky-bucket 10/2s queue 2").text());
  EXPECT_EQ(text("fixed-window 50/1s", 4), Limit::of("fixed-window 12/1s").text());
  EXPECT_EQ(text("sliding-log 3/1s", 10), Limit::of("sliding-log 1/4s").text());
  EXPECT_EQ(text("concurrency 30/1s", 4), Limit::of("concurrency 7/1s").text());
  EXPECT_EQ(text("10/1s block 2s & 20/1m", 10),
            Limit::of("10/10s burst 1 block 2s & 20/10m burst 2").text());
}

TEST(DividedLimit, ThatCannotBeKeptExactlyIsSlower) {
  const Limit share = divided(Limit::of("999999937/1s burst 9000000"), 7);
  EXPECT_LE(Machine::bound(share.config(), std::chrono::seconds{100}, 1) * 7,
            Machine::bound(Limit::of("999999937/1s burst 9000000").config(),
                           std::chrono::seconds{100}, 1) +
                14);
}

TEST(DividedBucket, HasTheRateExactlyUnlessItsNumbersPassAnyKeeping) {
  using Numbers = Limit::Machine::Config;
  const Numbers bucket = Gcra::configure({10, std::chrono::seconds{1}, 10}).value();
  const Numbers fifth = Gcra::configure({10, std::chrono::seconds{5}, 2}).value();
  EXPECT_EQ(divided(bucket, 5), fifth);
  EXPECT_EQ(divided(bucket, 1), bucket);
  const Numbers slow = Gcra::configure({1, longest_span, 1}).value();
  EXPECT_FALSE(divided(slow, 4'000'000'000u));
  const Numbers windows = AlignedWindows{11, std::chrono::minutes{1}};
  EXPECT_EQ(divided(windows, 5), Numbers(AlignedWindows{2, std::chrono::minutes{1}}));
  EXPECT_EQ(divided(windows, 11), Numbers(AlignedWindows{1, std::chrono::minutes{1}}));
  EXPECT_FALSE(divided(windows, 12)) << "not all of them can have one";
  EXPECT_FALSE(divided(Limit::of("sliding-log 9/1m").config(), 2));
}

}  // namespace
}  // namespace weir::redis
