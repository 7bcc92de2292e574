#include "server/replies.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace weir::server {
namespace {

TEST(Replies, AreReadyAtOnceWhereNoneIsAwaited) {
  Replies replies;
  replies.tail() += "one";
  replies.tail() += "two";
  EXPECT_EQ(replies.ready(), "onetwo");
  EXPECT_EQ(replies.bytes(), 6U);
  EXPECT_EQ(replies.held_up(), 0U);
}

TEST(Replies, WaitForThoseBeforeThem) {
  Replies replies;
  replies.tail() += "a";
  const auto first = replies.reserve();
  replies.tail() += "c";
  const auto second = replies.reserve();
  EXPECT_EQ(replies.bytes(), 2U);
  EXPECT_FALSE(replies.fill(second, "d"));
  replies.tail() += "e";
  EXPECT_EQ(replies.ready(), "a");
  EXPECT_EQ(replies.bytes(), 4U);
  EXPECT_EQ(replies.held_up(), 2U);
  EXPECT_TRUE(replies.fill(first, "b"));
  EXPECT_EQ(replies.ready(), "abcde");
  EXPECT_EQ(replies.held_up(), 0U);
}

TEST(Replies, OfAnyScheduleComeOutInOrderAndAreCountedToTheByte) {
  std::mt19937 random(42);
  for (int round = 0; round < 200; ++round) {
    Replies replies;
    std::string expected;
    std::string taken;
    std::size_t written = 0;
    std::vector<std::pair<std::uint64_t, std::string>> awaited;
    for (int step = 0; step < 60; ++step) {
      const std::string text(random() % 5, static_cast<char>('a' + step % 26));
      switch (random() % 4) {
        case 0:
          replies.tail() += text;
          expected += text;
          written += text.size();
          break;
        case 1:
          awaited.emplace_back(replies.reserve(), text);
          expected += text;
          break;
        case 2:
          taken += replies.ready();
          written -= replies.ready().size();
          replies.ready().clear();
          break;
        default:
          if (awaited.empty()) break;
          const auto at = awaited.begin() + static_cast<std::ptrdiff_t>(random() % awaited.size());
          written += at->second.size();
          replies.fill(at->first, std::move(at->second));
          awaited.erase(at);
      }
      ASSERT_EQ(replies.bytes(), written) << "round " << round;
    }
    for (auto& [place, text] : awaited) replies.fill(place, std::move(text));
    EXPECT_EQ(taken + replies.ready(), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace weir::server
