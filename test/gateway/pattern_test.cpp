#include "gateway/pattern.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace weir::gateway {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  const auto read = Pattern::parse(pattern);
  EXPECT_TRUE(read) << pattern;
  return read && read->matches(text);
}

/// As slow as can be: every way to share the text out among the stars. Escapes are not known here.
bool naive(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    return naive(pattern.substr(1), text) || (!text.empty() && naive(pattern, text.substr(1)));
  }
  return !text.empty() && pattern.front() == text.front() &&
         naive(pattern.substr(1), text.substr(1));
}

TEST(Pattern, WithoutAStarIsOneText) {
  EXPECT_TRUE(matches("abc", "abc"));
  for (const char* text : {"", "ab", "abcd", "xabc", "ABC"}) EXPECT_FALSE(matches("abc", text));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
}

TEST(Pattern, WithAStarAtItsEndIsABeginning) {
  for (const char* text : {"/api/", "/api/users"}) EXPECT_TRUE(matches("/api/*", text));
  for (const char* text : {"/api", "/ap/i/", "x/api/"}) EXPECT_FALSE(matches("/api/*", text));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*", std::string_view("\0\n*", 3)));
}

TEST(Pattern, AStarAnywhereStandsForAnything) {
  EXPECT_TRUE(matches("/users/*/posts", "/users/7/posts"));
  EXPECT_TRUE(matches("/users/*/posts", "/users/7/8/posts"));
  EXPECT_TRUE(matches("/users/*/posts", "/users//posts"));
  EXPECT_FALSE(matches("/users/*/posts", "/users/posts"));
  EXPECT_TRUE(matches("*.example.com", "a.example.com"));
  EXPECT_TRUE(matches("*a**b*", "xxaxxbxx"));
  EXPECT_FALSE(matches("*a*b*", "ba"));
  EXPECT_FALSE(matches("ab*ba", "aba"));
  EXPECT_TRUE(matches("ab*ba", "abba"));
}

TEST(Pattern, AStarOfItsOwnStandsBehindABackslash) {
  EXPECT_TRUE(matches(R"(a\*b)", "a*b"));
  EXPECT_FALSE(matches(R"(a\*b)", "axb"));
  EXPECT_TRUE(matches(R"(a\\*)", R"(a\b)"));
  EXPECT_FALSE(matches(R"(a\\*)", "a*"));
}

TEST(Pattern, AnyOtherBackslashIsRefusedWithItsColumn) {
  struct Row {
    const char* text;
    std::size_t column;
  };
  for (const Row row : {Row{R"(\d+)", 2}, Row{R"(ab\)", 4}, Row{R"(\*\\\n)", 6}}) {
    const auto read = Pattern::parse(row.text);
    ASSERT_FALSE(read) << row.text;
    EXPECT_EQ(read.error().column, row.column) << row.text;
    EXPECT_EQ(read.error().message, "expected '*' or '\\' behind a backslash");
  }
}

TEST(Pattern, HasABound) {
  EXPECT_TRUE(Pattern::parse(std::string(Pattern::longest, 'a')));
  const auto read = Pattern::parse(std::string(Pattern::longest + 1, 'a'));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().column, Pattern::longest + 1);
  EXPECT_EQ(read.error().message, "expected 1024 bytes at most");
}

TEST(Pattern, KnowsItsKind) {
  const auto kind = [](std::string_view text) { return Pattern::parse(text)->kind(); };
  EXPECT_EQ(kind("abc"), Pattern::Kind::exact);
  EXPECT_EQ(kind(R"(abc\*)"), Pattern::Kind::exact);
  EXPECT_EQ(kind("abc*"), Pattern::Kind::prefix);
  EXPECT_EQ(kind("abc**"), Pattern::Kind::prefix);
  EXPECT_EQ(kind("*"), Pattern::Kind::prefix);
  EXPECT_EQ(kind("*abc"), Pattern::Kind::wildcard);
  EXPECT_EQ(kind("a*c*"), Pattern::Kind::wildcard);
}

// What takes seconds by going back: a hundred stars, and a text that nearly matches.
TEST(Pattern, ATextThatNearlyMatchesIsReadOnce) {
  std::string stars = "*";
  for (int i = 0; i < 100; ++i) stars += "aaaab*";
  const std::string text(100'000, 'a');
  EXPECT_FALSE(matches(stars, text));
  const std::string most = "*" + std::string(Pattern::longest - 3, 'a') + "b*";
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(matches(most, text));
}

/// Every word of a and b with so many letters.
std::vector<std::string> words(std::size_t letters) {
  std::vector<std::string> all;
  for (std::size_t bits = 0; bits < std::size_t{1} << letters; ++bits) {
    std::string word;
    for (std::size_t i = 0; i < letters; ++i) word += (bits >> i & 1) != 0 ? 'b' : 'a';
    all.push_back(word);
  }
  return all;
}

TEST(Pattern, WhatStandsBetweenStarsIsFoundWhereverItStands) {
  const std::vector<std::string> texts = words(11);
  for (const std::string& word : words(7)) {
    const auto pattern = Pattern::parse("*" + word + "*");
    for (const std::string& text : texts) {
      ASSERT_EQ(pattern->matches(text), text.find(word) != text.npos) << word << " in " << text;
    }
  }
}

RC_GTEST_PROP(PatternProperty, MatchesWhatEveryWayToShareTheTextOutMatches, ()) {
  const auto letters = rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab*")));
  const std::string pattern = (*letters).substr(0, 8);
  std::string text;
  for (const char c : pattern) {  // near to it, or else nearly nothing would match
    if (c != '*') text += c;
    if (*rc::gen::inRange(0, 3) == 0) text += *rc::gen::elementOf(std::string("ab"));
  }
  RC_ASSERT(Pattern::parse(pattern)->matches(text) == naive(pattern, text));
}

}  // namespace
}  // namespace weir::gateway
