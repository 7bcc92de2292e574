#include "weir/http/rate_fields.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>

namespace weir::http {
namespace {

using namespace std::chrono_literals;

/// The fields as lines, in their order.
std::string written(RateDialect dialect, const RateStanding& standing) {
  std::string lines;
  RateFields::write(dialect, standing, [&](const Field& field) {
    lines += std::string(field.name) + ": " + field.value + "\n";
  });
  return lines;
}

const RatePolicy burst{"burst", 100, 60s, 50, 29'000'001us};
const RatePolicy daily{"daily", 1'000, 24h, 700, 9h};
const RatePolicy both[] = {burst, daily};

std::string ietf_of(const RatePolicy& policy) {
  return written(RateDialect::ietf, {.policies = {&policy, 1}});
}

TEST(RateFields, TheDraftsFieldsListEveryPolicyInItsOrder) {
  EXPECT_EQ(written(RateDialect::ietf, {.policies = both}),
            "RateLimit-Policy: \"burst\";q=100;w=60, \"daily\";q=1000;w=86400\n"
            "RateLimit: \"burst\";r=50;t=30, \"daily\";r=700;t=32400\n");
}

TEST(RateFields, Draft03TellsTheBindingPolicyAndThenAll) {
  const RatePolicy policies[] = {{"per-ip", 10, 1s, 4, 500ms}, {"all", 1'000, 1h, 3, 20min}};
  EXPECT_EQ(written(RateDialect::draft03, {.policies = policies, .binding = 1}),
            "X-RateLimit-Limit: 1000, 10;w=1;name=\"per-ip\", 1000;w=3600;name=\"all\"\n"
            "X-RateLimit-Remaining: 3\n"
            "X-RateLimit-Reset: 1200\n");
}

TEST(RateFields, LegacyIsThreeNumbersOfTheBindingPolicy) {
  EXPECT_EQ(written(RateDialect::legacy, {.policies = both, .binding = 1}),
            "X-RateLimit-Limit: 1000\n"
            "X-RateLimit-Remaining: 700\n"
            "X-RateLimit-Reset: 32400\n");
}

TEST(RateFields, Draft06IsThreeNumbersWithoutTheX) {
  EXPECT_EQ(written(RateDialect::draft06, {.policies = both, .binding = 1, .retry_after = 2s}),
            "RateLimit-Limit: 1000\n"
            "RateLimit-Remaining: 700\n"
            "RateLimit-Reset: 2\n"
            "Retry-After: 2\n");
}

TEST(RateFields, NoneStillTellsWhenToRetry) {
  EXPECT_EQ(written(RateDialect::none, {.policies = both}), "");
  EXPECT_EQ(written(RateDialect::none, {.policies = both, .retry_after = 2s}), "Retry-After: 2\n");
}

TEST(RateFields, WithoutPoliciesThereIsNothingToTell) {
  for (const auto dialect :
       {RateDialect::ietf, RateDialect::draft03, RateDialect::draft06, RateDialect::legacy}) {
    EXPECT_EQ(written(dialect, {}), "");
    EXPECT_EQ(written(dialect, {.retry_after = 1s}), "Retry-After: 1\n");
  }
}

TEST(RateFields, RetryAfterIsRoundedUpAndNeverZero) {
  const std::map<Span, std::string> told{
      {-1s, "1"},         {0us, "1"},         {1us, "1"}, {1s, "1"},
      {1'000'001us, "2"}, {1'999'999us, "2"}, {2s, "2"},  {longest_span, "1125899907"}};
  for (const auto& [after, text] : told) {
    EXPECT_EQ(written(RateDialect::none, {.retry_after = after}), "Retry-After: " + text + "\n");
  }
}

// A bucket that refuses grants again long before it is full.
TEST(RateFields, ThePolicyThatRefusesResetsNoLaterThanRetryAfter) {
  const RatePolicy policies[] = {{"burst", 100, 60s, 0, 60s}, {"daily", 1'000, 24h, 700, 9h}};
  const RateStanding refused{.policies = policies, .retry_after = 600ms};
  EXPECT_EQ(written(RateDialect::ietf, refused),
            "RateLimit-Policy: \"burst\";q=100;w=60, \"daily\";q=1000;w=86400\n"
            "RateLimit: \"burst\";r=0;t=1, \"daily\";r=700;t=32400\n"
            "Retry-After: 1\n");
  EXPECT_EQ(written(RateDialect::legacy, refused),
            "X-RateLimit-Limit: 100\n"
            "X-RateLimit-Remaining: 0\n"
            "X-RateLimit-Reset: 1\n"
            "Retry-After: 1\n");
}

TEST(RateFields, APenaltyMayLastLongerThanTheReset) {
  const RatePolicy blocked{"login", 5, 60s, 0, 10s};
  EXPECT_EQ(written(RateDialect::legacy, {.policies = {&blocked, 1}, .retry_after = 15min}),
            "X-RateLimit-Limit: 5\n"
            "X-RateLimit-Remaining: 0\n"
            "X-RateLimit-Reset: 10\n"
            "Retry-After: 900\n");
}

TEST(RateFields, WhatIsNotKnownIsLeftOut) {
  EXPECT_EQ(ietf_of({.name = "in-flight", .quota = 8, .remaining = 3}),
            "RateLimit-Policy: \"in-flight\";q=8\n"
            "RateLimit: \"in-flight\";r=3\n");
  const RatePolicy policy{.name = "in-flight", .quota = 8, .remaining = 3};
  EXPECT_EQ(written(RateDialect::legacy, {.policies = {&policy, 1}}),
            "X-RateLimit-Limit: 8\n"
            "X-RateLimit-Remaining: 3\n");
}

TEST(RateFields, AWindowThatIsNotWholeSecondsIsLeftOut) {
  for (const Span window : {Span{0}, Span{1}, Span{100ms}, Span{1'500ms}, Span{-1s}}) {
    const std::string text = ietf_of({.name = "x", .quota = 8, .window = window, .remaining = 3});
    EXPECT_TRUE(text.starts_with("RateLimit-Policy: \"x\";q=8\n")) << window.count() << text;
  }
}

TEST(RateFields, NumbersFitAStructuredField) {
  constexpr Cost most = std::numeric_limits<Cost>::max();
  EXPECT_EQ(ietf_of({"x", most, Span::max() - Span::max() % 1s, -7, Span::max()}),
            "RateLimit-Policy: \"x\";q=999999999999999;w=9223372036854\n"
            "RateLimit: \"x\";r=0;t=9223372036855\n");
}

TEST(RateFields, ANameIsQuotedAndWhatIsNotPrintableEncoded) {
  const RatePolicy policy{.name = "a\"b\\c 50% \r\nX: é\x7f", .quota = 1};
  EXPECT_EQ(ietf_of(policy),
            "RateLimit-Policy: \"a\\\"b\\\\c 50%25 %0D%0AX: %C3%A9%7F\";q=1\n"
            "RateLimit: \"a\\\"b\\\\c 50%25 %0D%0AX: %C3%A9%7F\";r=0\n");
}

TEST(RateFields, ABindingPolicyThatIsNotThereTellsNothing) {
  EXPECT_EQ(written(RateDialect::legacy, {.policies = both, .binding = 2}), "");
}

}  // namespace
}  // namespace weir::http
