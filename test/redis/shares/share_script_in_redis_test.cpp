// scripts/share.lua where it is meant to run.
#include <gtest/gtest.h>

#include "test/redis/redis_store.hpp"
#include "test/redis/shares/registry_against_script.hpp"

namespace weir::redis {
namespace {

class ShareScriptInRedis : public testing::TestWithParam<Loaded> {};

TEST_P(ShareScriptInRedis, AnswersAndKeepsAsTheRegistry) {
  RedisStore store(GetParam());
  std::size_t granted = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RegistryAgainstScript pair(store, seed);
    for (int event = 0; event < 150; ++event) {
      pair.event();
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << ", event " << event;
    }
    granted += pair.granted;
  }
  EXPECT_GT(granted, 700u);
}

INSTANTIATE_TEST_SUITE_P(Loaded, ShareScriptInRedis,
                         testing::Values(Loaded::library, Loaded::scripts));

}  // namespace
}  // namespace weir::redis
