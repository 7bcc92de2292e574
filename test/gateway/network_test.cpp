#include <gtest/gtest.h>

#include <string>

#include "test/gateway/addresses.hpp"

namespace weir::gateway {
namespace {

TEST(Network, IsAnAddressAndItsBits) {
  EXPECT_EQ(network("10.0.0.0/8"), (Network{Address::v4({10, 0, 0, 0}), 8}));
  EXPECT_EQ(network("2001:db8::/32"), (Network{address("2001:db8::"), 32}));
  EXPECT_EQ(network("0.0.0.0/0").bits, 0);
  EXPECT_EQ(network("1.2.3.4/32"), network("1.2.3.4"));
  EXPECT_EQ(network("::1/128"), network("::1"));
}

TEST(Network, OfMappedAddressesIsOfIpv4) {
  EXPECT_EQ(network("::ffff:10.0.0.0/104"), network("10.0.0.0/8"));
  EXPECT_EQ(network("::ffff:0:0/96"), network("0.0.0.0/0"));
  EXPECT_EQ(network("::ffff:1.2.3.4"), network("1.2.3.4"));
}

TEST(Network, HoldsOneFamilyAlone) {
  EXPECT_FALSE(network("::/0").contains(address("1.2.3.4")));
  EXPECT_FALSE(network("::/64").contains(address("1.2.3.4")));
  EXPECT_FALSE(network("::/80").contains(network("::/80").last()));
  EXPECT_FALSE(network("0.0.0.0/0").contains(address("::1")));
  const NetworkSet set({network("::/0")});
  EXPECT_TRUE(set.contains(address("::1")));
  EXPECT_FALSE(set.contains(address("1.2.3.4")));
}

TEST(Network, EndsWithItsLastAddress) {
  const Network ten = network("10.0.0.0/8");
  EXPECT_FALSE(ten.contains(address("9.255.255.255")));
  EXPECT_TRUE(ten.contains(address("10.0.0.0")));
  EXPECT_TRUE(ten.contains(address("10.255.255.255")));
  EXPECT_FALSE(ten.contains(address("11.0.0.0")));
  EXPECT_EQ(print(network("172.16.0.0/12").last()), "172.31.255.255");
  EXPECT_EQ(print(network("fc00::/7").last()), "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
}

TEST(Network, WhatIsNoneIsToldWithTheColumn) {
  struct Row {
    const char* text;
    std::size_t column;
    const char* message;
  };
  const Row rows[] = {
      {"10.1.2.3/8", 1, "10.1.2.3/8: host bits are set; expected 10.0.0.0/8"},
      {"2001:db8::1/64", 1, "2001:db8::1/64: host bits are set; expected 2001:db8::/64"},
      {"::ffff:10.1.2.3/104", 1, "::ffff:10.1.2.3/104: host bits are set; expected 10.0.0.0/8"},
      {"::ffff:0:0/95", 1, "::ffff:0:0/95: host bits are set; expected ::fffe:0:0/95"},
      {"10.0.0.0/33", 10, "expected a number of bits from 0 to 32"},
      {"10.0.0.0/", 10, "expected a number of bits from 0 to 32"},
      {"10.0.0.0/08", 10, "expected a number of bits from 0 to 32"},
      {"10.0.0.0/+8", 10, "expected a number of bits from 0 to 32"},
      {"10.0.0.0/8 ", 10, "expected a number of bits from 0 to 32"},
      {"10.0.0.0/255.0.0.0", 10, "expected a number of bits from 0 to 32"},
      {"10.0.0.0/8/8", 10, "expected a number of bits from 0 to 32"},
      {"::/129", 4, "expected a number of bits from 0 to 128"},
      {"10.0.0/8", 7, "expected '.' and four numbers in all"},
      {"10.0.0.256/8", 8, "expected a number from 0 to 255, without leading zeros"},
      {"/8", 1, "expected an address such as 192.0.2.1 or 2001:db8::1"},
  };
  for (const Row& row : rows) {
    const auto read = parse_network(row.text);
    ASSERT_FALSE(read) << row.text;
    EXPECT_EQ(read.error().column, row.column) << row.text;
    EXPECT_EQ(read.error().message, row.message) << row.text;
  }
}

TEST(Network, StandsForAClientInKeys) {
  const auto key = [](const char* text, Grouping grouping = {}) {
    return print(grouped(address(text), grouping));
  };
  EXPECT_EQ(key("1.2.3.4"), "1.2.3.4");
  EXPECT_EQ(key("::ffff:1.2.3.4"), "1.2.3.4");
  EXPECT_EQ(key("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(key("1.2.3.4", {.v4_bits = 24}), "1.2.3.0/24");
  EXPECT_EQ(key("2001:db8:1:2:3:4:5:6", {.v6_bits = 128}), "2001:db8:1:2:3:4:5:6");
  EXPECT_EQ(key("2001:db8:1:2:3:4:5:6", {.v6_bits = 48}), "2001:db8:1::/48");
  EXPECT_EQ(key("1.2.3.4", {.v4_bits = 200}), "1.2.3.4");
}

TEST(NetworkSet, ANetworkInAnotherChangesNothing) {
  const NetworkSet set({network("10.1.0.0/16"), network("10.0.0.0/8"), network("10.0.0.0/8"),
                        network("192.0.2.1"), network("2001:db8::/32")});
  for (const char* text : {"10.0.0.0", "10.1.2.3", "10.255.0.1", "192.0.2.1", "2001:db8::9"}) {
    EXPECT_TRUE(set.contains(address(text))) << text;
  }
  for (const char* text : {"9.255.255.255", "11.0.0.0", "192.0.2.2", "2001:db9::"}) {
    EXPECT_FALSE(set.contains(address(text))) << text;
  }
  EXPECT_FALSE(NetworkSet().contains(address("10.0.0.0")));
}

}  // namespace
}  // namespace weir::gateway
