// The scripts in Lua 5.1 itself, against the machines.
#include <gtest/gtest.h>

#include <iostream>

#include "test/redis/lua_store.hpp"
#include "test/redis/script_host.hpp"
#include "test/redis/several_keys.hpp"

namespace weir::redis {
namespace {

class Scripts : public testing::TestWithParam<Loaded> {};

TEST_P(Scripts, DecideAsThePureMachines) {
  LuaStore store(GetParam());
  ScriptHost host(store);
  const auto compared = host::expect_equal_to_pure(host, {.count = 60});
  EXPECT_GT(compared.taken, 5'000u);
  EXPECT_GT(compared.denied, 2'000u);
  EXPECT_GT(compared.given_back, 1'000u);
  EXPECT_GT(compared.states, 20'000u);
  std::cout << compared.decisions << " decisions, " << compared.taken << " taken, "
            << compared.denied << " denied, " << compared.given_back << " units given back, "
            << compared.states << " states\n";
}

TEST_P(Scripts, DecideOverSeveralKeysAsTheMachinesAndTheTable) {
  LuaStore store(GetParam());
  expect_equal_over_several_keys(store, 30);
}

INSTANTIATE_TEST_SUITE_P(Loaded, Scripts, testing::Values(Loaded::library, Loaded::scripts));

}  // namespace
}  // namespace weir::redis
