// weir's own client and servers that have the module, or have it no longer.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "redis/remote_table.hpp"
#include "redis/slots.hpp"
#include "redis/stored_key.hpp"
#include "test/module/real_server.hpp"
#include "test/redis/await.hpp"
#include "test/redis/redis_cluster.hpp"
#include "weir/redis/client.hpp"
#include "wire/integer.hpp"

namespace weir::module {
namespace {

using namespace std::chrono_literals;
using redis::Client;
using redis::RemoteAnswer;
using redis::RemoteTable;

redis::Policy patient() {
  redis::Policy policy;
  policy.deadline = 10s;
  policy.without_store = redis::WithoutStore::closed;
  policy.breaker = {.failures = 1000, .calls = 1000};
  policy.remembered_denials = 0;
  return policy;
}

std::string url_of(int port, const std::string& user = "") {
  return "redis://" + user + "127.0.0.1:" + std::to_string(port);
}

/// How often the server has run a command.
std::int64_t calls_in(const std::string& stats, const std::string& command) {
  const std::string line = "cmdstat_" + command + ":calls=";
  const std::size_t at = stats.find(line);
  if (at == std::string::npos) return 0;
  const std::string_view count = std::string_view(stats).substr(at + line.size());
  return wire::strict_integer(count.substr(0, count.find(','))).value_or(-1);
}

/// The keyed table over a client of its own.
class Asker {
 public:
  explicit Asker(const std::string& url)
      : client_(Client::connect(url).value()), table_(*client_, patient()) {}

  RemoteAnswer take(const std::string& key, const std::string& limit = "1000/1h", Cost cost = 1) {
    RemoteAnswer answer = try_to_take(key, limit, cost);
    EXPECT_EQ(answer.trouble.message, "");
    return answer;
  }
  /// Where the server may be away.
  RemoteAnswer try_to_take(const std::string& key, const std::string& limit = "1000/1h",
                           Cost cost = 1) {
    return answer_to(
        [&](auto then) { table_.take(subject(key, limit), {.cost = cost}, std::move(then)); });
  }
  RemoteAnswer take_all(const std::vector<std::string>& keys, const std::string& limit) {
    std::vector<Claim> claims;
    for (const std::string& key : keys) claims.push_back({subject(key, limit), 1});
    return answer_to([&](auto then) { table_.take_all(claims, {}, std::move(then)); });
  }
  Cost remaining(const std::string& key, const std::string& limit = "1000/1h") {
    return answer_to([&](auto then) { table_.peek(subject(key, limit), {}, std::move(then)); })
        .decision.remaining;
  }
  std::int64_t cancel(const std::string& key, const std::string& limit, const Grant& grant) {
    return gift([&](auto then) { table_.cancel(subject(key, limit), grant, std::move(then)); });
  }
  std::int64_t refund(const std::string& key, const std::string& limit, Cost units) {
    return gift([&](auto then) { table_.refund(subject(key, limit), units, std::move(then)); });
  }
  std::int64_t renew(const std::string& key, const std::string& limit, PermitId permit) {
    return gift([&](auto then) { table_.renew(subject(key, limit), permit, std::move(then)); });
  }
  std::int64_t leave(const std::string& key, const std::string& limit, PermitId permit) {
    return gift([&](auto then) { table_.leave(subject(key, limit), permit, std::move(then)); });
  }

 private:
  Subject subject(const std::string& key, const std::string& limit) {
    return {rules_.find(limit).value(), key, nullptr, {}};
  }
  template <typename Start>
  RemoteAnswer answer_to(Start&& start) {
    auto told = std::make_shared<std::promise<RemoteAnswer>>();
    auto answer = told->get_future();
    start([told](RemoteAnswer&& one) { told->set_value(std::move(one)); });
    return answer.get();
  }
  template <typename Start>
  std::int64_t gift(Start&& start) {
    auto told = std::make_shared<std::promise<redis::RemoteGift>>();
    auto answer = told->get_future();
    start([told](redis::RemoteGift&& one) { told->set_value(std::move(one)); });
    const redis::RemoteGift heard = answer.get();
    EXPECT_EQ(heard.trouble.message, "");
    return heard.given.value_or(-1);
  }

