// Addresses in the names of peers.
#include <gtest/gtest.h>

#include "weir/http/peer.hpp"

namespace weir::http {
namespace {

TEST(IpOfPeer, IsTheAddressWithoutItsPort) {
  EXPECT_EQ(ip_of_peer("ipv4:192.0.2.1:5000"), "192.0.2.1");
  EXPECT_EQ(ip_of_peer("ipv6:[2001:db8::1]:5000"), "2001:db8::1");
  EXPECT_EQ(ip_of_peer("ipv6:%5B2001:db8::1%5D:5000"), "2001:db8::1");
}

TEST(IpOfPeer, IsTheWholeNameOfAnyOther) {
  EXPECT_EQ(ip_of_peer("unix:/run/forum"), "unix:/run/forum");
  EXPECT_EQ(ip_of_peer(""), "");
  EXPECT_EQ(ip_of_peer("ipv4:"), "");
}

}  // namespace
}  // namespace weir::http
