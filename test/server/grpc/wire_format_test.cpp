// Protobuf's encoding as we write it, read by libprotobuf, and what of foreign bytes is a message.
#include "server/grpc/wire_format.hpp"

#include <envoy/service/ratelimit/v3/rls.pb.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace weir::server::grpc {
namespace {

using Entry = envoy::extensions::common::ratelimit::v3::RateLimitDescriptor_Entry;
using Override = envoy::extensions::common::ratelimit::v3::RateLimitDescriptor_RateLimitOverride;
using Descriptor = envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
using Request = envoy::service::ratelimit::v3::RateLimitRequest;

template <typename Message>
Message read_by_protobuf(const std::string& bytes) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(bytes));
  EXPECT_EQ(message.SerializeAsString(), bytes);  // it has no shorter way
  return message;
}

TEST(WireWriter, WritesMessagesOfAnyLengthInEachOther) {
  for (const std::size_t size : {0U, 1U, 60U, 110U, 119U, 120U, 121U, 122U, 123U, 124U, 125U, 126U,
                                 127U, 128U, 300U, 16'360U, 16'380U, 16'390U, 2'100'000U}) {
    std::string bytes = "";
    WireWriter writer(bytes);
    const std::string value(size, 'v');
    writer.text(1, "edge");
    writer.message(2, [&] {
      writer.message(1, [&] {
        writer.text(1, "k");
        writer.text(2, value);
      });
      writer.message(2, [] {});
    });
    writer.number(3, size);
    const auto request = read_by_protobuf<Request>(bytes);
    ASSERT_EQ(request.descriptors_size(), 1);
    EXPECT_EQ(request.descriptors(0).entries(0).value(), value);
    EXPECT_TRUE(request.descriptors(0).has_limit());
    EXPECT_EQ(request.hits_addend(), size);
  }
}

TEST(WireWriter, WritesNumbersOfAnySize) {
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t number = std::uint64_t{1} << bit;
    for (const std::uint64_t value : {number - 1, number, ~number}) {
      std::string bytes;
      WireWriter writer(bytes);
      writer.message(3, [&] { writer.number(1, value); });
      EXPECT_EQ(read_by_protobuf<Descriptor>(bytes).hits_addend().value(), value);
    }
  }
}

TEST(WireReader, TellsFieldsInTheirOrderAndPassesOverGroups) {
  using namespace std::string_literals;
  const std::string bytes =
      "\x08\x96\x01"  // 1: varint 150
      "\x11"
      "12345678"                  // 2: fixed64
      "\x1b\x08\x01\x23\x24\x1c"  // group 3 with a varint and group 4
      "\x2a\x02"
      "hi"  // 5: bytes
      "\x35"
      "1234"s;  // 6: fixed32
  WireReader reader(bytes);
  WireField field;
  std::vector<std::uint32_t> numbers;
  while (reader.next(field)) {
    numbers.push_back(field.number);
    if (field.is(1, WireType::varint)) {
      EXPECT_EQ(field.value, 150U);
    } else if (field.is(5, WireType::bytes)) {
      EXPECT_EQ(field.bytes, "hi");
    }
  }
  EXPECT_FALSE(reader.fails());
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{1, 2, 5, 6}));
}

TEST(WireReader, EveryCutButThoseBetweenFieldsFails) {
  Request request;
  request.set_domain("edge");
  request.set_hits_addend(1000);
  request.add_descriptors()->add_entries()->set_key("k");
  const std::string bytes = request.SerializeAsString();
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    WireReader reader(std::string_view(bytes).substr(0, size));
    WireField field;
    while (reader.next(field)) {
    }
    EXPECT_EQ(!reader.fails(), Request().ParseFromString(bytes.substr(0, size)) || size == 0)
        << size;
    EXPECT_FALSE(reader.next(field));
  }
}

TEST(WireReader, RefusesWhatIsNoField) {
  using namespace std::string_literals;
  for (const std::string& bytes :
       {"\x00"s, "\x02\x00"s, "\x0c"s, "\x0e"s, "\x0f"s, "\x0b"s, "\x0b\x14"s,
        "\x09"
        "1234567"s,
        "\x0d"
        "123"s,
        "\x0a\x05"
        "four"s,
        "\x0a\xff\xff\xff\xff\x0f"s,
        "\x0a\x81\x80\x80\x80\x80\x00x"s,  // a length of six bytes
        "\x08" + std::string(10, '\x80') + "\x01",
        std::string(101, '\x0b') + std::string(101, '\x0c')}) {
    WireReader reader(bytes);
    WireField field;
    EXPECT_FALSE(reader.next(field)) << testing::PrintToString(bytes);
    EXPECT_TRUE(reader.fails()) << testing::PrintToString(bytes);
    EXPECT_FALSE(Request().ParseFromString(bytes)) << testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace weir::server::grpc
