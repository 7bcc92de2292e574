#include "test/host/table_host.hpp"

#include <gtest/gtest.h>

#include <iostream>

namespace weir::host {
namespace {

void expect_much(const Compared& compared) {
  EXPECT_GT(compared.taken, 5'000u);
  EXPECT_GT(compared.denied, 2'000u);
  EXPECT_GT(compared.given_back, 1'000u);
  EXPECT_GT(compared.renewed, 20u);
  std::cout << compared.decisions << " decisions, " << compared.taken << " taken, "
            << compared.denied << " denied, " << compared.given_back << " units given back\n";
}

TEST(TableHost, DecidesAsThePureMachine) {
  TableHost host({"table"});
  expect_much(expect_equal_to_pure(host, {}));
}

TEST(TableHost, DecidesTheSameWhileFreshStatesAreDroppedAllTheTime) {
  TableHost host({.name = "small swept table", .shards = 1, .swept_each_call = 64});
  expect_much(expect_equal_to_pure(host, {.first = 1'000}));
  EXPECT_GT(host.stats().dropped, 500u);
}

}  // namespace
}  // namespace weir::host
