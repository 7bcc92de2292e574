// Declarations that cannot be: each is refused when it is made, by name.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "test/http/manual_limits.hpp"

namespace weir::http {
namespace {

using namespace std::chrono_literals;

std::string complaint(AccessLimit declared) {
  const auto made = AccessLimits::declare({std::move(declared)});
  return made ? "" : made.error().message;
}

AccessLimit replying(AccessLimit declared) {
  declared.method = "POST";
  declared.path = "/reply";
  return declared;
}

TEST(AccessLimitDeclaration, NeedsALimitInOneOfTwoForms) {
  const std::string wanted =
      "access limit of POST /reply: expected max_count and within, or a limit, and not both";
  EXPECT_EQ(complaint(replying({})), wanted);
  EXPECT_EQ(complaint(replying({.max_count = 1, .within = 1s, .limit = "1/1s"})), wanted);
  EXPECT_EQ(complaint(replying({.max_count = 1, .within = 1s})), "");
  EXPECT_EQ(complaint(replying({.limit = "1/1s"})), "");
}

TEST(AccessLimitDeclaration, CountsFromOneAndWithinFromOneSecond) {
  EXPECT_EQ(complaint(replying({.max_count = 5})),
            "access limit of POST /reply: within 0 s: expected one second or more");
  EXPECT_EQ(complaint(replying({.max_count = -1, .within = 1s})),
            "access limit of POST /reply: max_count -1: expected one or more");
  EXPECT_EQ(complaint(replying({.within = 1s})),
            "access limit of POST /reply: max_count 0: expected one or more");
  EXPECT_NE(complaint(replying({.max_count = 1, .within = std::chrono::seconds::max()})), "");
  EXPECT_NE(complaint(replying({.max_count = INT64_MAX, .within = 1s})), "");
}

TEST(AccessLimitDeclaration, ALimitsTextIsReadWhenItIsDeclared) {
  const std::string wrong = complaint(replying({.limit = "5 a minute"}));
  EXPECT_TRUE(wrong.starts_with("access limit of POST /reply: limit, column ")) << wrong;
  EXPECT_NE(complaint(replying({.limit = "5/1m initial 2"})).find("'initial'"), std::string::npos);
  EXPECT_NE(complaint(replying({.limit = "concurrency 5/1m"})).find("'concurrency'"),
            std::string::npos);
}

TEST(AccessLimitDeclaration, NamesAMethodInCapitalsAndAPath) {
  EXPECT_EQ(
      complaint({.method = "post", .path = "/reply", .limit = "1/1s"}),
      "access limit of post /reply: method: expected one in capitals, as GET, or none for any");
  EXPECT_EQ(complaint({.limit = "1/1s"}),
            "access limit of any : path: expected the handler's route, as the router names it");
  EXPECT_NE(complaint({.path = std::string(513, '/'), .limit = "1/1s"}), "");
}

TEST(AccessLimitDeclaration, AnAnswerIsAResponseAndNothingBesides) {
  EXPECT_EQ(complaint(replying({.limit = "1/1s", .answer = {99, "text/plain", "no"}})),
            "access limit of POST /reply: answer: status 99; expected 200 to 599");
  EXPECT_NE(complaint(replying({.limit = "1/1s", .answer = {429, "", "no"}})), "");
  EXPECT_EQ(complaint(replying({.limit = "1/1s", .answer = {429}})), "");
  EXPECT_NE(complaint(replying({.limit = "1/1s", .answer = {429, "a\r\nSet-Cookie: b", "no"}})),
            "");
  EXPECT_NE(complaint(replying({.limit = "1/1s", .login_answer = {401, "", "", {{"A", "b\nc"}}}})),
            "");
}

TEST(AccessLimitDeclaration, AHandlerIsDeclaredOnce) {
  const auto made = AccessLimits::declare({{.path = "/reply", .limit = "1/1s"},
                                           {.method = "GET", .path = "/reply", .limit = "1/1s"},
                                           {.path = "/reply", .limit = "2/1s"}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().index, 2U);
  EXPECT_TRUE(made.error().message.starts_with("access limit of any /reply: declared twice"))
      << made.error().message;
}

TEST(AccessLimitDeclaration, WhatAKeeperCannotKeepIsToldAsAnError) {
  const auto made = AccessLimits::declare(
      {{.path = "/reply", .limit = "1/1s"}},
      [](std::string_view) -> Take { throw std::invalid_argument("no store keeps that"); });
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "access limit of any /reply: no store keeps that");
}

TEST(AccessLimitDeclaration, OfAProgramsOwnItThrowsTheWords) {
  try {
    static_cast<void>(AccessLimits::of({{.path = "/reply"}}));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("access limit of any /reply: expected "));
  }
}

}  // namespace
}  // namespace weir::http
