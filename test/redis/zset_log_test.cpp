// The recipe of a sorted set.
#include <random>
#include <set>

#include "test/redis/recipe_fixture.hpp"
#include "weir/limit.hpp"
#include "weir/local/table.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;

class ZsetLog : public RecipeTest {
 protected:
  Decision take(Cost cost = 1) {
    return RecipeTest::take(Recipe::zset_log, zset_log_words("z", limit_, unit_, cost)).decision;
  }
  void request(Cost cost = 1) { static_cast<void>(take(cost)); }
  Verdict verdict(Cost cost = 1) { return take(cost).verdict; }
  std::int64_t entries() { return number({"ZCARD", "z"}); }

  WindowLimit limit_{3, 1s};
  ScoreUnit unit_ = ScoreUnit::milliseconds;
};
INSTANTIATE_TEST_SUITE_P(In, ZsetLog, testing::ValuesIn(recipe_stores()), name_of);

TEST_P(ZsetLog, DecidesAsTheSlidingLogToTheMicrosecondInEveryUnit) {
  const Limit machine = Limit::of("sliding-log 3/1s");
  for (const ScoreUnit unit :
       {ScoreUnit::microseconds, ScoreUnit::milliseconds, ScoreUnit::seconds}) {
    unit_ = unit;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE(seed);
      std::mt19937_64 chance(seed);
      command({"DEL", "z"});
      at(noon + std::chrono::microseconds{chance() % 1'000'000});
      Limit::State state = machine.first_state(now_);
      Instant awaited = now_;
      for (int request = 0; request < 100; ++request) {
        switch (chance() % 4) {
          case 0: break;
          case 1: at(std::max(now_, awaited)); break;
          case 2: at(std::max(now_, awaited - 1us)); break;
          default: at(now_ + std::chrono::microseconds{chance() % 400'000}); break;
        }
        const auto cost = static_cast<Cost>(chance() % 5);
        const Decision expected =
            step<Limit::Machine>(machine.config(), state, {.now = now_, .cost = cost});
        ASSERT_EQ(take(cost), expected) << request;
        if (expected.verdict == Verdict::denied) awaited = expected.ready_at;
        ASSERT_LE(entries(), 3);
        ASSERT_EQ(number({"PTTL", "z"}) >= 0, entries() > 0);
      }
    }
  }
}

TEST_P(ZsetLog, CountsTwoOfOneMicrosecondAsTwo) {
  EXPECT_EQ(take().remaining, 2);
  EXPECT_EQ(take(2).remaining, 0);
  EXPECT_EQ(verdict(), Verdict::denied);
  EXPECT_EQ(entries(), 3);
}

TEST_P(ZsetLog, CountsAllOfThemWhenItsClockWasSetBack) {
  limit_.limit = 100;
  std::mt19937_64 chance(7);
  for (std::int64_t taken = 1; taken <= 100; ++taken) {
    at(noon + std::chrono::microseconds{chance() % 4});
    EXPECT_EQ(verdict(), Verdict::granted);
    EXPECT_EQ(entries(), taken);
  }
  EXPECT_EQ(verdict(), Verdict::denied);
}

TEST_P(ZsetLog, NamesNoneAsOneThatIsThereWhenItsClockWasSetBack) {
  at(noon - 500ms);
  request(2);
  at(noon);
  request();
  at(noon + 500ms);
  request();  // the first two are gone
  EXPECT_EQ(entries(), 2);
  at(noon);
  EXPECT_EQ(take().remaining, 0);
  EXPECT_EQ(entries(), 3);
}

TEST_P(ZsetLog, RecordsNothingWhereItRefusesOrIsAsked) {
  request(2);
  at(noon + 100ms);
  EXPECT_EQ(verdict(2), Verdict::denied);
  EXPECT_EQ(take(4).ready_at, never);
  EXPECT_EQ(take(0).remaining, 1);
  EXPECT_EQ(entries(), 2);
  EXPECT_EQ(number({"PTTL", "z"}), 901);
  at(noon + 950ms);
  EXPECT_EQ(take(2).verdict, Verdict::denied);  // what is gone stays until something is written
}

TEST_P(ZsetLog, GoesOnWithALogThatAServiceKeeps) {
  unit_ = ScoreUnit::seconds;
  command({"ZADD", "z", "1749999999.5000003", "one"});
  command({"ZADD", "z", "1749999999.75", "two"});
  command({"ZADD", "z", "1749999990", "long gone"});
  EXPECT_EQ(take().remaining, 0);
  EXPECT_EQ(entries(), 3);
  const Decision refused = take();
  EXPECT_EQ(refused.ready_at, noon + 500001us);
  at(refused.ready_at - 1us);
  EXPECT_EQ(verdict(), Verdict::denied);
  at(refused.ready_at);
  EXPECT_EQ(verdict(), Verdict::granted);
}

TEST_P(ZsetLog, TellsWhenEnoughHaveLeftOfALogThatIsTooFull) {
  for (const int entry : {100, 200, 300, 400, 500}) {
    const std::int64_t score = 1'750'000'000'000 - entry;
    command({"ZADD", "z", std::to_string(score), std::to_string(entry)});
  }
  EXPECT_EQ(take().ready_at, noon + 700ms);
  EXPECT_EQ(take(3).ready_at, noon + 900ms);
  EXPECT_EQ(take(0).ready_at, noon + 600ms);
  EXPECT_EQ(take(0).remaining, 0);
}

TEST_P(ZsetLog, MintsNothingWhenAClockIsSetBackByLessThanAMinuteAndAPeriod) {
  request(3);
  at(noon - 30s);
  EXPECT_EQ(take().ready_at, noon + 1s);
  EXPECT_EQ(entries(), 3);
}

TEST_P(ZsetLog, LocksNobodyOutForLongerThanThat) {
  request(3);
  at(noon - 1h);
  EXPECT_EQ(take(3).verdict, Verdict::granted);
  EXPECT_EQ(entries(), 3);
}

TEST_P(ZsetLog, KeepsWhatLiesAheadForAsLongAsItCounts) {
  request(2);
  at(noon - 10s);
  EXPECT_EQ(take().reset_at, noon + 1s);
  EXPECT_EQ(number({"PTTL", "z"}), 11'001);
}

TEST_P(ZsetLog, LeavesAloneWhatIsNoLog) {
  command({"SET", "z", "7"});
  const std::string said = complaint(Recipe::zset_log, zset_log_words("z", limit_, unit_, 1));
  EXPECT_EQ(said.substr(0, 21), "WRONGTYPE weir: key z");
  EXPECT_EQ(text({"GET", "z"}), "7");
}

TEST_P(ZsetLog, RefusesArgumentsThatMakeNoLimit) {
  for (const RecipeWords& words : std::vector<RecipeWords>{{"1", "z", "3", "1000", "1"},
                                                           {"1", "z", "0", "1000", "1", "1"},
                                                           {"1", "z", "100001", "1000", "1", "1"},
                                                           {"1", "z", "3", "0", "1", "1"},
                                                           {"1", "z", "3", "1000", "-1", "1"},
                                                           {"1", "z", "3", "1000", "nan", "1"},
                                                           {"1", "z", "3", "1000", "1", "10"}}) {
    EXPECT_EQ(complaint(Recipe::zset_log, words).substr(0, 9), "ERR weir:");
  }
  EXPECT_EQ(number({"PTTL", "z"}), -2);
}

}  // namespace
}  // namespace weir::redis
