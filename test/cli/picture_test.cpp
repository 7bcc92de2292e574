#include "cli/picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/cli/program.hpp"

namespace weir::test {
namespace {

using cli::Characters;
using cli::Colour;
using cli::Screen;
using ::testing::HasSubstr;
using ::testing::Not;

cli::Simulation simulation(const char* limit, cli::Schedule schedule) {
  return {Limit::parse(limit).value(), std::move(schedule)};
}

cli::Schedule evenly(Span every, std::int64_t count) { return {{Instant{}, every, count}}; }

constexpr Span millisecond{1'000};
constexpr Screen ascii{.columns = 80, .characters = Characters::ascii, .colour = Colour::none};
constexpr Screen utf8{.columns = 80, .characters = Characters::utf8, .colour = Colour::none};

TEST(Picture, MarksTheTurnOfAWindowThatAFixedWindowOverruns) {
  const auto late =
      simulation("fixed-window 2/1s", {{Instant{600 * millisecond}, 250 * millisecond, 8}});
  EXPECT_EQ(picture(late, utf8),
            "granted   █    █    █    █              █    █\n"
            "denied                        █    █\n"
            "          ────────┬───────────────────┬───────\n"
            "                  1s                  2s\n"
            "          a column is 50ms");
}

TEST(Picture, ShowsADeferredCallWhereItActs) {
  const auto pacer = simulation("leaky-bucket 10/1s queue 2", {{Instant{}, Span{0}, 4}});
  EXPECT_EQ(picture(pacer, utf8),
            "granted   █\n"
            "deferred      █   █\n"
            "denied    █\n"
            "          ┬───────┬───\n"
            "          0s      200ms\n"
            "          a column is 100ms");
}

TEST(Picture, DrawsCallsOfOneColumnAsTallAsTheirShareOfTheTallest) {
  const auto crowd = simulation(
      "sliding-log 10/3s", {{Instant{}, Span{0}, 15}, {Instant{4'000 * millisecond}, Span{0}, 1}});
  EXPECT_EQ(picture(crowd, utf8),
            "granted   █               ▁\n"
            "denied    ▄\n"
            "          ┬───────────┬───────\n"
            "          0s          3s\n"
            "          a column is 1s, the tallest 10 calls");
}

TEST(Picture, IsPlainAsciiWhereTheLocaleIsNotUtf8) {
  const auto crowd = simulation(
      "sliding-log 10/3s", {{Instant{}, Span{0}, 15}, {Instant{4'000 * millisecond}, Span{0}, 1}});
  EXPECT_EQ(picture(crowd, ascii),
            "granted   #               .\n"
            "denied    :\n"
            "          +-----------+-------\n"
            "          0s          3s\n"
            "          a column is 1s, the tallest 10 calls");
}

TEST(Picture, CountsWhatDoesNotFitInRoundColumns) {
  const auto many = simulation("100/1s", evenly(3 * millisecond, 100'000));
  const auto lines = lines_of(picture(many, utf8));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[4], "          a column is 5s, the tallest 1167 calls");
}

TEST(Picture, FitsItsScreenWhateverTheSchedule) {
  for (const std::size_t columns : {40U, 57U, 80U, 100U}) {
    for (const std::int64_t every : {1, 7, 333, 1'000, 86'399'999}) {
      for (const std::int64_t count : {1, 2, 29, 30, 31, 70, 71, 900}) {
        const auto calls =
            simulation("leaky-bucket 3/7s queue 5 & 100/1d", evenly(every * millisecond, count));
        Screen screen = utf8;
        screen.columns = columns;
        for (const std::string& line : lines_of(picture(calls, screen))) {
          EXPECT_LE(characters_in(line), columns)
              << line << "\nevery " << every << " ms, " << count;
        }
      }
    }
  }
}

TEST(Picture, HasAtLeastOneTimeOnItsAxis) {
  for (const std::int64_t start : {0, 1, 600, 999'999, 86'400'001}) {
    const auto one = simulation("2/1s", {{Instant{Span{start}}, Span{0}, 1}});
    EXPECT_THAT(picture(one, ascii), HasSubstr("+")) << start;
    EXPECT_THAT(lines_of(picture(one, ascii))[2], Not(::testing::MatchesRegex(" *"))) << start;
  }
}

TEST(Picture, ShowsWhatIsImpossibleAsDenied) {
  auto large = simulation("2/1s", evenly(1'000 * millisecond, 2));
  large.cost = 3;
  EXPECT_THAT(picture(large, ascii), HasSubstr("denied    #   #\n"));
}

TEST(Picture, HasColourOnlyOnAScreenWithColours) {
  const auto pair = simulation("1/1s", evenly(500 * millisecond, 2));
  Screen coloured = ascii;
  coloured.colour = Colour::ansi;
  EXPECT_THAT(picture(pair, coloured), HasSubstr("granted   \x1b[32m#\x1b[0m\n"));
  EXPECT_THAT(picture(pair, ascii), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace weir::test
