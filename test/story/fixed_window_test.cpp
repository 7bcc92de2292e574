#include "weir/algorithm/fixed_window.hpp"

#include "test/story/story.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

FixedWindow::Config window(FixedWindow::Settings settings) {
  return FixedWindow::configure(settings).value();
}

TEST(FixedWindow, CountsAnewWhenTheWindowTurns) {
  // clang-format off
  expect_story<FixedWindow>(window({3, 1s}), {
      // at, cost, patience, verdict, ready_at, remaining
      {100ms,    2, 0us, granted,    100ms,   1},
      {200ms,    2, 0us, denied,     1s,      1},
      {200ms,    1, 0us, granted,    200ms,   0},
      {1s - 1us, 1, 0us, denied,     1s,      0},
      {1s,       3, 0us, granted,    1s,      0},
      {1s,       4, 1h,  impossible, forever, 0},
      {5s,       0, 0us, granted,    5s,      3},
  });
  // clang-format on
}

TEST(FixedWindow, LetsThePatientWaitForTheNext) {
  // clang-format off
  expect_story<FixedWindow>(window({2, 1s}), {
      {500ms, 2, 0us,   granted,  500ms, 0},
      {500ms, 1, 499ms, denied,   501ms, 0},
      {501ms, 1, 499ms, deferred, 1s,    0},
      {600ms, 0, 0us,   denied,   1s,    0},  // nobody acts before a deferred grant
      {1s,    1, 0us,   granted,  1s,    0},
  });
  // clang-format on
}

TEST(FixedWindow, IsAlignedToTheEpochOnBothSides) {
  // clang-format off
  expect_story<FixedWindow>(window({1, 1s}), {
      {-1'500ms, 1, 0us, granted, -1'500ms, 0},
      {-1'001ms, 1, 0us, denied,  -1s,      0},
      {-1s,      1, 0us, granted, -1s,      0},
      {-1us,     1, 0us, denied,  0s,       0},
      {0s,       1, 0us, granted, 0s,       0},
  });
  // clang-format on
}

TEST(FixedWindow, TwoASecondAskedEveryQuarter) {
  EXPECT_EQ(verdicts<FixedWindow>(window({2, 1s}), calls({.interval = 250ms, .count = 12})),
            "GGDDGGDDGGDD");
}

/// The flaw that the algorithm is known for: twice the limit across the turn of a window.
TEST(FixedWindow, TwoASecondBegunLateLetsFourThroughInARow) {
  EXPECT_EQ(verdicts<FixedWindow>(window({2, 1s}),
                                  calls({.interval = 250ms, .count = 4, .start = 600ms})),
            "GGGG");
  EXPECT_EQ(FixedWindow::bound(window({2, 1s}), 1s, 1), 4);
}

TEST(FixedWindow, FourASecondBegunInTheMiddleLetsFiveIntoOneSecond) {
  const std::vector<Span> at = calls({.interval = 200ms, .count = 10, .start = 400ms});
  const std::string told = verdicts<FixedWindow>(window({4, 1s}), at);
  EXPECT_EQ(told.substr(0, 5), "GGGGG");
}

TEST(FixedWindow, FifteenAtOnceUnderTenPerThreeSeconds) {
  std::vector<Span> at = calls({.interval = 0s, .count = 15});
  at.push_back(4s);
  EXPECT_EQ(verdicts<FixedWindow>(window({10, 3s}), at), "GGGGGGGGGGDDDDDG");
}

TEST(FixedWindow, AClockSetBackMintsNothing) {
  // clang-format off
  expect_story<FixedWindow>(window({1, 1s}), {
      {1s,    1, 0us, granted, 1s, 0},
      {500ms, 1, 0us, denied,  2s, 0},
      {1s,    1, 0us, denied,  2s, 0},
  });
  // clang-format on
}

}  // namespace
}  // namespace weir
