// A recipe under test, in each of the program's stores.
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "test/redis/recipe_store.hpp"

namespace weir::redis {

class RecipeTest : public testing::TestWithParam<RecipeStoreMaker> {
 protected:
  static constexpr Instant noon{std::chrono::seconds{1'750'000'000}};

  RecipeTest() : store_(GetParam().make()) { at(noon); }

  void at(Instant now) {
    now_ = now;
    store_->set_time(now);
  }

  wire::Reply command(const std::vector<std::string>& words) { return store_->command(words); }
  std::string text(const std::vector<std::string>& words) { return command(words).text; }
  std::int64_t number(const std::vector<std::string>& words) { return command(words).integer; }

  RecipeDecision take(Recipe recipe, const RecipeWords& words) {
    const wire::Reply reply = store_->run(recipe, words);
    EXPECT_EQ(reply.text, "");
    std::vector<std::int64_t> integers;
    for (const wire::Reply& element : reply.elements) integers.push_back(element.integer);
    const auto told = read_recipe_reply(integers);
    EXPECT_TRUE(told);
    if (!told) return {};
    EXPECT_EQ(told->decided_at, now_);
    return *told;
  }

  /// What a call that must fail says.
  std::string complaint(Recipe recipe, const RecipeWords& words) {
    const wire::Reply reply = store_->run(recipe, words);
    EXPECT_EQ(reply.type, wire::ReplyType::error);
    return reply.text;
  }

  std::unique_ptr<RecipeStore> store_;
  Instant now_{};
};

inline std::string name_of(const testing::TestParamInfo<RecipeStoreMaker>& tested) {
  return tested.param.name;
}

inline double to_number(const std::string& text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace weir::redis
