#include "gateway/hit_shares.hpp"

#include <gtest/gtest.h>

namespace weir::gateway {
namespace {

TEST(HitShares, AreThoseOfTheStatisticsTheyCameFrom) {
  // limit 10: near from 8 on
  EXPECT_EQ(shares_of({.before = 0, .hits = 1, .limit = 10}), (HitShares{.within = 1}));
  EXPECT_EQ(shares_of({.before = 7, .hits = 1, .limit = 10}), (HitShares{.within = 1}));
  EXPECT_EQ(shares_of({.before = 8, .hits = 1, .limit = 10}), (HitShares{.within = 1, .near = 1}));
  EXPECT_EQ(shares_of({.before = 6, .hits = 4, .limit = 10}), (HitShares{.within = 4, .near = 2}));
  EXPECT_EQ(shares_of({.before = 9, .hits = 3, .limit = 10}), (HitShares{.near = 1, .over = 2}));
  EXPECT_EQ(shares_of({.before = 0, .hits = 13, .limit = 10}), (HitShares{.near = 2, .over = 3}));
  EXPECT_EQ(shares_of({.before = 10, .hits = 2, .limit = 10}), (HitShares{.over = 2}));
}

TEST(HitShares, OverAndWithinAndWhatFilledTheLimitAreAllHits) {
  for (Cost limit = 1; limit < 30; ++limit) {
    for (Cost before = 0; before < 40; ++before) {
      for (Cost hits = 0; hits < 40; ++hits) {
        const HitShares shares = shares_of({before, hits, limit});
        const Cost filled = shares.over > 0 ? std::max<Cost>(0, limit - before) : 0;
        ASSERT_EQ(shares.within + shares.over + filled, hits);
        ASSERT_GE(shares.near, 0);
        ASSERT_LE(shares.near, limit - near_limit(limit));
      }
    }
  }
}

}  // namespace
}  // namespace weir::gateway
