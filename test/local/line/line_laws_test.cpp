// What a line promises, over every short schedule and over long ones by chance.
#include <gtest/gtest.h>

#include <iostream>

#include "test/local/line/depth.hpp"
#include "test/local/line/letters.hpp"

namespace weir::line_laws {
namespace {

using law::tinies;

template <typename M>
class LineOf : public testing::Test {};

using Machines = testing::Types<Gcra, LeakyBucket, FixedWindow, SlidingWindow, SlidingLog,
                                Block<Gcra>, AllOf<law::Single>, Limit::Machine>;

class Names {
 public:
  template <typename M>
  static std::string GetName(int index) {
    constexpr const char* names[] = {"Gcra",       "LeakyBucket", "FixedWindow",  "SlidingWindow",
                                     "SlidingLog", "BlockGcra",   "AllOfSingles", "LimitMachine"};
    return names[index];
  }
};

TYPED_TEST_SUITE(LineOf, Machines, Names);

template <typename M>
std::vector<typename M::Config> configs_from(std::size_t first) {
  const auto made = tinies<M>();
  return {made[first].config, made[(first + 1) % made.size()].config};
}

void tell(const Report& report) {
  std::cout << report.schedules << " schedules, " << report.events << " events, " << report.moves
            << " moves, " << report.acted << " acted\n";
}

template <typename M>
void walk_all(const std::vector<Letter>& letters, std::size_t depth) {
  Report all;
  for (std::size_t at = 0; at < tinies<M>().size(); ++at) {
    const std::size_t less = std::min(tinies<M>()[at].letters_less, depth - 3);
    const Report report = walk<M>(configs_from<M>(at), letters, depth - less);
    EXPECT_EQ(report.violation, "") << tinies<M>()[at].name;
    all.schedules += report.schedules;
    all.events += report.events;
    all.moves += report.moves;
    all.acted += report.acted;
  }
  EXPECT_GT(all.moves, 0u);
  EXPECT_GT(all.acted, 0u);
  tell(all);
}

TYPED_TEST(LineOf, KeepsTheLawsInEverySchedule) {
  walk_all<TypeParam>(lasting_letters(), depths.lasting);
}

TYPED_TEST(LineOf, KeepsTheLawsInEveryScheduleOfChangingNumbers) {
  walk_all<TypeParam>(all_letters(), depths.changing);
}

TYPED_TEST(LineOf, KeepsTheLawsInLongSchedules) {
  Report all;
  for (std::size_t at = 0; at < tinies<TypeParam>().size(); ++at) {
    for (const auto& letters : {lasting_letters(), all_letters()}) {
      const Report report =
          draw<TypeParam>(configs_from<TypeParam>(at), letters, {at + 1, depths.drawn});
      EXPECT_EQ(report.violation, "") << tinies<TypeParam>()[at].name;
      all.events += report.events;
      all.moves += report.moves;
      all.acted += report.acted;
    }
  }
  EXPECT_GT(all.moves, all.events / 100);
  tell(all);
}

}  // namespace
}  // namespace weir::line_laws
