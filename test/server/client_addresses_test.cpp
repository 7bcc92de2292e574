#include "server/client_addresses.hpp"

#include <gtest/gtest.h>

namespace weir::test {
namespace {

using boost::asio::ip::make_address;
using server::ClientAddresses;

TEST(ClientAddresses, CountsWhoIsThere) {
  ClientAddresses addresses;
  auto first = addresses.admit(make_address("10.0.0.1"), 2);
  {
    const auto second = addresses.admit(make_address("10.0.0.1"), 2);
    EXPECT_TRUE(second);
    EXPECT_FALSE(addresses.admit(make_address("10.0.0.1"), 2));
    EXPECT_TRUE(addresses.admit(make_address("10.0.0.2"), 2));
  }
  EXPECT_TRUE(addresses.admit(make_address("10.0.0.1"), 2));
}

TEST(ClientAddresses, CountASeatThatMovedOnce) {
  ClientAddresses addresses;
  ClientAddresses::Seat kept;
  {
    auto seat = addresses.admit(make_address("10.0.0.1"), 1);
    ASSERT_TRUE(seat);
    kept = std::move(*seat);
  }
  EXPECT_FALSE(addresses.admit(make_address("10.0.0.1"), 1));
  { const ClientAddresses::Seat gone = std::move(kept); }
  EXPECT_TRUE(addresses.admit(make_address("10.0.0.1"), 1));
}

TEST(ClientAddresses, TakeAnIpv6NetworkForOneClient) {
  ClientAddresses addresses;
  const auto held = addresses.admit(make_address("2001:db8:1:2::1"), 1);
  EXPECT_FALSE(addresses.admit(make_address("2001:db8:1:2:ffff::9"), 1));
  EXPECT_TRUE(addresses.admit(make_address("2001:db8:1:3::1"), 1));
}

TEST(ClientAddresses, KnowAnIpv4AddressInIpv6Clothes) {
  ClientAddresses addresses;
  const auto held = addresses.admit(make_address("10.0.0.1"), 1);
  EXPECT_FALSE(addresses.admit(make_address("::ffff:10.0.0.1"), 1));
  EXPECT_TRUE(addresses.admit(make_address("::ffff:10.0.0.2"), 1));
}

}  // namespace
}  // namespace weir::test
