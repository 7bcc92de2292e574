#include "wire/resp_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "test/wire/resp_transcript.hpp"

namespace weir::wire {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<std::string> words(std::string_view bytes) {
  RequestParser parser;
  Arguments arguments;
  const ParsedRequest parsed = parser.parse(bytes, arguments);
  EXPECT_EQ(parsed.status, RequestStatus::complete) << parser.explain(parsed) << ": " << bytes;
  EXPECT_EQ(parsed.consumed, bytes.size()) << bytes;
  return {arguments.begin(), arguments.end()};
}

/// The fault's text; empty where there is none.
std::string complaint(std::string_view bytes, RequestLimits limits = {}) {
  RequestParser parser(limits);
  Arguments arguments = {"left over"};
  const ParsedRequest parsed = parser.parse(bytes, arguments);
  EXPECT_THAT(arguments, IsEmpty());
  EXPECT_EQ(parsed.consumed, 0u);
  return parsed.status == RequestStatus::malformed ? parser.explain(parsed) : "";
}

std::size_t needed(std::string_view bytes) {
  RequestParser parser;
  Arguments arguments = {"left over"};
  const ParsedRequest parsed = parser.parse(bytes, arguments);
  EXPECT_EQ(parsed.status, RequestStatus::incomplete) << parser.explain(parsed) << ": " << bytes;
  EXPECT_THAT(arguments, IsEmpty());
  return parsed.needed;
}

TEST(RespRequest, AFrameIsReadIntoViewsOfTheBytesThemselves) {
  const std::string bytes = "*3\r\n$4\r\nECHO\r\n$0\r\n\r\n$3\r\na\r\n\r\nrest";
  RequestParser parser;
  Arguments arguments;
  const ParsedRequest parsed = parser.parse(bytes, arguments);
  ASSERT_EQ(parsed.status, RequestStatus::complete);
  EXPECT_EQ(parsed.consumed, bytes.size() - 4);
  EXPECT_THAT(arguments, ElementsAre("ECHO", "", "a\r\n"));
  EXPECT_EQ(arguments[0].data(), bytes.data() + 8);
}

/// A buffer holds what an earlier read left there, and that may look like the rest.
TEST(RespRequest, BytesBehindTheEndAreNotRead) {
  const std::string bytes = "*2\r\n$4\r\nECHO\r\n$12\r\nabcdefghijkl\r\n";
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_GT(needed(std::string_view(bytes).substr(0, size)), size);
  }
}

TEST(RespRequest, AnEmptyCommandIsCompleteAndHasNoArguments) {
  for (const char* bytes : {"\r\n", "\n", " \t\v\f\r\n", "*0\r\n", "*-1\r\n", "*-2\r\n"}) {
    EXPECT_THAT(words(bytes), IsEmpty()) << bytes;
  }
}

TEST(RespRequest, ALineIsSplitAtBlanks) {
  EXPECT_THAT(words("PING\r\n"), ElementsAre("PING"));
  EXPECT_THAT(words("PING\n"), ElementsAre("PING"));
  EXPECT_THAT(words("  CL.THROTTLE\tkey 15  30 60 \r\n"),
              ElementsAre("CL.THROTTLE", "key", "15", "30", "60"));
  EXPECT_THAT(words("$3\r\n"), ElementsAre("$3"));
  EXPECT_THAT(words("a\rb\n"), ElementsAre("a", "b"));
  EXPECT_THAT(words("a\vb \f c\n"), ElementsAre("a\vb", "c"));
}

TEST(RespRequest, QuotesAndEscapesAreRedisClis) {
  EXPECT_THAT(words("a \"b c\" 'd e'\r\n"), ElementsAre("a", "b c", "d e"));
  EXPECT_THAT(words("a \"\" ''\n"), ElementsAre("a", "", ""));
  EXPECT_THAT(words(R"("\n\r\t\b\a\\\"\q")"
                    "\n"),
              ElementsAre("\n\r\t\b\a\\\"q"));
  EXPECT_THAT(words(R"("\x41\xfF\x00")"
                    "\n"),
              ElementsAre("A\xff\0"s));
  EXPECT_THAT(words(R"("\x4" "\xg0" "\x")"
                    "\n"),
              ElementsAre("x4", "xg0", "x"));
  EXPECT_THAT(words(R"('it\'s' 'a\n')"
                    "\n"),
              ElementsAre("it's", R"(a\n)"));
  EXPECT_THAT(words("foo\"bar baz\"\n"), ElementsAre("foobar baz"));
  EXPECT_THAT(words(R"(a\x41 b)"
                    "\n"),
              ElementsAre(R"(a\x41)", "b"));
  EXPECT_THAT(words("\"a\"\vb\n"), ElementsAre("a", "b"));
}

