// What is JSON, and what an error says of what is not.
#include "server/http/json.hpp"

#include <gmock/gmock.h>

#include <string>

namespace weir::test {
namespace {

using server::JsonPlace;
using server::JsonText;
using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(std::string_view text) {
  JsonText json;
  const auto error = json.read(text);
  return error ? error->message : "none";
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int each = 0; each < times; ++each) all += text;
  return all;
}

TEST(Json, OfEveryKindIsRead) {
  for (const char* text : {"null", "true", "0", "-1", "1.5", "1e3", "\"a\"", "[]", "{}",
                           " [1, {\"a\": [\"\\u00e9\\ud83d\\ude00\"]}] \n", "\"\xc3\xa9\""}) {
    EXPECT_EQ(error_of(text), "none") << text;
  }
}

TEST(Json, ThatIsNoneIsRefusedWithTheByte) {
  for (const char* text : {"",
                           " ",
                           "nul",
                           "nan",
                           "NaN",
                           "Infinity",
                           "-Infinity",
                           "+1",
                           "01",
                           ".5",
                           "1.",
                           "0x10",
                           "'a'",
                           "\"a",
                           "\"\n\"",
                           "[1",
                           "[1,]",
                           "{\"a\"}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "[1] 2",
                           "{}{}",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "\"\xff\"",
                           "\"\xc0\xaf\"",
                           "\"\xed\xa0\x80\"",
                           "\xef\xbb\xbf{}",
                           "/* a */ 1",
                           "\"\\x41\"",
                           "1e",
                           "--1",
                           "tru e"}) {
    EXPECT_THAT(error_of(text), StartsWith("byte ")) << text;
  }
  EXPECT_THAT(error_of("[1, 2 3]"), StartsWith("byte 6: expected one JSON value"));
}

TEST(Json, MayBeSixteenDeep) {
  EXPECT_EQ(error_of(repeated("[", 16) + repeated("]", 16)), "none");
  EXPECT_THAT(error_of(repeated("[", 17) + repeated("]", 17)), HasSubstr("at most 16 deep"));
  EXPECT_THAT(error_of(repeated("[", 1'000'000)), StartsWith("byte 16"));
  EXPECT_THAT(error_of(repeated("{\"a\":", 1'000'000)), StartsWith("byte "));
}

TEST(Json, HasEachNameOnce) {
  EXPECT_EQ(error_of("{\"a\":1,\"a\":2}"), "/a: expected each name once");
  EXPECT_EQ(error_of("{\"a\":{\"b\":1},\"c\":[0,{\"b\":1,\"x/~\\n\":1,\"x/~\\n\":1}]}"),
            "/c/1/x~1~0?: expected each name once");
  EXPECT_EQ(error_of("{\"\\u0061\":1,\"a\":2}"), "/a: expected each name once");
  EXPECT_EQ(error_of("{\"a\":{\"a\":1},\"b\":{\"a\":1}}"), "none");
}

TEST(Json, HasNoNumbersThatNoDoubleHolds) {
  EXPECT_EQ(error_of("[1, {\"cost\": 1e400}]"),
            "/1/cost: expected a number that a double can hold");
  EXPECT_EQ(error_of("-1e400"), ": expected a number that a double can hold");
  EXPECT_EQ(error_of("1e-400"), "none");
}

std::string whole_number(std::string_view text) {
  JsonText json;
  EXPECT_FALSE(json.read(text));
  const auto number = JsonPlace(json.value(), "/n").whole_number({0, 1'000'000'000});
  return number ? std::to_string(*number) : number.error().message;
}

TEST(Json, CountsInWholeNumbers) {
  EXPECT_EQ(whole_number("0"), "0");
  EXPECT_EQ(whole_number("1000000000"), "1000000000");
  for (const char* text :
       {"-1", "1000000001", "1.0", "1e3", "-0.0", "9007199254740993", "18446744073709551616",
        "9223372036854775808", "\"1\"", "null", "true", "[1]"}) {
    EXPECT_EQ(whole_number(text), "/n: expected a whole number from 0 to 1000000000") << text;
  }
}

TEST(Json, TellsWhatAnObjectMayHold) {
  JsonText json;
  ASSERT_FALSE(json.read("{\"key\":1,\"cst\":2}"));
  const JsonPlace body(json.value(), "");
  EXPECT_EQ(body.check_members({"key", "cost"})->message, "/cst: expected none but key, cost");
  EXPECT_FALSE(body.check_members({"key", "cst"}));
  EXPECT_EQ(body.member("key")->text().error().message, "/key: expected a string");
  EXPECT_FALSE(body.member("cost"));
  EXPECT_EQ(body.member("key")->check_members({"a"})->message, "/key: expected an object with a");
  EXPECT_EQ(body.member("key")->size_of_array({1, 16}).error().message,
            "/key: expected an array of 1 to 16");
}

}  // namespace
}  // namespace weir::test
