// The keyed table under every schedule of two or three threads with few preemptions, and under some
// by chance: what threads_test.cpp leaves to the machine is chosen here.
#include <gtest/gtest.h>

#include <iostream>

#include "test/model/explore.hpp"
#include "test/model/table_stage.hpp"

namespace weir::model {
namespace {

using std::string;
using StagePtr = std::shared_ptr<Stage>;

#ifdef __SANITIZE_THREAD__  // it looks for races in each schedule, so that fewer do
constexpr Bounds usual{.preemptions = 1, .by_chance = 50};
#else
constexpr Bounds usual{.preemptions = 2, .by_chance = 300};
#endif

/// Explores the scene that `cast` makes of a new stage, and tells how many schedules that were.
template <typename Cast>
void expect_no_fault(Places places, Cast&& cast, const Bounds& bounds = usual) {
  const Explored explored = explore([&] { return cast(std::make_shared<Stage>(places)); }, bounds);
  EXPECT_EQ(explored.fault, "");
  EXPECT_GT(explored.schedules, bounds.by_chance + 2);  // or nothing would have been chosen
  std::cout << explored.schedules << " schedules of up to " << explored.longest << " choices\n";
}

class TableSchedules : public testing::TestWithParam<Cap> {
 protected:
  Places room_for(std::size_t count) const { return {count, GetParam()}; }
};

TEST_P(TableSchedules, OfOneNewKeyGrantItsLimitOnceAndKeepItOnce) {
  expect_no_fault(room_for(2), [](const StagePtr& stage) -> Scene {
    const auto take = [stage](std::size_t thread) {
      return [stage, thread] { stage->take(thread, a); };
    };
    return {{take(0), take(1), take(2)}, [stage]() -> string {
              if (stage->granted(a) != 2) return "granted " + std::to_string(stage->granted(a));
              return stage->judge();
            }};
  });
}

TEST_P(TableSchedules, OfThreeKeysForTheLastPlaceKeepOneAndChargeAll) {
  expect_no_fault(room_for(1), [](const StagePtr& stage) -> Scene {
    const auto take_twice = [stage](std::size_t thread) {
      return [stage, thread] {
        stage->take(thread, thread);
        stage->take(thread, thread, 2);
      };
    };
    return {{take_twice(a), take_twice(b), take_twice(c)}, [stage]() -> string {
              if (stage->table().stats().keys != 1) return "the last place was not taken";
              return stage->judge();
            }};
  });
}

TEST_P(TableSchedules, OfRefusalsAndProbesLeaveNothingSetAside) {
  expect_no_fault(room_for(1), [](const StagePtr& stage) -> Scene {
    return {{[stage] { stage->take(0, a, 0); },
             [stage] {
               stage->take(1, b, 3);  // impossible
               stage->take(1, b);
             },
             [stage] { stage->take_both(2, c, d); }},
            [stage] { return stage->judge(); }};
  });
}

TEST_P(TableSchedules, OfResetsAmidTakesKeepTheCountsRight) {
  expect_no_fault(room_for(1), [](const StagePtr& stage) -> Scene {
    return {{[stage] {
               stage->take(0, a);
               stage->table().reset(Stage::subject(a));
             },
             [stage] {
               stage->take(1, a);
               stage->table().reset(Stage::subject(b));
             },
             [stage] { stage->take(2, b); }},
            [stage] { return stage->judge_counts(); }};
  });
}

TEST_P(TableSchedules, OfJointRequestsInOppositeOrdersTakeAllOrNone) {
  for (const std::size_t places : {1, 2}) {
    expect_no_fault(room_for(places), [places](const StagePtr& stage) -> Scene {
      return {{[stage] { stage->take_both(0, a, b); }, [stage] { stage->take_both(1, b, a); },
               [stage] { stage->take(2, a); }},
              [stage, places]() -> string {
                if (stage->granted(b) != stage->joint()) return "b was charged alone";
                if (stage->granted(a) != 2) return "a was not granted twice";
                // Where both have states of their own, what was told is what was charged.
                if (places == 2 &&
                    (stage->remaining(a) != 0 || stage->remaining(b) != 2 - stage->granted(b))) {
                  return "what is left is not what was told";
                }
                return stage->judge();
              }};
    });
  }
}

TEST_P(TableSchedules, OfSweepsDropOnlyWhatIsFresh) {
  constexpr Instant later = start + std::chrono::hours{2};
  expect_no_fault(room_for(3), [later](const StagePtr& stage) -> Scene {
    stage->take(0, a, 2);
    stage->take(0, b, 2);
    const auto late = std::make_shared<std::array<Cost, 4>>();
    const auto take_late = [stage, late, later](std::size_t key) {
      return [stage, late, later, key] {
        for (int call = 0; call < 2; ++call) {
          const Answer answer = stage->table().take(Stage::subject(key), {later, 2, {}});
          if (taken(answer.decision.verdict)) (*late)[key] += 2;
        }
      };
    };
    return {{take_late(a), take_late(d), [stage, later] { stage->table().sweep(later, 128); }},
            [stage, late]() -> string {
              if ((*late)[a] != 2 || (*late)[d] != 2) return "a limit was not granted once";
              return stage->judge();
            }};
  });
}

TEST_P(TableSchedules, OfLooksAtAllStatesShowWhoStaysOnce) {
  expect_no_fault(room_for(4), [](const StagePtr& stage) -> Scene {
    stage->take(0, a);
    stage->take(0, d);
    const auto shown = std::make_shared<std::multiset<string>>();
    return {{[stage, shown] {
               Table::Cursor cursor;
               while (stage->table().each(cursor, [&](const Table::Kept& kept) {
                 shown->emplace(kept.key);
                 return false;  // one state a look
               })) {
               }
             },
             [stage] {
               stage->take(1, c);
               stage->table().reset(Stage::subject(c));
             },
             [stage] { stage->take(2, b); }},
            [stage, shown]() -> string {
              if (shown->count("a") != 1 || shown->count("d") != 1)
                return "a stayer not shown once";
              if (shown->count("b") > 1 || shown->count("c") > 1) return "shown twice";
              return stage->judge();
            }};
  });
}

TEST_P(TableSchedules, OfARestoreAmidTakesForgetNoDebt) {
  expect_no_fault(room_for(1), [](const StagePtr& stage) -> Scene {
    const auto restore = [stage](std::size_t key) {
      Limit::State state;
      const auto& config = two_an_hour->limit.config();
      (void)step<Limit::Machine>(config, state, {start, 2, {}});
      return stage->table().restore(Stage::subject(key), std::move(state), start);
    };
    const auto restored = std::make_shared<Table::Restored>();
    return {{[restore, restored] { *restored = restore(a); }, [stage] { stage->take(1, a); },
             [restore] { (void)restore(b); }},
            [stage, restored]() -> string {
              // One restored before its first request has nothing left.
              if (*restored == Table::Restored::kept && stage->granted(a) == 0 &&
                  stage->remaining(a) != 0) {
                return "the debt was forgotten";
              }
              return stage->judge();
            }};
  });
}

TEST_P(TableSchedules, OfAKeyThatLeavesTheSharedStatesTakeItsDebtAlong) {
  expect_no_fault(room_for(1), [](const StagePtr& stage) -> Scene {
    stage->take(0, b);
    return {{[stage] {
               stage->take(0, a);
               stage->take(0, a);
             },
             [stage] { stage->table().reset(Stage::subject(b)); },
             [stage] {
               stage->take(2, a);
               stage->take_both(2, a, d);
             }},
            [stage]() -> string { return stage->judge(); }};
  });
}

TEST_P(TableSchedules, OfCancelsGiveEachGrantBackOnce) {
  expect_no_fault(room_for(2), [](const StagePtr& stage) -> Scene {
    const auto take_and_cancel = [stage](std::size_t thread) {
      return [stage, thread] {
        Grant grant;
        const Answer answer = stage->table().take(Stage::subject(a), {start, 2, {}}, &grant);
        if (!taken(answer.decision.verdict)) return;
        stage->gave_back(thread, a, -2);
        stage->gave_back(thread, a, stage->table().cancel(Stage::subject(a), start, grant));
      };
    };
    return {{take_and_cancel(0), take_and_cancel(1), [stage] { stage->take(2, a); }},
            [stage]() -> string {
              if (stage->remaining(a) != 2 - stage->granted(a)) return "units lost or won";
              return stage->judge();
            }};
  });
}

INSTANTIATE_TEST_SUITE_P(FullBy, TableSchedules, testing::Values(Cap::count, Cap::memory),
                         [](const auto& test) {
                           return test.param == Cap::count ? "Keys" : "Bytes";
                         });

/// prefetch() is the one call without a lock: here every touch of an atomic is a point.
TEST(TableSchedulesOfALookAhead, WhileTheArrayGrowsReadNothingThatIsGone) {
  const Bounds bounds{.preemptions = 1, .by_chance = usual.by_chance};
  expect_no_fault(
      {64, Cap::count},
      [](const StagePtr& stage) -> Scene {
        watch_all();
        return {{[stage] {
                   for (std::size_t at = 0; at < 8; ++at) {  // the first array holds six
                     const string name(1, static_cast<char>('A' + at));
                     const Key key{name.c_str(), hash_in(0, 100 + at)};
                     (void)stage->table().take(Stage::subject(key), {start, 1, {}});
                     stage->table().reset(Stage::subject(key));
                     (void)stage->table().take(Stage::subject(key), {start, 1, {}});
                   }
                 },
                 [stage] {
                   for (int call = 0; call < 4; ++call) {
                     (void)stage->table().prefetch(Stage::subject(a));
                   }
                 }},
                [stage]() -> string {
                  return stage->table().stats().keys == 8 ? "" : "a key was lost";
                }};
      },
      bounds);
}

}  // namespace
}  // namespace weir::model
