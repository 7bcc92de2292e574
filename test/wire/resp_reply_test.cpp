#include "wire/resp_reply.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weir::wire {
namespace {

using namespace std::string_literals;

template <typename Write>
std::string spoken(Protocol protocol, Write write) {
  std::string out = "before ";
  ReplyWriter writer(out, protocol);
  write(writer);
  return out.substr(7);
}

TEST(RespReply, EachDialectHasItsOwnWordForAMapANullAndABoolean) {
  const auto map = [](ReplyWriter& to) { to.map(2); };
  EXPECT_EQ(spoken(Protocol::resp2, map), "*4\r\n");
  EXPECT_EQ(spoken(Protocol::resp3, map), "%2\r\n");
  const auto null = [](ReplyWriter& to) { to.null(); };
  EXPECT_EQ(spoken(Protocol::resp2, null), "$-1\r\n");
  EXPECT_EQ(spoken(Protocol::resp3, null), "_\r\n");
  const auto booleans = [](ReplyWriter& to) { to.boolean(true), to.boolean(false); };
  EXPECT_EQ(spoken(Protocol::resp2, booleans), ":1\r\n:0\r\n");
  EXPECT_EQ(spoken(Protocol::resp3, booleans), "#t\r\n#f\r\n");
}

TEST(RespReply, TheOtherTypesAreTheSameInBothDialects) {
  for (const Protocol protocol : {Protocol::resp2, Protocol::resp3}) {
    EXPECT_EQ(spoken(protocol, [](ReplyWriter& to) { to.simple("OK"); }), "+OK\r\n");
    EXPECT_EQ(spoken(protocol, [](ReplyWriter& to) { to.error("ERR no"); }), "-ERR no\r\n");
    EXPECT_EQ(spoken(protocol, [](ReplyWriter& to) { to.array(5); }), "*5\r\n");
    EXPECT_EQ(spoken(protocol, [](ReplyWriter& to) { to.bulk("a\r\n\0b"s); }),
              "$5\r\na\r\n\0b\r\n"s);
    EXPECT_EQ(spoken(protocol, [](ReplyWriter& to) { to.bulk(""); }), "$0\r\n\r\n");
  }
}

/// Some of them have a way of their own to be written.
TEST(RespReply, EveryIntegerNearZeroIsWrittenInFull) {
  for (int value = -1100; value <= 1100; ++value) {
    EXPECT_EQ(spoken(Protocol::resp2, [&](ReplyWriter& to) { to.integer(value); }),
              ':' + std::to_string(value) + "\r\n");
  }
}

TEST(RespReply, IntegersAreWrittenToTheirEnds) {
  const auto integer = [](std::int64_t value) {
    return spoken(Protocol::resp2, [=](ReplyWriter& to) { to.integer(value); });
  };
  EXPECT_EQ(integer(0), ":0\r\n");
  EXPECT_EQ(integer(9), ":9\r\n");
  EXPECT_EQ(integer(10), ":10\r\n");
  EXPECT_EQ(integer(-1), ":-1\r\n");
  EXPECT_EQ(integer(INT64_MAX), ":9223372036854775807\r\n");
  EXPECT_EQ(integer(INT64_MIN), ":-9223372036854775808\r\n");
}

TEST(RespReply, IntegersAtOnceAreTheSameAsOneByOne) {
  std::vector<std::int64_t> values;
  for (std::size_t count = 0; count != 20; ++count) {
    const auto one_by_one = spoken(Protocol::resp2, [&](ReplyWriter& to) {
      to.array(values.size());
      for (const std::int64_t value : values) to.integer(value);
    });
    EXPECT_EQ(spoken(Protocol::resp2, [&](ReplyWriter& to) { to.integers(values); }), one_by_one);
    values.push_back(count % 2 == 0 ? INT64_MIN + static_cast<std::int64_t>(count) : INT64_MAX);
  }
}

TEST(RespReply, NoTextCanBeginAnotherReply) {
  for (const Protocol protocol : {Protocol::resp2, Protocol::resp3}) {
    EXPECT_EQ(spoken(protocol, [](ReplyWriter& to) { to.error("ERR a\r\n+OK\r\n"); }),
              "-ERR a  +OK  \r\n");
    EXPECT_EQ(spoken(protocol, [](ReplyWriter& to) { to.simple("a\nb\rc\0d\x1b[1m\x7f"s); }),
              "+a b c d [1m \r\n");
    EXPECT_EQ(spoken(protocol, [](ReplyWriter& to) { to.error("ERR clé"); }), "-ERR clé\r\n");
  }
}

}  // namespace
}  // namespace weir::wire
