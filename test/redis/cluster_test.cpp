#include "redis/cluster.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

namespace weir::redis {
namespace {

using namespace std::chrono_literals;

const Node asked{"10.0.0.1", 7000};
const Redirect moved{ErrorKind::moved, 42, {"10.0.0.2", 7001}};
const Redirect ask{ErrorKind::ask, 42, {"10.0.0.3", 7002}};
constexpr SteadyInstant start{1h};

/// A cluster whose map is whole, and not in doubt.
Cluster settled(const Cluster::Settings& settings = {}) {
  SlotMap map;
  for (std::uint16_t slot = 0; slot < slot_count; ++slot) map.move(slot, asked);
  Cluster cluster(settings);
  cluster.learn(map);
  return cluster;
}

TEST(RedisCluster, ANewOneWantsAMap) {
  Cluster cluster({});
  EXPECT_EQ(cluster.slots().owned(), 0u);
  EXPECT_TRUE(cluster.refresh(start));
  EXPECT_FALSE(cluster.refresh(start)) << "it has been asked for";
}

TEST(RedisCluster, MovedCorrectsTheMapAtOnceAndWantsANewOne) {
  Cluster cluster = settled();
  EXPECT_FALSE(cluster.refresh(start));
  Cluster::Journey journey;
  const auto stop = cluster.follow(journey, moved, asked);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->node, moved.node);
  EXPECT_FALSE(stop->asking);
  EXPECT_EQ(*cluster.slots().master_of(42), moved.node);
  EXPECT_EQ(*cluster.slots().master_of(41), asked);
  EXPECT_TRUE(cluster.refresh(start));
}

TEST(RedisCluster, AskSendsOneCallElsewhereAndChangesNoMap) {
  Cluster cluster = settled();
  Cluster::Journey journey;
  const auto stop = cluster.follow(journey, ask, asked);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->node, ask.node);
  EXPECT_TRUE(stop->asking);
  EXPECT_EQ(*cluster.slots().master_of(42), asked);
  EXPECT_FALSE(cluster.refresh(start));
}

TEST(RedisCluster, AHostLeftOutIsTheNodeThatWasAsked) {
  Cluster cluster = settled();
  Cluster::Journey journey;
  const auto stop = cluster.follow(journey, {ErrorKind::moved, 1, {"", 7005}}, asked);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->node, (Node{"10.0.0.1", 7005}));
  EXPECT_EQ(*cluster.slots().master_of(1), stop->node);
}

TEST(RedisCluster, NoCallIsSentAboutForEver) {
  Cluster cluster = settled({.most_redirects = 3});
  Cluster::Journey journey;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(cluster.follow(journey, i == 1 ? ask : moved, asked));
  EXPECT_FALSE(cluster.follow(journey, moved, asked));
  EXPECT_FALSE(cluster.follow(journey, ask, asked));
  Cluster::Journey other;
  EXPECT_TRUE(cluster.follow(other, moved, asked)) << "each call has its own";
}

TEST(RedisCluster, AMapWithHolesIsAskedForAgain) {
  Cluster cluster({});
  ASSERT_TRUE(cluster.refresh(start));
  SlotMap holes;
  holes.move(1, asked);
  cluster.learn(holes);
  EXPECT_FALSE(cluster.refresh(start));
  EXPECT_TRUE(cluster.refresh(start + 10s));
}

TEST(RedisCluster, HoweverManyRedirectsComeAMapIsAskedForOnceInAWhile) {
  std::mt19937_64 random(17);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Cluster cluster = settled({.refresh_every = 1s, .seed = seed});
    SteadyInstant now = start;
    SteadyInstant last = SteadyInstant::min();
    std::int64_t asked_for = 0;
    while (now < start + 100s) {
      now += std::chrono::milliseconds{random() % 20};
      Cluster::Journey journey;
      static_cast<void>(cluster.follow(journey, moved, asked));
      if (random() % 4 == 0) cluster.doubt();
      if (!cluster.refresh(now)) continue;
      if (asked_for++ > 0) {
        EXPECT_GE(now - last, 1s) << "seed " << seed;
      }
      last = now;
    }
    EXPECT_GE(asked_for, 65) << "seed " << seed;  // at most 1.5 s and a step apart
    EXPECT_LE(asked_for, 100) << "seed " << seed;
  }
}

TEST(RedisCluster, ARefreshThatNeverEndsIsRefused) {
  EXPECT_THROW(Cluster({.refresh_every = 0s}), std::invalid_argument);
  EXPECT_THROW(Cluster({.refresh_every = 25h}), std::invalid_argument);
}

}  // namespace
}  // namespace weir::redis
