#include <gtest/gtest.h>

#include <map>
#include <string>

#include "test/gateway/addresses.hpp"

namespace weir::gateway {
namespace {

TEST(Address, OfIpv4IsFourNumbers) {
  EXPECT_EQ(address("192.0.2.1"), Address::v4({192, 0, 2, 1}));
  EXPECT_EQ(address("0.0.0.0"), Address::v4({0, 0, 0, 0}));
  EXPECT_EQ(address("255.255.255.255"), Address::v4({255, 255, 255, 255}));
}

TEST(Address, OfIpv6IsEightGroups) {
  const Address wanted{{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0xab, 0xcd}};
  EXPECT_EQ(address("2001:db8:0:0:1:0:0:abcd"), wanted);
  EXPECT_EQ(address("2001:DB8::1:0:0:ABCD"), wanted);
  EXPECT_EQ(address("2001:0db8:0000:0000:0001::0.0.171.205"), wanted);
  EXPECT_EQ(address("::"), Address{});
}

TEST(Address, MappedIntoIpv6IsTheOneOfIpv4) {
  for (const char* text : {"::ffff:1.2.3.4", "::FFFF:102:304", "0:0:0:0:0:ffff:1.2.3.4"}) {
    EXPECT_EQ(address(text), address("1.2.3.4"));
    EXPECT_TRUE(address(text).is_v4());
  }
  EXPECT_FALSE(address("::1.2.3.4").is_v4());
  EXPECT_FALSE(address("::fffe:1.2.3.4").is_v4());
  EXPECT_FALSE(address("::1:ffff:1.2.3.4").is_v4());
}

// The examples of RFC 5952, and the corners of its section 4.2.
TEST(Address, IsPrintedAsRfc5952Says) {
  const std::map<std::string, std::string> printed{
      {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
      {"2001:0db8::0001", "2001:db8::1"},
      {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
      {"2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
      {"2001:DB8::A", "2001:db8::a"},
      {"0:0:0:0:0:0:0:0", "::"},
      {"0:0:0:0:0:0:0:1", "::1"},
      {"1:0:0:0:0:0:0:0", "1::"},
      {"0:1:0:0:0:0:0:0", "0:1::"},
      {"0:0:1:0:0:1:0:0", "::1:0:0:1:0:0"},
      {"0:1:1:1:1:1:0:0", "0:1:1:1:1:1::"},
      {"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"},
      {"::ffff:10.0.0.1", "10.0.0.1"},
      {"::10.0.0.1", "::a00:1"},
  };
  for (const auto& [text, wanted] : printed) EXPECT_EQ(print(address(text)), wanted) << text;
}

TEST(Address, WhatIsNoneIsToldWithTheColumn) {
  struct Row {
    const char* text;
    std::size_t column;
    const char* expected;
  };
  const Row rows[] = {
      {"", 1, "an address such as 192.0.2.1 or 2001:db8::1"},
      {"localhost", 1, "an address such as 192.0.2.1 or 2001:db8::1"},
      {" 1.2.3.4", 1, "an address such as 192.0.2.1 or 2001:db8::1"},
      {"1.2.3.4 ", 8, "the end of the address"},
      {"1.2.3.4:80", 2, "':' or the end of the address"},
      {"1.2.3", 6, "'.' and four numbers in all"},
      {"1.2.3.", 7, "a number from 0 to 255"},
      {"1..2.3", 3, "a number from 0 to 255"},
      {"1.2.3.4.5", 8, "the end of the address"},
      {"1.2.3.256", 7, "a number from 0 to 255, without leading zeros"},
      {"1.2.3.99999999999999999999", 7, "a number from 0 to 255, without leading zeros"},
      {"1.2.03.4", 5, "a number from 0 to 255, without leading zeros"},
      {"1.2.00.4", 5, "a number from 0 to 255, without leading zeros"},
      {"1.2.3.-4", 7, "a number from 0 to 255"},
      {"0x1.2.3.4", 2, "'.' and four numbers in all"},
      {":", 1, "1 to 4 hexadecimal digits"},
      {":1", 1, "1 to 4 hexadecimal digits"},
      {"1:", 3, "1 to 4 hexadecimal digits"},
      {":::", 3, "1 to 4 hexadecimal digits"},
      {"1::2::3", 6, "1 to 4 hexadecimal digits, for '::' stands already"},
      {"1:2:3:4:5:6:7", 14, "eight groups, or '::' where some are zero"},
      {"1:2:3:4:5:6:7:8:9", 17, "eight groups at most"},
      {"1:2:3:4:5:6:7:8::", 18, "eight groups, or '::' where some are zero"},
      {"1:2:3:4:5:6:7:1.2.3.4", 15, "eight groups at most"},
      {"12345::", 5, "':' or the end of the address"},
      {"::g", 3, "1 to 4 hexadecimal digits"},
      {"1.2.3.4::", 2, "':' or the end of the address"},
      {"::1.2.3.4:5", 4, "':' or the end of the address"},
      {"fe80::1%eth0", 8, "':' or the end of the address"},
      {"[::1]", 1, "1 to 4 hexadecimal digits"},
  };
  for (const Row& row : rows) {
    const auto read = parse_address(row.text);
    ASSERT_FALSE(read) << row.text;
    EXPECT_EQ(read.error().column, row.column) << row.text;
    EXPECT_EQ(read.error().expected, row.expected) << row.text;
  }
}

}  // namespace
}  // namespace weir::gateway
