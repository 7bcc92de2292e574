// Addresses and networks made at random.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "test/gateway/addresses.hpp"

namespace weir::gateway {
namespace {

/// The same each time; RC_PARAMS in the environment asks for others.
[[maybe_unused]] const int seeded = ::setenv("RC_PARAMS", "seed=20 max_success=1000", 0);

Network any_network() {
  return Network::around(any_address(), *rc::gen::inRange<std::uint8_t>(0, 129));
}

RC_GTEST_PROP(AddressProperty, PrintedAndParsedIsTheSame, ()) {
  const Address drawn = any_address();
  RC_ASSERT(*parse_address(print(drawn)) == drawn);
}

RC_GTEST_PROP(NetworkProperty, PrintedAndParsedIsTheSame, ()) {
  const Network drawn = any_network();
  RC_ASSERT(*parse_network(print(drawn)) == drawn);
}

RC_GTEST_PROP(NetworkProperty, HoldsWhatLiesBetweenItsFirstAndLastOfItsFamily, ()) {
  const Network drawn = any_network();
  const Address asked = *rc::gen::arbitrary<bool>()
                            ? any_address()
                            : Network::around(any_address(), drawn.bits).first;
  RC_ASSERT(drawn.contains(drawn.first));
  const bool between = drawn.first <= asked && asked <= drawn.last();
  RC_ASSERT(drawn.contains(asked) == (between && asked.is_v4() == drawn.first.is_v4()));
}

RC_GTEST_PROP(NetworkProperty, AClientsGroupHoldsItAndAllOfTheGroupHaveThatGroup, ()) {
  const Address client = any_address();
  const Grouping grouping{.v4_bits = *rc::gen::inRange<std::uint8_t>(0, 33),
                          .v6_bits = *rc::gen::inRange<std::uint8_t>(0, 129)};
  const Network group = grouped(client, grouping);
  RC_ASSERT(group.contains(client));
  RC_ASSERT(grouped(group.first, grouping) == group);
  // Of ::/80 and the like the last lies in IPv4, and is no client of the group.
  if (group.contains(group.last())) RC_ASSERT(grouped(group.last(), grouping) == group);
}

RC_GTEST_PROP(NetworkSetProperty, HoldsWhatOneOfItsNetworksHolds, ()) {
  std::vector<Network> networks;
  for (int i = *rc::gen::inRange(0, 20); i > 0; --i) networks.push_back(any_network());
  const NetworkSet set(networks);
  std::vector<Address> asked{any_address()};
  for (const Network& network : networks) {
    asked.push_back(network.first);
    asked.push_back(network.last());
  }
  for (const Address& one : asked) {
    const bool held = std::any_of(networks.begin(), networks.end(),
                                  [&](const Network& network) { return network.contains(one); });
    RC_ASSERT(set.contains(one) == held);
  }
}

}  // namespace
}  // namespace weir::gateway
