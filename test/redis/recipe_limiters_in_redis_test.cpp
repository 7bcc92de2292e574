// The recipes' public face beside a service that writes to the same Redis.
#include <gtest/gtest.h>

#include <stdexcept>

#include "test/redis/asking.hpp"
#include "test/wire/redis_server.hpp"
#include "weir/redis/client.hpp"
#include "weir/redis/recipes.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using test::ask;

class RecipesBesideAService : public testing::Test {
 protected:
  RecipesBesideAService() {
    auto client =
        Client::connect("redis://127.0.0.1:" + std::to_string(server_.port()), Client::Settings{});
    if (!client) throw std::runtime_error(client.error().message);
    store_ = std::move(client).value();
    test::ask_until_answered(*store_, {"PING"});
  }

  wire::RedisServer server_;
  std::unique_ptr<Client> store_;
  RecipePolicy policy_{.deadline = 30s, .without_store = WithoutStore::closed};
};

TEST_F(RecipesBesideAService, CountInOneCounter) {
  const IncrWindow window(*store_, {.limit = 3, .period = 1min, .policy = policy_});
  EXPECT_EQ(window.try_acquire("c").remaining, 2);
  EXPECT_EQ(ask(*store_, {"INCR", "c"}).integers.at(0), 2);
  EXPECT_EQ(window.try_acquire("c").remaining, 0);
  ask(*store_, {"SCRIPT", "FLUSH"});
  const Outcome refused = window.try_acquire("c");
  EXPECT_EQ(refused.verdict, Verdict::denied);
  EXPECT_EQ(refused.source, Source::store);
  EXPECT_GT(refused.wait(std::chrono::steady_clock::now()), 50s);
}

TEST_F(RecipesBesideAService, ShareALog) {
  const ZsetLog log(*store_, {.limit = 3, .period = 1min, .policy = policy_});
  EXPECT_TRUE(log.try_acquire("z", 2));
  EXPECT_EQ(ask(*store_, {"ZCARD", "z"}).integers.at(0), 2);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  ask(*store_, {"ZADD", "z", std::to_string(now / 1ms), "theirs"});
  EXPECT_EQ(log.try_acquire("z").verdict, Verdict::denied);
}

TEST_F(RecipesBesideAService, FindASpringBucketWhereItIs) {
  const SpringBucket bucket(
      *store_, {.replenish_rate = 1, .burst_capacity = 1000, .route = "orders", .policy = policy_});
  EXPECT_EQ(bucket.try_acquire("alice", 990).remaining, 10);
  EXPECT_EQ(ask(*store_, {"GET", "request_rate_limiter.{orders.alice}.tokens"}).text, "10");
}

}  // namespace
}  // namespace weir::redis
