#include "weir/overload/recent_parts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace weir {
namespace {

using namespace std::chrono_literals;
using Parts = RecentParts<int, 8>;

SteadyInstant at(std::int64_t us) { return SteadyInstant{std::chrono::microseconds{us}}; }

/// Sums what is in the window, beside a map of all that ever was.
class Twins {
 public:
  explicit Twins(std::size_t parts) : shape_{1ms, parts} {}

  void count(SteadyInstant now, int value) {
    parts_.advance(shape_, now, [&](int gone) { sum_ -= gone; });
    parts_.current() += value;
    sum_ += value;
    const std::int64_t us =
        std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
    const std::int64_t number = us / 1'000 - (us % 1'000 < 0 ? 1 : 0);
    newest_ = counted_.empty() ? number : std::max(newest_, number);
    counted_[newest_] += value;
  }
  int sum() const { return sum_; }
  int expected() const {
    int sum = 0;
    for (const auto& [number, value] : counted_) {
      if (number > newest_ - static_cast<std::int64_t>(shape_.parts)) sum += value;
    }
    return sum;
  }

 private:
  Parts::Shape shape_;
  Parts parts_;
  int sum_ = 0;
  std::map<std::int64_t, int> counted_;
  std::int64_t newest_ = 0;
};

TEST(RecentPartsTest, HoldWhatTheWindowHoldsOnEverySchedule) {
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    std::mt19937 random(seed);
    Twins twins(1 + seed * 2 % 8);
    std::int64_t us = -20'000;
    for (int step = 0; step < 5'000; ++step) {
      us += static_cast<std::int64_t>(random() % 2'000) - 300;
      if (random() % 100 == 0) us += static_cast<std::int64_t>(random() % 20'000);
      twins.count(at(us), static_cast<int>(random() % 10));
      ASSERT_EQ(twins.sum(), twins.expected()) << "seed " << seed << " step " << step;
    }
  }
}

TEST(RecentPartsTest, TakeTheFurthestInstants) {
  constexpr Parts::Shape shape{1us, 8};
  Parts parts;
  int gone = 0;
  const auto forget = [&](int value) { gone += value; };
  EXPECT_EQ(parts.advance(shape, SteadyInstant::min(), forget), 8u);
  parts.current() = 3;
  EXPECT_EQ(parts.advance(shape, SteadyInstant::max(), forget), 8u);
  EXPECT_EQ(gone, 3);
  EXPECT_EQ(parts.advance(shape, SteadyInstant::min(), forget), 0u);
}

}  // namespace
}  // namespace weir
