// The remote table against the machines, over scripts in Lua 5.1.
#include <gtest/gtest.h>

#include "test/redis/remote_host.hpp"

namespace weir::redis {
namespace {

class RemoteTableAsHost : public testing::TestWithParam<Loaded> {};

TEST_P(RemoteTableAsHost, DecidesAsThePureMachines) {
  VirtualStore store(GetParam());
  RemoteHost host(store, {.remembered_denials = 0});
  const auto compared = host::expect_equal_to_pure(host, {.count = 15});
  EXPECT_GT(compared.taken, 1'200u);
  EXPECT_GT(compared.denied, 500u);
  EXPECT_GT(compared.given_back, 250u);
  EXPECT_GT(compared.states, 5'000u);
}

TEST_P(RemoteTableAsHost, DecidesAlikeWhereScriptsAreFlushedAllTheTime) {
  VirtualStore store(GetParam());
  RemoteHost host(store, {.remembered_denials = 0});
  std::size_t calls = 0;
  store.fate = [&](const VirtualStore::Words&) {
    if (++calls % 7 == 0) store.forget();
    return Fate::answered;
  };
  const auto compared = host::expect_equal_to_pure(host, {.first = 100, .count = 6});
  EXPECT_GT(compared.taken, 500u);
}

TEST_P(RemoteTableAsHost, DecidesAlikeWithDenialsRemembered) {
  VirtualStore store(GetParam());
  RemoteHost host(store, {});
  const auto compared = host::expect_equal_to_pure(host, {.first = 200, .count = 40});
  EXPECT_GT(compared.denied, 500u);
  EXPECT_GT(host.from_cache(), 100u);
}

INSTANTIATE_TEST_SUITE_P(Loaded, RemoteTableAsHost,
                         testing::Values(Loaded::library, Loaded::scripts));

}  // namespace
}  // namespace weir::redis
