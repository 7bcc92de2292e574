#include "gateway/suggestion.hpp"

#include <gtest/gtest.h>

namespace weir::gateway {
namespace {

constexpr std::string_view words[] = {"burst", "key", "limit", "limits", "status"};

TEST(Suggestion, IsTheNearestWord) {
  EXPECT_EQ(suggestion("brust", words), "; did you mean 'burst'?");
  EXPECT_EQ(suggestion("limitss", words), "; did you mean 'limits'?");
  EXPECT_EQ(suggestion("imit", words), "; did you mean 'limit'?");
  EXPECT_EQ(suggestion("ke", words), "; did you mean 'key'?");
}

TEST(Suggestion, OfTwoAlikeTheFirstIsMeant) {
  EXPECT_EQ(suggestion("limit1", words), "; did you mean 'limit'?");
}

TEST(Suggestion, WhatIsFarFromAllMeansNothing) {
  EXPECT_EQ(suggestion("algorithm", words), "");
  EXPECT_EQ(suggestion("k", words), "");
  EXPECT_EQ(suggestion("", words), "");
  EXPECT_EQ(suggestion("burst", {}), "");
  EXPECT_EQ(suggestion(std::string(1'000'000, 'b'), words), "");
}

}  // namespace
}  // namespace weir::gateway
