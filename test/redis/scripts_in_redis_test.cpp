// The scripts where they are meant to run.
#include <gtest/gtest.h>

#include <iostream>

#include "test/redis/redis_store.hpp"
#include "test/redis/schedules.hpp"
#include "test/redis/script_host.hpp"
#include "test/redis/several_keys.hpp"

namespace weir::redis {
namespace {

class InRedis : public testing::TestWithParam<Loaded> {};

TEST_P(InRedis, ScriptsDecideAsThePureMachines) {
  RedisStore store(GetParam());
  ScriptHost host(store);
  const auto compared = host::expect_equal_to_pure(host, {.count = schedules});
  EXPECT_GT(compared.taken, 60 * schedules);
  EXPECT_GT(compared.denied, 30 * schedules);
  EXPECT_GT(compared.given_back, schedules);
  std::cout << compared.decisions << " decisions, " << compared.taken << " taken, "
            << compared.denied << " denied, " << compared.given_back << " units given back, "
            << compared.states << " states\n";
}

TEST_P(InRedis, ScriptsDecideOverSeveralKeysAsTheMachinesAndTheTable) {
  RedisStore store(GetParam());
  expect_equal_over_several_keys(store, schedules / 2);
}

TEST(ReleasesSideBySide, ContinueEachOthersStates) {
  ReleasesSideBySide store;
  ScriptHost host(store);
  const auto compared = host::expect_equal_to_pure(host, {.count = schedules / 4});
  EXPECT_GT(compared.taken, 15 * schedules);
  EXPECT_GT(compared.given_back, schedules / 4);
  expect_equal_over_several_keys(store, schedules / 4);
}

INSTANTIATE_TEST_SUITE_P(Loaded, InRedis, testing::Values(Loaded::library, Loaded::scripts));

}  // namespace
}  // namespace weir::redis
