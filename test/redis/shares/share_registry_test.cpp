// How a limit is divided, and when shares move.
#include "redis/share_registry.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace weir::redis {
namespace {

using namespace std::chrono_literals;

std::vector<std::int64_t> divided(const std::vector<std::int64_t>& wants, Division division) {
  std::vector<ShareRegistry::Holder> holders;
  for (const std::int64_t want : wants) holders.push_back({.wants = want});
  std::vector<std::int64_t> shares;
  for (std::size_t at = 0; at < wants.size(); ++at) {
    shares.push_back(ShareRegistry::due(holders, at, division));
  }
  return shares;
}

using Shares = std::vector<std::int64_t>;

TEST(AnEqualDivision, GivesTheSameToAllWhateverTheyWant) {
  EXPECT_EQ(divided({0, 1'000'000, 5}, Division::equal), Shares({333'333, 333'333, 333'333}));
}

TEST(ADivisionByDemand, GivesWhatIsWantedAndTheRestInEqualParts) {
  for (const Division division : {Division::proportional, Division::fair}) {
    EXPECT_EQ(divided({100'000, 500'000}, division), Shares({300'000, 700'000}));
    EXPECT_EQ(divided({0, 0, 0, 0}, division), Shares(4, 250'000));
  }
}

TEST(AProportionalDivision, GivesWhatSomeLeaveOfTheirEqualShareByWhatOthersLack) {
  EXPECT_EQ(divided({100'000, 350'000, 1'000'000, 250'000}, Division::proportional),
            Shares({100'000, 250'000 + 17'647, 250'000 + 132'352, 250'000}));
}

TEST(AFairDivision, GivesNobodyMoreWhileAnotherWhoWantsItHasLess) {
  EXPECT_EQ(divided({100'000, 350'000, 1'000'000, 250'000}, Division::fair),
            Shares({100'000, 325'000, 325'000, 250'000}));
  EXPECT_EQ(divided({900'000, 900'000, 0}, Division::fair), Shares({500'000, 500'000, 0}));
}

TEST(ADivision, NeverGivesMoreThanTheWholeAndLeavesLittle) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 3'000; ++round) {
    Shares wants(1 + random() % 50);
    for (auto& want : wants) {
      want = static_cast<std::int64_t>(random() % 1'000'001) >> (random() % 20);
    }
    for (const Division division : {Division::equal, Division::proportional, Division::fair}) {
      const Shares shares = divided(wants, division);
      const auto sum = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
      ASSERT_LE(sum, whole_share);
      ASSERT_GT(sum, whole_share - 51) << name(division);
    }
  }
}

class ARegistry : public testing::Test {
 protected:
  struct Member {
    std::int64_t number;
    std::int64_t holds = 0;
    std::int64_t wants = whole_share;
  };

  Expected<ShareRegistry::Answer, ShareRegistry::Refused> ask(const Member& member) {
    return ShareRegistry::step(state, now,
                               {.division = Division::fair,
                                .lease = 10s,
                                .member = member.number,
                                .asked = ++asked,
                                .wants = member.wants,
                                .holds = member.holds});
  }
  std::int64_t share(const Member& member) { return ask(member)->share; }

  /// Lets a registry that knows of no lease pass.
  void learned() {
    ASSERT_EQ(share({99}), 0);
    ASSERT_TRUE(ShareRegistry::step(state, now, {.member = 99, .asked = ++asked}).has_value());
    now += 10s;
  }

  std::optional<ShareRegistry::State> state;
  Instant now{1'000s};
  std::int64_t asked = 0;
};

TEST_F(ARegistry, ThatRemembersNothingOnlyConfirmsForALease) {
  EXPECT_EQ(share({1}), 0);
  EXPECT_EQ(share({2, 300'000}), 300'000);
  now += 9'999'999us;
  EXPECT_EQ(share({1}), 0);
  EXPECT_EQ(share({2, 300'000}), 300'000);
  now += 1us;
  EXPECT_EQ(share({1}), 500'000);
}

TEST_F(ARegistry, ConfirmsNoMoreThanTheWhole) {
  EXPECT_EQ(share({1, 700'000}), 700'000);
  EXPECT_EQ(share({2, 700'000}), 300'000);
}

TEST_F(ARegistry, GivesAJoinerWhatTheOthersSayTheyHoldNoMore) {
  learned();
  EXPECT_EQ(share({1}), 1'000'000);
  EXPECT_EQ(share({2}), 0);
  EXPECT_EQ(share({1, 1'000'000}), 500'000) << "it is told, and may not have heard yet";
  EXPECT_EQ(share({2}), 0);
  EXPECT_EQ(share({1, 500'000}), 500'000);
  EXPECT_EQ(share({2}), 500'000);
}

TEST_F(ARegistry, GivesWhatADeadMemberHeldWhenItsLeaseEnds) {
  learned();
  EXPECT_EQ(share({1}), 1'000'000);
  now += 5s;
  EXPECT_EQ(share({2}), 0);
  now += 4'999'999us;
  EXPECT_EQ(share({2}), 0);
  now += 1us;
  EXPECT_EQ(share({2}), 1'000'000);
}

TEST_F(ARegistry, GivesAtOnceWhatWasLeft) {
  learned();
  EXPECT_EQ(share({1}), 1'000'000);
  ASSERT_TRUE(ShareRegistry::step(state, now, {.member = 1, .asked = ++asked}).has_value());
  EXPECT_EQ(share({2}), 1'000'000);
}

TEST_F(ARegistry, RefusesARequestThatALaterOneHasOvertaken) {
  learned();
  EXPECT_EQ(share({1}), 1'000'000);
  asked -= 1;
  const auto before = state;
  EXPECT_EQ(ask({1}).error(), ShareRegistry::Refused::overtaken);
  EXPECT_EQ(state, before);
}

TEST_F(ARegistry, WhoseClockIsSetBackKeepsNoLeaseLongerThanItWasGivenFor) {
  learned();
  EXPECT_EQ(share({1}), 1'000'000);
  now -= 600s;
  EXPECT_EQ(share({2}), 0);
  now += 9'999'999us;
  EXPECT_EQ(share({2}), 0);
  now += 1us;
  EXPECT_EQ(share({2}), 1'000'000);
}

TEST_F(ARegistry, CountsWhatMembersTookWithoutALease) {
  learned();
  EXPECT_EQ(share({1, 0, 400'000}), 1'000'000);
  EXPECT_EQ(share({1, 1'000'000, 400'000}), 1'000'000);
  EXPECT_EQ(share({2, 250'000}), 0) << "the first one holds it all";
  EXPECT_EQ(share({1, 1'000'000, 400'000}), 400'000);
}

TEST(AStoredRegistry, IsReadAsItWasWritten) {
  const ShareRegistry::State state{
      Instant{5s}, 10s, {{1, 2, 3, 4, Instant{6s}}, {(std::int64_t{1} << 52) - 1, 9, 0, 0, {}}}};
  EXPECT_EQ(read_registry(write_registry(state)), state);
  const std::string bytes = write_registry(state);
  for (std::size_t cut = 1; cut < 40; ++cut) {
    EXPECT_FALSE(read_registry(std::string_view(bytes).substr(0, bytes.size() - cut)));
  }
  EXPECT_FALSE(read_registry("t1" + bytes.substr(2)));
}

}  // namespace
}  // namespace weir::redis