TEST(RespRequest, ManyQuotedWordsOfALineDoNotDisturbEachOther) {
  std::string line;
  std::vector<std::string> expected;
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    expected.emplace_back(100, letter);
    line += '"' + expected.back() + "\" ";
  }
  EXPECT_EQ(words(line + "\r\n"), expected);
}

TEST(RespRequest, UnbalancedQuotesAreMalformed) {
  for (const char* bytes : {"\"\n", "'\r\n", "a \"b\r\n", "'a'b\n", "\"a\"\"b\"\n", "\"a\\\"\n",
                            "\"a\\\n", "'a\\'\n", "a 'b\" c\n"}) {
    EXPECT_EQ(complaint(bytes), "unbalanced quotes in request") << bytes;
  }
}

TEST(RespRequest, ACountThatIsNoIntegerIsMalformed) {
  for (const char* bytes : {"*\r\n", "*00", "*01", "*+1", "*-0", "*-\r", "* 1", "*1 ", "*1.",
                            "*1\n", "*a", "*--1", "*?\r\n", "**", "*-1x"}) {
    EXPECT_THAT(complaint(bytes), StartsWith("invalid multibulk length: expected an integer"))
        << bytes;
  }
}

TEST(RespRequest, ALengthThatIsNoIntegerIsMalformed) {
  for (const char* bytes :
       {"$\r", "$-1", "$-2", "$00", "$03", "$+3", "$ 3", "$3 ", "$3\n", "$?", "$a", "$$", "$0x3"}) {
    EXPECT_THAT(complaint("*1\r\n"s + bytes),
                StartsWith("invalid bulk length: expected an integer"))
        << bytes;
  }
}

TEST(RespRequest, AnArgumentThatIsNoBulkStringIsMalformed) {
  EXPECT_EQ(complaint("*1\r\n:"), "expected '$', got ':'");
  EXPECT_EQ(complaint("*1\r\n*1\r\n"), "expected '$', got '*'");
  EXPECT_EQ(complaint("*1\r\n|1\r\n"), "expected '$', got '|'");
  EXPECT_EQ(complaint("*2\r\n$1\r\na\r\n\r\n"), R"(expected '$', got '\x0d')");
  EXPECT_EQ(complaint("*1\r\n\xff"), R"(expected '$', got '\xff')");
  EXPECT_EQ(complaint("*1\r\n\0"s), R"(expected '$', got '\x00')");
}

TEST(RespRequest, EveryLineOfAFrameEndsInCrLf) {
  EXPECT_EQ(complaint("*1\rX"), "expected LF after CR, got 'X'");
  EXPECT_EQ(complaint("*1\r\n$4\r\r"), R"(expected LF after CR, got '\x0d')");
  EXPECT_EQ(complaint("*-1\r*"), "expected LF after CR, got '*'");
  EXPECT_EQ(complaint("*1\r\n$4\rXPING\r\n"), "expected LF after CR, got 'X'");
  EXPECT_EQ(complaint("*1\r\n$12\rXabcdefghijkl\r\n"), "expected LF after CR, got 'X'");
  const std::string start = "expected CR LF after the bytes of an argument, got ";
  EXPECT_EQ(complaint("*1\r\n$4\r\nPINGX\n"), start + "'X'");
  EXPECT_EQ(complaint("*1\r\n$4\r\nPING\rX"), start + "'X'");
  EXPECT_EQ(complaint("*1\r\n$4\r\nPING\n\n"), start + R"('\x0a')");
  EXPECT_EQ(complaint("*2\r\n$3\r\nabcd\r\n"), start + "'d'");
}

TEST(RespRequest, NulInALineIsMalformedAtOnce) {
  EXPECT_THAT(complaint("\x16\x03\x01\0"s), HasSubstr(R"(got '\x00')"));
  EXPECT_THAT(complaint("PING\0\r\n"s), HasSubstr(R"(got '\x00')"));
  EXPECT_EQ(words("*1\r\n$3\r\na\0b\r\n"s), std::vector{"a\0b"s});
}

