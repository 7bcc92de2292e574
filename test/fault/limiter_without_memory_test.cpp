// Memory runs out while places in a limiter's line are given back.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "test/fault/each_allocation.hpp"
#include "weir/local/limiter.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

using Manual = BasicLimiter<LimitState, ManualClock>;

class LimiterWithoutMemory : public testing::TestWithParam<const char*> {};

TEST_P(LimiterWithoutMemory, AReservationThatIsGivenBackLeavesTheLineAndMintsNothing) {
  ManualTime time(SteadyInstant{1h});
  std::unique_ptr<Manual> limiter;
  std::vector<Manual::Reservation> held;
  const auto allocations = test::each_allocation_fails(
      [&] {
        held.clear();
        limiter = std::make_unique<Manual>(Limit::of(GetParam()), ManualClock(time));
        for (int count = 0; count < 6; ++count) held.push_back(limiter->reserve(2));
        time.advance(1s);  // the first two have acted, and are forgotten on the way
      },
      [&] { held.pop_back(); },
      [&](bool threw) {
        EXPECT_FALSE(threw);
        EXPECT_FALSE(limiter->try_acquire());
        held.clear();
        EXPECT_EQ(limiter->waiting(), 0u);
      });
  EXPECT_GT(allocations, 0);
}

INSTANTIATE_TEST_SUITE_P(Every, LimiterWithoutMemory,
                         testing::Values("sliding-log 4/1h", "sliding-window 4/1h",
                                         "4/1h & sliding-log 4/1h"));

}  // namespace
}  // namespace weir
