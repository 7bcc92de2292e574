// The recipe of INCR and EXPIRE.
#include <algorithm>
#include <random>

#include "test/redis/recipe_fixture.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;

class IncrWindow : public RecipeTest {
 protected:
  Decision take(Cost cost = 1, const WindowLimit& limit = {3, 1s}) {
    return RecipeTest::take(Recipe::incr_window, incr_window_words("c", limit, cost)).decision;
  }
  void request(Cost cost = 1, const WindowLimit& limit = {3, 1s}) {
    static_cast<void>(take(cost, limit));
  }
  Verdict verdict(Cost cost = 1) { return take(cost).verdict; }
};
INSTANTIATE_TEST_SUITE_P(In, IncrWindow, testing::ValuesIn(recipe_stores()), name_of);

TEST_P(IncrWindow, BeginsAtTheFirstHitAndEndsAtTheInstantThatARefusalTells) {
  at(noon + 400ms);
  EXPECT_EQ(take().remaining, 2);
  at(noon + 900ms);
  EXPECT_EQ(take(2).remaining, 0);
  EXPECT_EQ(text({"GET", "c"}), "3");
  const Decision refused = take();
  EXPECT_EQ(refused.verdict, Verdict::denied);
  EXPECT_EQ(refused.ready_at, noon + 1401ms);
  EXPECT_EQ(refused.reset_at, refused.ready_at);
  at(refused.ready_at - 1us);
  EXPECT_EQ(verdict(), Verdict::denied);
  at(refused.ready_at);
  EXPECT_EQ(verdict(), Verdict::granted);
  EXPECT_EQ(text({"GET", "c"}), "1");
}

TEST_P(IncrWindow, NeverEndsBeforeItsPeriodIsOver) {
  at(noon + 999us);
  request(3, {3, 1us});
  const Decision refused = take(3, {3, 1us});
  EXPECT_EQ(refused.verdict, Verdict::denied);
  at(refused.ready_at);
  EXPECT_EQ(take(3, {3, 1us}).verdict, Verdict::granted);
  EXPECT_LE(refused.ready_at, noon + 2ms);
}

TEST_P(IncrWindow, GoesOnWithACounterThatAServiceKeeps) {
  command({"SET", "c", "2", "PX", "700"});
  EXPECT_EQ(take().remaining, 0);
  EXPECT_EQ(take().ready_at, noon + 701ms);
  EXPECT_EQ(number({"INCRBY", "c", "5"}), 8);  // a service that counts what it refuses
  const Decision refused = take();
  EXPECT_EQ(refused.verdict, Verdict::denied);
  EXPECT_EQ(refused.remaining, 0);
  EXPECT_EQ(refused.ready_at, noon + 701ms);
}

TEST_P(IncrWindow, WritesNothingWhereItRefusesOrIsAsked) {
  request(2);
  at(noon + 100ms);
  EXPECT_EQ(verdict(2), Verdict::denied);
  EXPECT_EQ(verdict(4), Verdict::impossible);
  EXPECT_EQ(take(4).ready_at, never);
  EXPECT_EQ(take(0).remaining, 1);
  EXPECT_EQ(text({"GET", "c"}), "2");
  EXPECT_EQ(number({"PTTL", "c"}), 900);
  command({"DEL", "c"});
  EXPECT_EQ(take(0).reset_at, now_);
  EXPECT_EQ(number({"PTTL", "c"}), -2);
}

TEST_P(IncrWindow, MendsACounterThatWouldLockOutForEver) {
  for (const Cost cost : {1, 0, 4}) {
    command({"SET", "c", "9"});
    EXPECT_EQ(number({"PTTL", "c"}), -1);
    request(cost);
    EXPECT_EQ(number({"PTTL", "c"}), 1000) << cost;
  }
  const Decision refused = take();
  EXPECT_EQ(refused.verdict, Verdict::denied);
  at(refused.ready_at);
  EXPECT_EQ(verdict(), Verdict::granted);
}

