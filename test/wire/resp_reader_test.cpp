#include "wire/resp_reader.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "test/wire/resp_transcript.hpp"

namespace weir::wire {
namespace {

using namespace std::string_literals;

Reply of_text(ReplyType type, std::string content) {
  return {.type = type, .text = std::move(content)};
}
Reply of_integer(std::int64_t value) { return {.type = ReplyType::integer, .integer = value}; }
Reply of_number(double value) { return {.type = ReplyType::number, .number = value}; }
Reply of_elements(ReplyType type, std::vector<Reply> elements) {
  return {.type = type, .elements = std::move(elements)};
}

void expect_reply(std::string_view bytes, const Reply& expected) {
  ReplyReader reader;
  Reply reply;
  const ReadReply read = reader.read(bytes, reply);
  EXPECT_EQ(read.status, ReadStatus::complete) << bytes << ": " << describe(read.fault);
  EXPECT_EQ(read.consumed, bytes.size()) << bytes;
  EXPECT_TRUE(same(reply, expected)) << bytes;
}

void expect_fault(std::string_view bytes, ReplyFault fault, ReplyLimits limits = {}) {
  ReplyReader reader(limits);
  Reply reply;
  const ReadReply read = reader.read(bytes, reply);
  EXPECT_EQ(read.status, ReadStatus::malformed) << bytes;
  EXPECT_STREQ(describe(read.fault), describe(fault)) << bytes;
  EXPECT_EQ(read.consumed, 0u) << bytes;
}

TEST(RespReader, EveryTypeOfBothDialectsIsRead) {
  using enum ReplyType;
  const double infinity = std::numeric_limits<double>::infinity();
  expect_reply("+OK\r\n", of_text(simple, "OK"));
  expect_reply("+\r\n", of_text(simple, ""));
  expect_reply("-ERR no\r\n", of_text(error, "ERR no"));
  expect_reply("!5\r\nE a\nb\r\n", of_text(error, "E a\nb"));
  expect_reply("$5\r\na\r\n\0b\r\n"s, of_text(bulk, "a\r\n\0b"s));
  expect_reply("$0\r\n\r\n", of_text(bulk, ""));
  expect_reply("=8\r\ntxt:some\r\n", of_text(verbatim, "some"));
  expect_reply("=4\r\ntxt:\r\n", of_text(verbatim, ""));
  expect_reply(":-9223372036854775808\r\n", of_integer(INT64_MIN));
  expect_reply(":+7\r\n", of_integer(7));
  expect_reply("#t\r\n", {.type = boolean, .integer = 1});
  expect_reply("#f\r\n", {.type = boolean, .integer = 0});
  expect_reply(",1.5e3\r\n", of_number(1500));
  expect_reply(",-0.25\r\n", of_number(-0.25));
  expect_reply(",+10\r\n", of_number(10));
  expect_reply(",4.9406564584124654e-324\r\n", of_number(4.9406564584124654e-324));
  expect_reply(",inf\r\n", of_number(infinity));
  expect_reply(",-inf\r\n", of_number(-infinity));
  expect_reply(",nan\r\n", of_number(std::nan("")));
  expect_reply("(-3492890328409238509324850943850943825024385\r\n",
               of_text(big_number, "-3492890328409238509324850943850943825024385"));
  for (const char* null : {"_\r\n", "$-1\r\n", "*-1\r\n"}) expect_reply(null, Reply{});
  expect_reply("*0\r\n", of_elements(array, {}));
  expect_reply("*2\r\n:1\r\n*1\r\n+a\r\n",
               of_elements(array, {of_integer(1), of_elements(array, {of_text(simple, "a")})}));
  expect_reply("%1\r\n+a\r\n:1\r\n", of_elements(map, {of_text(simple, "a"), of_integer(1)}));
  expect_reply("~2\r\n:1\r\n:2\r\n", of_elements(set, {of_integer(1), of_integer(2)}));
  expect_reply(">1\r\n+a\r\n", of_elements(push, {of_text(simple, "a")}));
}

TEST(RespReader, AttributesAreSkippedWhereverTheyStand) {
  using enum ReplyType;
  expect_reply("|1\r\n+a\r\n*1\r\n:1\r\n:2\r\n", of_integer(2));
  expect_reply("|0\r\n:2\r\n", of_integer(2));
  expect_reply("|1\r\n+a\r\n|1\r\n+b\r\n:1\r\n:2\r\n:3\r\n", of_integer(3));
  expect_reply("*2\r\n|1\r\n+a\r\n:1\r\n:2\r\n|0\r\n:3\r\n",
               of_elements(array, {of_integer(2), of_integer(3)}));
}

TEST(RespReader, AFieldIsFoundByNameInBothDialects) {
  for (const char* bytes : {"%2\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nb\r\n:1\r\n",
                            "*4\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nb\r\n:1\r\n"}) {
    ReplyReader reader;
    Reply reply;
    ASSERT_EQ(reader.read(bytes, reply).status, ReadStatus::complete);
    ASSERT_NE(reply.field("b"), nullptr);
    EXPECT_EQ(reply.field("b")->integer, 1);
    EXPECT_EQ(reply.field("a")->text, "b");
    EXPECT_EQ(reply.field("c"), nullptr);
  }
  EXPECT_EQ(of_elements(ReplyType::array, {of_text(ReplyType::bulk, "a")}).field("a"), nullptr);
  EXPECT_EQ(of_integer(1).field(""), nullptr);
}

TEST(RespReader, ItStopsBehindOneReply) {
  ReplyReader reader;
  Reply reply;
  std::string_view bytes = "+a\r\n+b\r\n";
  EXPECT_EQ(reader.read(bytes, reply).consumed, 4u);
  EXPECT_EQ(reader.read(bytes.substr(4), reply).consumed, 4u);
  EXPECT_EQ(reply.text, "b");
}

TEST(RespReader, WhatNoServerSendsIsMalformed) {
  using enum ReplyFault;
  for (const char* bytes : {"HTTP/1.1 400 Bad Request\r\n", "\r\n", " ", "PONG\r\n", ".\r\n"}) {
    expect_fault(bytes, type);
  }
  for (const char* bytes : {"+a\n", "+a\rb", "+\n", "+a\r\r\n", ":1\n", "*1\rx"}) {
    expect_fault(bytes, line_end);
  }
  for (const char* bytes : {":\r\n", ":a\r\n", ":1.5\r\n", ":01\r\n", ":-0\r\n", ":+\r\n",
                            ":+-1\r\n", ": 1\r\n", ":9223372036854775808\r\n", ":++1\r\n"}) {
    expect_fault(bytes, ReplyFault::integer);
  }
  for (const char* bytes : {"$-2\r\n", "$?\r\n", "*?\r\n", "%?\r\n", "$\r\n", "$+1\r\n", "$01\r\n",
                            "*-2\r\n", "%-1\r\n", "~-1\r\n", ">-1\r\n", "=-1\r\n", "!-1\r\n",
                            "|-1\r\n", "*00\r\n", "$18446744073709551616\r\n"}) {
    expect_fault(bytes, length);
  }
  for (const char* bytes : {"$1\r\nab\r\n", "$1\r\na\n", "$1\r\na\rb", "=4\r\ntxt:x", "$0\r\nx"}) {
    expect_fault(bytes, bulk_end);
  }
  for (const char* bytes : {"=0\r\n\r\n", "=3\r\ntxt\r\n", "=4\r\ntxtx\r\n"}) {
    expect_fault(bytes, verbatim);
  }
  for (const char* bytes : {"#\r\n", "#x\r\n", "#true\r\n", "#T\r\n"}) expect_fault(bytes, boolean);
  for (const char* bytes : {",\r\n", ",infinity\r\n", ",nan(1)\r\n", ",+inf\r\n", ",1e400\r\n",
                            ",0x1p3\r\n", ",1.5x\r\n", ",--1\r\n", ", 1\r\n", ",e5\r\n"}) {
    expect_fault(bytes, ReplyFault::number);
  }
  for (const char* bytes : {"(\r\n", "(-\r\n", "(1.5\r\n", "(1a\r\n"}) {
    expect_fault(bytes, big_number);
  }
  expect_fault("_a\r\n", null);
  expect_fault("*1\r\n>1\r\n+a\r\n", nested_push);
}

TEST(RespReader, LimitsHoldExactly) {
  using enum ReplyFault;
  const ReplyLimits limits{
      .depth = 2, .elements = 4, .line_bytes = 5, .bulk_bytes = 6, .reply_bytes = 24};
  for (const std::string& at_limit :
       {"+abcde\r\n"s, "$6\r\nabcdef\r\n"s, "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n"s,
        "*1\r\n*1\r\n:1\r\n"s, "*1\r\n*1\r\n*0\r\n"s, "%2\r\n:1\r\n:2\r\n:3\r\n:4\r\n"s,
        "*2\r\n*2\r\n:1\r\n:2\r\n:1\r\n"s, "*3\r\n+abcde\r\n+abcd\r\n+ab\r\n"s}) {
    ReplyReader reader(limits);
    Reply reply;
    EXPECT_EQ(reader.read(at_limit, reply).consumed, at_limit.size()) << at_limit;
  }
  expect_fault("+abcdef", line_too_long, limits);
  expect_fault("$7\r\n", bulk_too_long, limits);
  expect_fault("*5\r\n", too_many_elements, limits);
  expect_fault("%3\r\n", too_many_elements, limits);
  expect_fault("*2\r\n:1\r\n*3\r\n", too_many_elements, limits);
  expect_fault("|1\r\n:1\r\n:2\r\n*3\r\n", too_many_elements, limits);
  expect_fault("*1\r\n*1\r\n*1\r\n", too_deep, limits);
  expect_fault("|1\r\n*1\r\n*1\r\n", too_deep, limits);
  expect_fault("*3\r\n+abcde\r\n+abcd\r\n+abc\r\n", reply_too_long, limits);
  expect_fault("|0\r\n|0\r\n|0\r\n|0\r\n|0\r\n|0\r\n|0\r\n", reply_too_long, limits);
}

TEST(RespReader, HostileLengthsAreRefusedByDefault) {
  using enum ReplyFault;
  expect_fault("*2147483648\r\n", too_many_elements);
  expect_fault("*1000000000\r\n", too_many_elements);
  expect_fault("*4294967297\r\n", too_many_elements);
  expect_fault("%4611686018427387904\r\n", too_many_elements);
  expect_fault("%9223372036854775807\r\n", too_many_elements);
  expect_fault("$9223372036854775807\r\n", bulk_too_long);
  std::string nested;
  for (int i = 0; i != 1'000'000; ++i) nested += "*1\r\n";
  expect_fault(nested, too_deep);
}

TEST(RespReader, LimitsStartAnewWithEachReply) {
  ReplyReader reader({.elements = 4, .reply_bytes = 24});
  const std::string reply_bytes = "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n";
  std::string bytes;
  for (int i = 0; i != 100; ++i) bytes += reply_bytes;
  for (const Pieces& pieces : {Pieces{bytes}, byte_by_byte(bytes)}) {
    EXPECT_EQ(hear_replies(reader, pieces).replies.size(), 100u);
  }
}

TEST(RespReader, AFaultStaysUntilReset) {
  ReplyReader reader;
  Reply reply;
  EXPECT_EQ(reader.read("*2\r\n:1\r\n?", reply).status, ReadStatus::malformed);
  EXPECT_EQ(reader.read("+OK\r\n", reply).fault, ReplyFault::type);
  reader.reset();
  EXPECT_EQ(reader.read("+a\n", reply).status, ReadStatus::malformed);
  EXPECT_EQ(reader.read("\r\n", reply).status, ReadStatus::malformed);
  reader.reset();
  EXPECT_EQ(reader.read("+OK\r\n", reply).status, ReadStatus::complete);
  EXPECT_EQ(reply, of_text(ReplyType::simple, "OK"));
}

}  // namespace
}  // namespace weir::wire
