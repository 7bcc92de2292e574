#include "server/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::test {
namespace {

using server::Address;
using server::read_address;
using testing::HasSubstr;

TEST(Address, IsAHostAndAPort) {
  EXPECT_EQ(*read_address("127.0.0.1:7379"), (Address{.host = "127.0.0.1", .port = 7379}));
  EXPECT_EQ(*read_address("localhost:0"), (Address{.host = "localhost", .port = 0}));
  EXPECT_EQ(*read_address("[::1]:65535"), (Address{.host = "::1", .port = 65535}));
}

TEST(Address, SaysWhatIsSpokenThere) {
  EXPECT_EQ(*read_address("tls:[::]:1"),
            (Address{.kind = Address::Kind::tls, .host = "::", .port = 1}));
  EXPECT_EQ(*read_address("unix:/run/a b:c"),
            (Address{.kind = Address::Kind::unix_socket, .path = "/run/a b:c"}));
}

TEST(Address, ReadsBackAsItIsPrinted) {
  for (const char* text : {"127.0.0.1:7379", "[::1]:0", "tls:example.org:443", "tls:[fe80::1]:1",
                           "unix:relative", "unix:unix:x"}) {
    EXPECT_EQ(print(*read_address(text)), text);
  }
}

TEST(Address, IsRefusedWithWhatWasExpected) {
  for (const char* text : {"",
                           "7379",
                           ":7379",
                           "localhost",
                           "localhost:",
                           "localhost:65536",
                           "localhost:-1",
                           "localhost:+1",
                           "localhost:1x",
                           "localhost: 1",
                           "::1:7379",
                           "[::1]",
                           "[]:1",
                           "[:1",
                           "a]:1",
                           "[localhost]:1",
                           "tls:443",
                           "tls::443",
                           "a b:1",
                           "unix:",
                           "tls:unix:/run/x"}) {
    const auto address = read_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_THAT(address.error().message, HasSubstr("expected HOST:PORT")) << text;
  }
}

TEST(Address, OfAUnixSocketFitsTheKernels) {
  EXPECT_TRUE(read_address("unix:" + std::string(107, 'x')));
  const auto longer = read_address("unix:" + std::string(108, 'x'));
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().message, HasSubstr("at most 107 bytes"));
  EXPECT_FALSE(read_address(std::string_view("unix:a\0b", 8)));
}

}  // namespace
}  // namespace weir::test
