// Do two servers on one Redis keep one limit's promise together? Judged by what their clients saw.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <thread>

#include "test/history/check.hpp"
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

}  // namespace
}  // namespace weir