TEST_P(IncrWindow, CountsOnInACounterThatItMends) {
  command({"SET", "c", "2"});
  EXPECT_EQ(verdict(), Verdict::granted);
  EXPECT_EQ(text({"GET", "c"}), "3");
  EXPECT_EQ(number({"PTTL", "c"}), 1000);
  EXPECT_EQ(verdict(), Verdict::denied);
}

TEST_P(IncrWindow, LocksNobodyOutForLongAfterAClockWasSetBack) {
  request(3);
  at(noon - 30s);
  EXPECT_EQ(take().ready_at, noon + 1001ms);
  at(noon - 1h);
  EXPECT_EQ(take().ready_at, noon - 1h + 1001ms);
}

TEST_P(IncrWindow, GrantsNoMoreWhereACounterIsBelowZero) {
  command({"SET", "c", "-5", "PX", "500"});
  EXPECT_EQ(take(2).remaining, 1);
  EXPECT_EQ(text({"GET", "c"}), "2");
  EXPECT_EQ(number({"PTTL", "c"}), 500);
  EXPECT_EQ(verdict(2), Verdict::denied);
}

TEST_P(IncrWindow, LeavesAloneWhatIsNoCounter) {
  for (const char* value : {"", "x", "1.5", "0x10", " 1"}) {
    command({"SET", "c", value});
    const std::string said = complaint(Recipe::incr_window, incr_window_words("c", {3, 1s}, 1));
    EXPECT_EQ(said.substr(0, 21), "WRONGTYPE weir: key c") << value;
    EXPECT_EQ(text({"GET", "c"}), value);
    EXPECT_EQ(number({"PTTL", "c"}), -1);
  }
  command({"DEL", "c"});
  command({"ZADD", "c", "1", "m"});
  const std::string said = complaint(Recipe::incr_window, incr_window_words("c", {3, 1s}, 1));
  EXPECT_EQ(said.substr(0, 21), "WRONGTYPE weir: key c");
  command({"DEL", "c"});
}

TEST_P(IncrWindow, RefusesArgumentsThatMakeNoLimit) {
  for (const RecipeWords& words : std::vector<RecipeWords>{{"1", "c", "3", "1000"},
                                                           {"1", "c", "0", "1000", "1"},
                                                           {"1", "c", "3", "0", "1"},
                                                           {"1", "c", "3", "1.5", "1"},
                                                           {"1", "c", "3", "1000", "-1"},
                                                           {"1", "c", "x", "1000", "1"},
                                                           {"1", "c", "nan", "1000", "1"},
                                                           {"1", "c", "1e300", "1000", "1"},
                                                           {"2", "c", "d", "3", "1000", "1"}}) {
    EXPECT_EQ(complaint(Recipe::incr_window, words).substr(0, 9), "ERR weir:");
  }
  EXPECT_EQ(number({"PTTL", "c"}), -2);
}

TEST_P(IncrWindow, LetsInTwiceTheLimitLessOneAtItsSeamAndNoMore) {
  Cost most = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 chance(seed);
    command({"DEL", "c"});
    std::vector<Instant> granted;
    for (int request = 0; request < 200; ++request) {
      at(now_ + std::chrono::microseconds{chance() % 5 ? chance() % 200'000 : 1});
      const Cost cost = 1 + static_cast<Cost>(chance() % 2);
      if (take(cost).verdict == Verdict::granted) granted.insert(granted.end(), cost, now_);
      const auto begin = std::upper_bound(granted.begin(), granted.end(), now_ - 1s);
      most = std::max(most, Cost{granted.end() - begin});
    }
  }
  EXPECT_LE(most, 5);
  command({"DEL", "c"});
  const Instant first = now_;
  request();
  at(first + 1s);
  request(2);
  at(first + 1001ms);
  EXPECT_EQ(verdict(3), Verdict::granted);  // five within two milliseconds
}

}  // namespace
}  // namespace weir::redis
