// The laws of shares: what members let in together, whatever happens to them and to the registry.
#include "test/redis/shares/simulated_shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "weir/algorithm/interval.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;

SharedRateSettings limit_of(Division division) {
  return {.name = "limit",
          .count = 100,
          .period = 1s,
          .burst = 60,
          .division = division,
          .lease = 10s,
          .members = 50};
}

/// The most units beyond the rate that any span between two admissions had.
double most_at_once(const std::vector<SteadyInstant>& admissions, const SharedRateSettings& limit) {
  Wide least = 0;
  Wide most = 0;
  for (std::size_t at = 0; at < admissions.size(); ++at) {
    const Wide flowed = Wide{(admissions[at] - admissions[0]).count()} * limit.count;
    const Wide before = Wide{static_cast<std::int64_t>(at)} * limit.period.count() - flowed;
    least = at == 0 ? before : std::min(least, before);
    most = std::max(most, before + limit.period.count() - least);
  }
  return static_cast<double>(most) / static_cast<double>(limit.period.count());
}

struct Case {
  const char* name;
  Troubles troubles;
};

const Case cases[] = {
    {"nothing", {}},
    {"slow ways", {.longest_way = 500ms}},
    {"lost messages", {.lost_requests = 200, .lost_answers = 200}},
    {"comings and goings", {.deaths = 20, .leavings = 20, .joinings = 60}},
    {"a forgetful registry", {.lost_registries = 2}},
    {"a clock that is set back", {.clocks_set_back = 2}},
    {"all of it",
     {.lost_requests = 100,
      .lost_answers = 100,
      .longest_way = 300ms,
      .lost_registries = 1,
      .clocks_set_back = 1,
      .deaths = 20,
      .leavings = 20,
      .joinings = 60}},
};

class SharesUnder : public testing::TestWithParam<Case> {};

TEST_P(SharesUnder, NeverAddUpToMoreThanTheLimit) {
  for (const Division division : {Division::equal, Division::proportional, Division::fair}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const SharedRateSettings limit = limit_of(division);
      SimulatedShares shares(limit, GetParam().troubles, seed);
      std::mt19937_64 random(seed);
      const std::size_t members = 1 + random() % 50;
      for (std::size_t at = 0; at < members; ++at) {
        shares.join(std::chrono::milliseconds{20 + random() % 1'000});
      }
      std::int64_t most = 0;
      shares.each_change = [&] { most = std::max(most, shares.in_force()); };
      shares.run_for(60s);
      EXPECT_LE(most, whole_share) << GetParam().name << ", seed " << seed;
      EXPECT_GT(most, whole_share * 9 / 10) << GetParam().name << ", seed " << seed;
      EXPECT_LE(most_at_once(shares.admissions, limit),
                static_cast<double>(limit.burst) + static_cast<double>(shares.size()))
          << GetParam().name << ", seed " << seed;
      EXPECT_GT(shares.admissions.size(), 100u);
      if (testing::Test::HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Troubles, SharesUnder, testing::ValuesIn(cases), [](const auto& tested) {
  std::string name = tested.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST(SharesOfMembersThatAreCutOff, ComeOnTopOfTheLimitByTheirPartAlone) {
  SharedRateSettings limit = limit_of(Division::fair);
  limit.without = WithoutRegistry::share;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SimulatedShares shares(limit, {.lost_requests = 300, .lost_answers = 300, .lost_registries = 1},
                           seed);
    for (int at = 0; at < 50; ++at) shares.join(50ms);
    std::int64_t beyond = 0;
    shares.each_change = [&] {
      beyond = std::max(beyond, shares.in_force() - shares.cut_off() * (whole_share / 50));
    };
    shares.run_for(40s);
    EXPECT_LE(beyond, whole_share) << seed;
    shares.cut_off_until(shares.now() + 60s);
    shares.run_for(20s);
    EXPECT_EQ(shares.cut_off(), 50) << "the registry is lost to all";
    EXPECT_EQ(shares.in_force(), whole_share);
    shares.run_for(40s);
    shares.run_for(60s);
    EXPECT_LE(beyond, whole_share) << seed;
  }
}

class SharesByDemand : public testing::TestWithParam<Division> {};

TEST_P(SharesByDemand, GoToTheBusyWithinTwoRefreshes) {
  SimulatedShares shares(limit_of(GetParam()), {}, 5);
  for (int at = 0; at < 4; ++at) shares.join(10ms);
  shares.run_for(30s);
  for (std::size_t at = 0; at < 4; ++at) {
    EXPECT_NEAR(static_cast<double>(shares.member(at).machine.held(shares.now()).share), 250'000,
                2);
  }
  shares.member(2).asks_every = 1'000s;
  shares.member(3).asks_every = 1'000s;
  shares.run_for(2 * 2s + 2s);  // two spans of its own, and one in which the others ask again
  for (std::size_t at = 0; at < 4; ++at) {
    const auto share = shares.member(at).machine.held(shares.now()).share;
    if (at < 2) {
      EXPECT_GT(share, 490'000);
    } else {
      EXPECT_LE(share, 5'000) << "a unit in a span";
    }
  }
  EXPECT_GT(shares.in_force(), 990'000);
}

INSTANTIATE_TEST_SUITE_P(Divisions, SharesByDemand,
                         testing::Values(Division::proportional, Division::fair));

TEST(EqualShares, AreEqualWithinALeaseOfTheLastJoin) {
  for (const int members : {1, 2, 3, 7, 20, 50}) {
    SimulatedShares shares(limit_of(Division::equal), {}, 9);
    for (int at = 0; at < members; ++at) shares.join(10ms);
    shares.run_for(30s);
    for (std::size_t at = 0; at < shares.size(); ++at) {
      EXPECT_NEAR(static_cast<double>(shares.member(at).machine.held(shares.now()).share),
                  1e6 / members, 50);
    }
  }
}

TEST(AMemberThatWantsMore, HasItWithinTwoRefreshes) {
  SimulatedShares shares(limit_of(Division::fair), {}, 2);
  for (int at = 0; at < 10; ++at) shares.join(1'000s);
  shares.run_for(20s);
  EXPECT_EQ(shares.member(0).machine.held(shares.now()).share, 100'000);
  shares.member(0).asks_every = 10ms;
  const std::size_t busy = shares.join(10ms);
  shares.run_for(6s);
  EXPECT_GT(shares.member(busy).machine.held(shares.now()).share, 900'000);
}

TEST(AStoresClockSetForward, DoublesSharesForThatLongAtMost) {
  const SharedRateSettings limit = limit_of(Division::fair);
  SimulatedShares shares(limit, {}, 4);
  for (int at = 0; at < 5; ++at) shares.join(10ms);
  shares.run_for(30s);
  shares.set_store_clock(9s);
  std::int64_t most = 0;
  shares.each_change = [&] { most = std::max(most, shares.in_force()); };
  shares.run_for(9s);
  EXPECT_LE(most, 2 * whole_share);
  most = 0;
  shares.run_for(30s);
  EXPECT_LE(most, whole_share);
  shares.set_store_clock(1h);
  shares.run_for(30s);
  EXPECT_LE(most, whole_share) << "by a lease and more: the registry has forgotten all, and learns";
}

}  // namespace
}  // namespace weir::redis
