// Does gRPC's text and framing say to us what it says to others?
#include "server/grpc/protocol.hpp"

#include <gtest/gtest.h>

#include "server/grpc/call_head.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using namespace server::grpc;
using Form = FirstMessage::Form;

TEST(GrpcFraming, TellsAMessageFromItsBeginning) {
  const std::string whole("\0\0\0\1\2ab", 7);
  EXPECT_EQ(first_message(std::string(whole) += std::string(256, 'x'), 1000).form, Form::plain);
  EXPECT_EQ(first_message(std::string("\0\0\0\0\2ab", 7), 2).length, 2U);
  EXPECT_EQ(first_message(std::string("\0\0\0\0\0", 5), 2).form, Form::plain);
  EXPECT_EQ(first_message(whole, 1000).form, Form::incomplete);
  EXPECT_EQ(first_message(std::string("\0\0\0\0\3ab", 7), 2).form, Form::too_long);
  EXPECT_EQ(first_message("\0\xff\xff\xff\xff", 1000).form, Form::incomplete);  // a C string: empty
  EXPECT_EQ(first_message(std::string("\0\xff\xff\xff\xff", 5), 1000).length, 4294967295U);
  EXPECT_EQ(first_message(std::string("\1\0\0\0\2ab", 7), 1000).form, Form::compressed);
  EXPECT_EQ(first_message("\2", 1000).form, Form::no_message);
}

TEST(GrpcFraming, SaysNothingCertainBeforeThePrefixIsThere) {
  const std::string whole("\0\0\0\0\2ab", 7);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(first_message(whole.substr(0, size), 2).form, Form::incomplete) << size;
  }
}

TEST(GrpcFraming, WritesThePrefixThatItReads) {
  for (const std::size_t length : {0U, 1U, 255U, 256U, 65536U, 4294967295U}) {
    std::uint8_t prefix[prefix_bytes] = {9, 9, 9, 9, 9};
    write_prefix(prefix, length);
    const std::string_view text(reinterpret_cast<const char*>(prefix), prefix_bytes);
    EXPECT_EQ(first_message(text, std::size_t{1} << 33).length, length);
  }
}

TEST(GrpcTimeout, HasOneToEightDigitsAndAUnit) {
  EXPECT_EQ(timeout_of("1H"), 1h);
  EXPECT_EQ(timeout_of("2M"), 2min);
  EXPECT_EQ(timeout_of("3S"), 3s);
  EXPECT_EQ(timeout_of("20m"), 20ms);
  EXPECT_EQ(timeout_of("5u"), 5us);
  EXPECT_EQ(timeout_of("6n"), 6ns);
  EXPECT_EQ(timeout_of("0n"), 0ns);
  EXPECT_EQ(timeout_of("99999999n"), 99'999'999ns);
  EXPECT_GT(timeout_of("99999999H"), 24h * 365 * 100);
  for (const char* none : {"", "1", "S", "-1S", "+1S", "1 S", " 1S", "1s", "1h", "1.5S",
                           "100000000S", "0x1S", "1SS", "\xff"}) {
    EXPECT_EQ(timeout_of(none), std::nullopt) << none;
  }
}

TEST(GrpcMessage, IsPercentEncodedWhereItIsNotPlain) {
  EXPECT_EQ(percent_encoded("plain text, ~ and space"), "plain text, ~ and space");
  EXPECT_EQ(percent_encoded("100%\n\x7f"), "100%25%0A%7F");
  EXPECT_EQ(percent_encoded("堰"), "%E5%A0%B0");
}

TEST(GrpcMessage, IsCutBetweenCharacters) {
  const std::string most(1024, 'x');
  EXPECT_EQ(percent_encoded(most), most);
  EXPECT_EQ(percent_encoded(most + "x"), most);
  EXPECT_EQ(percent_encoded(most.substr(2) + "堰"), most.substr(2));
  EXPECT_EQ(percent_encoded(most.substr(3) + "堰"), most.substr(3) + "%E5%A0%B0");
  EXPECT_EQ(percent_encoded(std::string(5'000, '\x80')), "");
}

TEST(GrpcContentType, IsOneOfTwoForms) {
  for (const char* good : {"application/grpc", "application/grpc+proto",
                           "application/grpc;charset=utf-8", "application/grpc+proto ; a=b"}) {
    EXPECT_TRUE(is_grpc(good)) << good;
  }
  for (const char* bad : {"", "application/grpcx", "application/grpc+json", "application/grpc-web",
                          "application/json", "application/grpc+", "Application/grpc"}) {
    EXPECT_FALSE(is_grpc(bad)) << bad;
  }
}

TEST(GrpcServices, AreNamedOnceEach) {
  Services services;
  const Method nothing = Unary([](std::string_view, const Reply&) {});
  for (const char* path : {"/b.B/Two", "/a.A.C/One", "/b.B/One", "/a.A/One", "/a.A/Two"}) {
    services.add(path, nothing);
  }
  EXPECT_EQ(services.names(), (std::vector<std::string>{"a.A.C", "a.A", "b.B"}));
  EXPECT_EQ(services.find("/a.A/Three"), nullptr);
  EXPECT_NE(services.find("/a.A/Two"), nullptr);
}

}  // namespace
}  // namespace weir::test