  Rules rules_;
  std::unique_ptr<Client> client_;
  RemoteTable table_;
};

TEST(ClientAndModule, AsksTheModuleForEveryVerb) {
  RealServer server;
  Asker asker(url_of(server.port()));
  asker.take("first");  // on its way before the server has said what it is
  server.run({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(asker.take("k", "5/1h", 2).decision.remaining, 3);
  EXPECT_EQ(asker.remaining("k", "5/1h"), 3);
  EXPECT_EQ(asker.refund("k", "5/1h", 1), 1);
  asker.take("c", "leaky-bucket 1/1h queue 3");
  const RemoteAnswer waits = asker.take("c", "leaky-bucket 1/1h queue 3");
  EXPECT_EQ(asker.cancel("c", "leaky-bucket 1/1h queue 3", waits.grants.at(0)), 1);
  const RemoteAnswer inside = asker.take("p", "concurrency 2/1h");
  const PermitId permit = Concurrency::permit_of(inside.grants.at(0).marks[0]);
  EXPECT_GT(asker.renew("p", "concurrency 2/1h", permit), 0);
  EXPECT_EQ(asker.leave("p", "concurrency 2/1h", permit), 1);
  EXPECT_EQ(asker.take_all({"a", "b", "a"}, "5/1h").decision.remaining, 3);
  const std::string stats = server.text({"INFO", "commandstats"});
  EXPECT_EQ(calls_in(stats, "fcall"), 0);
  EXPECT_EQ(calls_in(stats, "evalsha"), 0);
  EXPECT_EQ(calls_in(stats, "WEIR_1.TAKE"), 5);
  for (const char* verb : {"PEEK", "REFUND", "CANCEL", "RENEW", "RELEASE"}) {
    EXPECT_EQ(calls_in(stats, std::string("WEIR_1.") + verb), 1) << verb;
  }
}

TEST(ClientAndModule, CountsOnInTheStatesOfTheScripts) {
  RealServer server;
  ASSERT_EQ(server.text({"ACL", "SETUSER", "scripts", "on", ">s", "~*", "+@all", "-WEIR_1.TAKE"}),
            "OK");
  Asker by_module(url_of(server.port()));
  Asker by_script(url_of(server.port(), "scripts:s@"));
  for (int round = 0; round < 20; ++round) {
    for (const char* limit : {"1000/1h", "sliding-log 500/1h", "100/1h & 1000/1d"}) {
      const Cost before = by_module.take("k", limit).decision.remaining;
      EXPECT_EQ(by_script.take("k", limit).decision.remaining, before - 1) << limit;
    }
  }
  const std::string stats = server.text({"INFO", "commandstats"});
  EXPECT_GE(calls_in(stats, "WEIR_1.TAKE"), 59);
  EXPECT_GE(calls_in(stats, "fcall"), 60);
}

TEST(ClientAndModule, GoesOnWhereTheServerComesBackWithoutIt) {
  auto server = std::make_unique<RealServer>();
  const std::string port = std::to_string(server->port());
  Asker asker(url_of(server->port()));
  for (int call = 0; call < 5; ++call) asker.take("k");
  server.reset();
  const wire::RedisServer plain({.arguments = {"--port", port}});
  test::await("it is found again", [&] { return !asker.try_to_take("other").trouble; });
  EXPECT_EQ(asker.take("k").decision.remaining, 999);
  EXPECT_EQ(asker.take("k").decision.remaining, 998);
}

TEST(ClientAndModule, AClusterOfWhichSomeNodesLackIt) {
  test::RedisCluster cluster({.arguments = {"--enable-module-command", "local"}});
  cluster.run(1, {"MODULE", "LOAD", module_path()});
  Asker asker("redis+cluster://127.0.0.1:" + std::to_string(cluster.node(0).port()));
  for (int round = 1; round <= 3; ++round) {
    for (int key = 0; key < 60; ++key) {
      EXPECT_EQ(asker.take(std::to_string(key)).decision.remaining, 1000 - round) << key;
    }
  }
  EXPECT_GT(calls_in(cluster.run(1, {"INFO", "commandstats"}).text, "WEIR_1.TAKE"), 10);
  EXPECT_EQ(calls_in(cluster.run(0, {"INFO", "commandstats"}).text, "WEIR_1.TAKE"), 0);
}

}  // namespace
}  // namespace weir::module
