#include <gtest/gtest.h>

#include "redis/recipes.hpp"
#include "test/redis/redis_store.hpp"

namespace weir::redis {
namespace {

TEST(Recipes, AreCalledByTheDigestsThatTheServerGivesThem) {
  RedisStore store(Loaded::scripts);
  for (const Recipe recipe : recipes) {
    const wire::Reply reply = store.run({"SCRIPT", "LOAD", std::string(text_of(recipe).script)});
    EXPECT_EQ(reply.text, text_of(recipe).digest) << name(recipe);
  }
}

}  // namespace
}  // namespace weir::redis
