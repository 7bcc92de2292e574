// Access limits that processes share: the same declarations, counted in a real Redis.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "test/http/manual_limits.hpp"
#include "test/wire/redis_server.hpp"
#include "weir/redis/client.hpp"
#include "weir/redis/limiter.hpp"

namespace weir::http {
namespace {

using namespace std::chrono_literals;

/// One process of a service.
class Process {
 public:
  explicit Process(const wire::RedisServer& server)
      : store_(
            redis::Client::connect("redis://127.0.0.1:" + std::to_string(server.port())).value()),
        limits_(AccessLimits::of(
            {{.path = "/reply", .max_count = 50, .within = 3'600s, .need_login = true},
             {.path = "/topic", .max_count = 50, .within = 3'600s, .need_login = true}},
            in_store())) {}

  std::optional<Refused> decide(std::string_view path, std::string_view user) const {
    return limits_.decide({.method = "POST", .path = path, .user = user});
  }

 private:
  Keeper in_store() const {
    // A deadline that a busy machine keeps: a request without an answer would be decided here.
    const auto shared =
        std::make_shared<redis::Limits>(*store_, redis::Policy{.deadline = 30s, .members = 2});
    return kept_in([shared](std::string_view limit) {
      return std::make_unique<redis::Limiter<>>(shared, limit);
    });
  }

  std::unique_ptr<redis::Client> store_;
  AccessLimits limits_;
};

TEST(SharedAccessLimits, AllProcessesTogetherLetInAsManyAsWereDeclared) {
  const wire::RedisServer server;
  const Process one(server);
  const Process other(server);
  std::atomic<int> ran{0};
  std::vector<std::thread> callers;
  callers.reserve(8);
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&ran, &process = caller % 2 == 0 ? one : other] {
      for (int call = 0; call < 20; ++call) {
        if (!process.decide("/reply", "alice")) ++ran;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(ran, 50);

  const auto refused = one.decide("/reply", "alice");
  ASSERT_TRUE(refused);
  EXPECT_NE(field(refused->reply, "Retry-After"), "");
  EXPECT_EQ(field(refused->reply, "RateLimit-Policy"), R"("any /reply";q=50;w=3600)");
}

TEST(SharedAccessLimits, HandlersOfOneLimitDoNotMeet) {
  const wire::RedisServer server;
  const Process one(server);
  const Process other(server);
  for (int call = 0; call < 50; ++call) EXPECT_FALSE(one.decide("/reply", "alice"));
  EXPECT_TRUE(other.decide("/reply", "alice"));
  EXPECT_FALSE(other.decide("/topic", "alice"));
  EXPECT_FALSE(other.decide("/reply", "bob"));
  EXPECT_EQ(one.decide("/reply", "")->why, Why::not_logged_in);
}

TEST(SharedAccessLimits, WithoutTheStoreThePolicyDecidesAndSaysWhy) {
  const auto store = redis::Client::connect("redis://127.0.0.1:1").value();  // nobody is there
  const auto first_and_second = [&store](redis::WithoutStore without_store) {
    const auto shared = std::make_shared<redis::Limits>(
        *store, redis::Policy{.deadline = 30s, .without_store = without_store, .members = 2});
    const auto limits = AccessLimits::of({{.path = "/reply", .max_count = 2, .within = 3'600s}},
                                         kept_in([shared](std::string_view limit) {
                                           return std::make_unique<redis::Limiter<>>(shared, limit);
                                         }));
    const auto status = [&limits] {
      const auto refused = limits.decide({.method = "POST", .path = "/reply", .user = "alice"});
      return refused ? refused->reply.status : 200U;
    };
    const unsigned first = status();
    return std::pair(first, status());
  };
  EXPECT_EQ(first_and_second(redis::WithoutStore::open), std::pair(200U, 200U));
  EXPECT_EQ(first_and_second(redis::WithoutStore::share), std::pair(200U, 429U));  // 2 of 2 members
  EXPECT_EQ(first_and_second(redis::WithoutStore::closed), std::pair(503U, 503U));
}

}  // namespace
}  // namespace weir::http
