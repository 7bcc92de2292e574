#include "redis/grant_token.hpp"

#include <gtest/gtest.h>

namespace weir::redis {
namespace {

TEST(GrantToken, IsReadAsItWasPrinted) {
  GrantToken token{7, {3, Instant{Span{1'795'163'520'000'000}}, Turn::joint, {}}};
  token.grant.marks[0] = {Instant{Span{1'795'163'520'000'001}}, 5};
  const std::string text = print(token, 2);
  EXPECT_EQ(text, "7.3.1795163520000000.1.1795163520000001.5.0.0");
  const auto read = read_grant_token(text, 2);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->number, 7U);
  EXPECT_EQ(read->grant.cost, 3);
  EXPECT_EQ(read->grant.acts_at, token.grant.acts_at);
  EXPECT_EQ(read->grant.turn, Turn::joint);
  EXPECT_EQ(read->grant.marks[0], token.grant.marks[0]);
}

TEST(GrantToken, OfAnotherNumberOfTermsIsNone) {
  const std::string text = print({1, {1, Instant{}, Turn::own, {}}}, 1);
  EXPECT_TRUE(read_grant_token(text, 1));
  EXPECT_FALSE(read_grant_token(text, 0));
  EXPECT_FALSE(read_grant_token(text, 2));
}

TEST(GrantToken, CutAnywhereIsNone) {
  const std::string text = print({12, {34, Instant{Span{56}}, Turn::own, {}}}, 1);
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    EXPECT_FALSE(read_grant_token(text.substr(0, length), 1)) << length;
  }
}

}  // namespace
}  // namespace weir::redis