TEST(RespRequest, LimitsHoldExactly) {
  const RequestLimits limits{
      .inline_bytes = 10, .arguments = 3, .argument_bytes = 12, .frame_bytes = 28};
  RequestParser parser(limits);
  Arguments arguments;
  for (const std::string& at_limit :
       {"ECHO abcde\r\n"s, "ECHO abcde\n"s, "a b c\n"s, "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n"s,
        "*1\r\n$12\r\nabcdefghijkl\r\n"s, "*2\r\n$4\r\nECHO\r\n$8\r\nabcdefgh\r\n"s}) {
    EXPECT_EQ(parser.parse(at_limit, arguments).consumed, at_limit.size()) << at_limit;
  }
  const std::string too_long = "too big inline request: expected at most 10 bytes";
  EXPECT_EQ(complaint("ECHO abcdef\n", limits), too_long);
  EXPECT_EQ(complaint("ECHO abcdef\r\n", limits), too_long);
  EXPECT_EQ(complaint("ECHO abcdefg", limits), too_long) << "with no end of line in sight";
  EXPECT_EQ(complaint("ECHO abcde\r", limits), "") << "the end may be coming";
  const std::string too_many = "invalid multibulk length: expected at most 3 arguments";
  EXPECT_EQ(complaint("a b c d\n", limits), too_many);
  EXPECT_EQ(complaint("*4", limits), too_many);
  EXPECT_EQ(complaint("*18446744073709551617\r\n", limits), too_many);
  for (const std::string& length : {"$13"s, "$13\r\n"s, "$13\r\nabcdefghijklm\r\n"s, "$99\r\n"s}) {
    EXPECT_EQ(complaint("*1\r\n" + length, limits),
              "invalid bulk length: expected at most 12 bytes");
  }
  EXPECT_EQ(complaint("*2\r\n$4\r\nECHO\r\n$9\r\n", limits),
            "too big mbulk request: expected at most 28 bytes");
}

TEST(RespRequest, DefaultLimitsAreFarBelowRedisOwn) {
  EXPECT_THAT(complaint("*65"), HasSubstr("at most 64 arguments"));
  EXPECT_THAT(complaint("*1000000000"), HasSubstr("at most 64 arguments"));
  EXPECT_THAT(complaint("*1\r\n$65537"), HasSubstr("at most 65536 bytes"));
  EXPECT_THAT(complaint("*1\r\n$9223372036854775807"), HasSubstr("at most 65536 bytes"));
  EXPECT_THAT(complaint(std::string(65536, 'x')), HasSubstr("at most 4096 bytes"));
}

TEST(RespRequest, LimitsAtTheirGreatestDoNotOverflow) {
  const std::size_t most = SIZE_MAX;
  const RequestLimits limits{
      .inline_bytes = most, .arguments = most, .argument_bytes = most, .frame_bytes = most};
  EXPECT_EQ(RequestParser(limits).limits().frame_bytes, 2147483647u);
  EXPECT_THAT(complaint("*18446744073709551616", limits), HasSubstr("at most 2147483647"));
  EXPECT_THAT(complaint("*1\r\n$18446744073709551615", limits), HasSubstr("at most 2147483647"));
  EXPECT_THAT(complaint("*1\r\n$2147483647\r\n", limits), StartsWith("too big mbulk request"));
  EXPECT_EQ(complaint("PING", limits), "");
}

TEST(RespRequest, NeededIsTheLeastThatCanChangeTheAnswer) {
  EXPECT_EQ(needed(""), 1u);
  EXPECT_EQ(needed("*"), 2u);
  EXPECT_EQ(needed("*1\r"), 4u);
  EXPECT_EQ(needed("*1\r\n"), 5u);
  EXPECT_EQ(needed("*1\r\n$4\r\n"), 14u);
  EXPECT_EQ(needed("*1\r\n$4\r\nPING\r"), 14u);
  EXPECT_EQ(needed("*1\r\n$65536\r\nx"), 4u + 8u + 65536u + 2u);
  EXPECT_EQ(needed("PING"), 5u);
  EXPECT_EQ(needed("PING\r"), 6u);
}

TEST(RespRequest, AComplaintIsOneLineOfPrintableText) {
  RequestParser parser;
  Arguments arguments;
  for (int byte = 0; byte != 256; ++byte) {
    for (const std::string& start : {"*"s, "*1\r"s, "*1\r\n"s, "*1\r\n$"s, "*1\r\n$1\r\nab"s}) {
      const std::string bytes = start + static_cast<char>(byte);
      const ParsedRequest parsed = parser.parse(bytes, arguments);
      for (const char shown : parser.explain(parsed)) {
        EXPECT_TRUE(shown >= ' ' && shown <= '~') << "byte " << byte << " after " << start;
      }
    }
  }
}

TEST(RespRequest, NestedCountsAreRefusedAtTheFirst) {
  std::string bytes;
  for (int i = 0; i != 1'000'000; ++i) bytes += "*1\r\n";
  EXPECT_EQ(complaint(bytes), "expected '$', got '*'");
}

TEST(RespRequest, AHundredThousandCommandsInOnePieceAreAllHeard) {
  std::string bytes;
  for (int i = 0; i != 100'000; ++i) write_request(bytes, {"PING"});
  RequestParser parser;
  EXPECT_EQ(hear_requests(parser, {bytes}).commands.size(), 100'000u);
}

}  // namespace
}  // namespace weir::wire
