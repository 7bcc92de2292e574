#include "weir/algorithm/sliding_window.hpp"

#include "test/story/story.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

SlidingWindow::Config window(SlidingWindow::Settings settings) {
  return SlidingWindow::configure(settings).value();
}

TEST(SlidingWindow, CountsThePartThatIsCutInFull) {
  // Parts of 250 ms; five count, so a part leaves 1.25 s after its start.
  // clang-format off
  expect_story<SlidingWindow>(window({3, 1s, 4}), {
      // at, cost, patience, verdict, ready_at, remaining
      {100ms,  1, 0us, granted,    100ms,   2},
      {300ms,  2, 0us, granted,    300ms,   0},
      {300ms,  1, 0us, denied,     1250ms,  0},
      {1249ms, 1, 0us, denied,     1250ms,  0},
      {1250ms, 2, 0us, denied,     1500ms,  1},
      {1250ms, 1, 0us, granted,    1250ms,  0},
      {1500ms, 2, 0us, granted,    1500ms,  0},
      {1500ms, 4, 0us, impossible, forever, 0},
      {9s,     3, 0us, granted,    9s,      0},
  });
  // clang-format on
}

TEST(SlidingWindow, LetsThePatientWaitForAPartToLeave) {
  // clang-format off
  expect_story<SlidingWindow>(window({2, 1s, 2}), {
      {0ms,    2, 0us,   granted,  0ms,    0},
      {700ms,  1, 799ms, denied,   701ms,  0},
      {700ms,  1, 800ms, deferred, 1500ms, 0},
      {800ms,  0, 0us,   denied,   1500ms, 0},
      {1500ms, 1, 0us,   granted,  1500ms, 0},
  });
  // clang-format on
}

/// The founding example: of twenty calls every 300 ms, exactly ten pass.
TEST(SlidingWindow, TwoASecondInTenPartsAskedEvery300MsPassesTenOfTwenty) {
  const std::vector<Span> at = calls({.interval = 300ms, .count = 20});
  const std::string told = verdicts<SlidingWindow>(window({2, 1s, 10}), at);
  EXPECT_EQ(told, "GGDDGGDDGGDDGGDDGGDD");
  // No second holds more than two.
  for (std::size_t first = 0; first < at.size(); ++first) {
    int inside = 0;
    for (std::size_t call = first; call < at.size() && at[call] < at[first] + 1s; ++call) {
      inside += told[call] == 'G';
    }
    EXPECT_LE(inside, 2) << first;
  }
}

TEST(SlidingWindow, FourASecondBegunInTheMiddleNeverLetsFiveIntoOneSecond) {
  const std::vector<Span> at = calls({.interval = 200ms, .count = 50, .start = 400ms});
  const std::string told = verdicts<SlidingWindow>(window({4, 1s, 10}), at);
  for (std::size_t first = 0; first + 5 <= at.size(); ++first) {
    EXPECT_NE(told.substr(first, 5), "GGGGG") << first;
  }
}

TEST(SlidingWindow, FifteenAtOnceUnderTenPerThreeSeconds) {
  std::vector<Span> at = calls({.interval = 0s, .count = 15});
  at.push_back(4s);
  EXPECT_EQ(verdicts<SlidingWindow>(window({10, 3s, 10}), at), "GGGGGGGGGGDDDDDG");
}

TEST(SlidingWindow, UnderAnotherNumberOfPartsCountsTheOldAsTheNewest) {
  SlidingWindow::State state;
  const auto ten = window({4, 1s, 10});
  const auto two = window({4, 1s, 2});
  for (const Span at : {0ms, 300ms, 600ms}) {
    (void)step<SlidingWindow>(ten, state, {Instant{at}, 1, {}});
  }
  EXPECT_EQ(step<SlidingWindow>(two, state, {Instant{} + 700ms, 2, {}}).verdict, denied);
  EXPECT_EQ(step<SlidingWindow>(two, state, {Instant{} + 700ms, 1, {}}).verdict, granted);
  EXPECT_EQ(step<SlidingWindow>(two, state, {Instant{} + 1999ms, 1, {}}).verdict, denied);
  EXPECT_EQ(step<SlidingWindow>(two, state, {Instant{} + 2000ms, 4, {}}).verdict, granted);
}

}  // namespace
}  // namespace weir
