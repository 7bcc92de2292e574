// Do two servers on one Redis keep one limit's promise together? Judged by what their clients saw.
// And what one on a cluster makes of keys that lie apart.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <thread>

#include "test/history/check.hpp"
#include "test/redis/redis_cluster.hpp"
#include "test/redis/redis_connection.hpp"
#include "test/server/load/resp_load.hpp"
#include "test/server/server_process.hpp"
#include "test/wire/redis_server.hpp"

namespace weir {
namespace {

using load::Outcome;

TEST(TwoServersOnOneRedis, AdmitTogetherNoMoreThanTheLimit) {
  const wire::RedisServer redis;
  const std::string url = "redis://127.0.0.1:" + std::to_string(redis.port());
  std::array<std::unique_ptr<test::ServerProcess>, 2> servers;
  std::array<Outcome, 2> seen;
  std::array<std::thread, 2> clients;
  for (auto& server : servers) {
    // A busy machine must not have a server decide by itself.
    server = std::make_unique<test::ServerProcess>(test::ServerCommand{
        .arguments = {WEIR_BINARY, "serve", "--resp", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                      "--http", "off", "--grpc", "off", "--threads", "2", "--store", url,
                      "--store-deadline", "10s"},
        .listeners = {"resp", "metrics"}});
  }
  for (std::size_t at = 0; at < servers.size(); ++at) {
    const load::Load load{.port = servers[at]->port("resp"),
                          .question = load::take("1000/1s burst 1000"),
                          .requests = 20'000,
                          .threads = 2,
                          .connections = 16,
                          .pipeline = at == 0 ? 1U : 16U};
    clients[at] = std::thread([load, &outcome = seen[at]] { outcome = run(load); });
  }
  for (std::thread& client : clients) client.join();

  history::History all = seen[0].history;
  all.insert(all.end(), seen[1].history.begin(), seen[1].history.end());
  ASSERT_EQ(all.size(), 40'000U);
  const history::Bucket limit{.burst = 1'000, .count = 1'000, .period_ns = 1'000'000'000};
  const history::Report admissions = history::check_admissions(all, limit);
  EXPECT_EQ(admissions.violations, 0) << admissions.explanation;
  EXPECT_GE(seen[0].admitted + seen[1].admitted, 1'000);
  EXPECT_EQ(seen[0].absurd + seen[1].absurd, 0);
  for (auto& server : servers) EXPECT_EQ(server->terminate(), 0) << server->errors();
}

/// Of a decision, in words.
std::string member(const wire::Reply& reply, std::string_view name) {
  const wire::Reply* const value = reply.field(name);
  if (!value) return "no " + std::string(name);
  return value->type == wire::ReplyType::integer ? std::to_string(value->integer) : value->text;
}

TEST(AServerOnACluster, TakesOfKeysInSeveralSlotsOrGivesBack) {
  test::RedisCluster cluster;
  const test::ServerProcess server(test::ServerCommand{
      .arguments = {WEIR_BINARY, "serve", "--resp", "127.0.0.1:0", "--metrics", "off", "--http",
                    "off", "--grpc", "off", "--store",
                    "redis+cluster://127.0.0.1:" + std::to_string(cluster.node(0).port()),
                    "--store-deadline", "10s"},
      .listeners = {"resp"}});
  test::RedisConnection client(server.port("resp"));
  const auto take_all = [&](const std::string& one, const std::string& other) {
    return client.must({"WEIR.TAKEALL", "2", one, other, "2/1d", "1/1h"});
  };
  const wire::Reply first = take_all("ann", "bob");
  EXPECT_EQ(member(first, "verdict"), "granted");
  EXPECT_EQ(member(first, "atomic"), "0") << "their slots have different masters";
  const wire::Reply refused = take_all("ann", "bob");
  EXPECT_EQ(member(refused, "verdict"), "denied");
  EXPECT_EQ(member(refused, "key"), "bob");
  EXPECT_EQ(member(client.must({"WEIR.PEEK", "ann", "2/1d"}), "remaining"), "1")
      << "what was taken before the refusal is given back";
  const wire::Reply together = take_all("cid", "cid");
  EXPECT_EQ(member(together, "verdict"), "granted");
  EXPECT_EQ(member(together, "atomic"), "1") << "one key, one slot";
}

}  // namespace
}  // namespace weir
