#include "test/law/every_schedule.hpp"

#include <gtest/gtest.h>

#include <iostream>

#include "test/law/machines.hpp"
#include "test/law/schedules.hpp"

namespace weir::law {
namespace {

template <typename M>
class EverySchedule : public testing::Test {};

using Machines = testing::Types<Gcra, LeakyBucket, FixedWindow, SlidingWindow, SlidingLog,
                                Concurrency, CalendarWindow, Block<Gcra>, Block<LeakyBucket>,
                                Block<SlidingLog>, AllOf<Single>, SeveralGcra, Limit::Machine,
                                Boxed<SlidingWindow>, Pacer, WarmUp, SeveralPacers>;

class Names {
 public:
  template <typename M>
  static std::string GetName(int index) {
    constexpr const char* names[] = {
        "Gcra",         "LeakyBucket",    "FixedWindow",  "SlidingWindow",      "SlidingLog",
        "Concurrency",  "CalendarWindow", "BlockGcra",    "BlockLeaky",         "BlockSlidingLog",
        "AllOfSingles", "AllOfGcras",     "LimitMachine", "BoxedSlidingWindow", "Pacer",
        "WarmUp",       "AllOfPacers"};
    return names[index];
  }
};

TYPED_TEST_SUITE(EverySchedule, Machines, Names);

TYPED_TEST(EverySchedule, KeepsTheLaws) {
  Report all;
  for (const Tiny<TypeParam>& tiny : tinies<TypeParam>()) {
    const std::size_t depth = schedule_depth - tiny.letters_less;
    const Report report = Explorer<TypeParam>(tiny.config, depth).run();
    EXPECT_EQ(report.violation, "") << tiny.name;
    all.schedules += report.schedules;
    all.events += report.events;
    all.grants += report.grants;
    all.cancels += report.cancels;
  }
  // A walk that grants or cancels nothing would keep every law.
  EXPECT_GT(all.grants, all.events / 10);
  EXPECT_GT(all.cancels, 0u);
  std::cout << all.schedules << " schedules of up to " << schedule_depth << " letters, "
            << all.events << " events, " << all.grants << " grants, " << all.cancels
            << " cancels\n";
}

}  // namespace
}  // namespace weir::law
