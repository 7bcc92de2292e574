// The client and real sets of servers: a cluster, and a master that Sentinels watch.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "redis/slots.hpp"
#include "test/redis/asking.hpp"
#include "test/redis/await.hpp"
#include "test/redis/redis_cluster.hpp"
#include "test/redis/redis_sentinels.hpp"
#include "test/redis/slot_move.hpp"
#include "weir/redis/client.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using test::ask;
using test::ask_until_answered;

std::unique_ptr<Client> connect(const std::string& url, const Client::Settings& settings = {}) {
  auto client = Client::connect(url, settings);
  if (!client) throw std::runtime_error(client.error().message);
  return std::move(client).value();
}

std::string node_of(const wire::RedisServer& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

std::string url_of(test::RedisCluster& cluster) {
  return "redis+cluster://" + node_of(cluster.node(0)) + "," + node_of(cluster.node(1));
}

std::string url_of(test::RedisSentinels& set) {
  std::string nodes;
  for (int i = 0; i < test::RedisSentinels::sentinels; ++i) {
    nodes += (i == 0 ? "" : ",") + node_of(set.sentinel(i));
  }
  return "redis+sentinel://" + nodes + "/" + test::RedisSentinels::service;
}

/// Asks all the while, from a thread of its own, and keeps what it heard.
class Caller {
 public:
  explicit Caller(Store& store) : thread_([this, &store] { run(store); }) {}
  ~Caller() {
    over_ = true;
    thread_.join();
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  int right() const { return right_; }
  int wrong() const { return wrong_; }

 private:
  /// Each call adds to one of many keys; the reply is never less than what was counted before.
  void run(Store& store) {
    std::vector<std::int64_t> seen(64);
    for (std::size_t i = 0; !over_; ++i) {
      const std::string key = "{" + std::to_string(i % seen.size()) + "}";
      const StoreReply reply = ask(store, {"INCR", key}, 200ms);
      if (reply.outcome != CallOutcome::answered) continue;
      if (reply.text.starts_with("CLUSTERDOWN")) continue;  // said by those who have lost one
      if (reply.kind != StoreReply::Kind::integers) {
        ADD_FAILURE() << reply.text;
        ++wrong_;
        continue;
      }
      if (reply.integers[0] > seen[i % seen.size()]) ++right_;
      seen[i % seen.size()] = reply.integers[0];
    }
  }

  std::atomic<bool> over_{false};
  std::atomic<int> right_{0};
  std::atomic<int> wrong_{0};
  std::thread thread_;
};

/// Waits until so many more calls were answered.
void await_answers(const Caller& caller, int more) {
  const int before = caller.right();
  test::await("calls are answered", [&] { return caller.right() >= before + more; });
}

TEST(ClientOfACluster, FindsEachKeyAtItsMaster) {
  test::RedisCluster cluster;
  const auto client = connect(url_of(cluster));
  for (int i = 0; i < 300; ++i) {
    const std::string key = std::to_string(i);
    EXPECT_EQ(ask_until_answered(*client, {"SET", key, key}).text, "OK");
  }
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(ask(*client, {"GET", std::to_string(i)}).text, std::to_string(i));
  }
  EXPECT_EQ(client->stats().redirects, 0u);
  const StoreReply cross = ask(*client, {"MGET", "a", "b"});
  EXPECT_EQ(cross.text.substr(0, 9), "CROSSSLOT");
}

TEST(ClientOfACluster, FollowsKeysThatMove) {
  test::RedisCluster cluster;
  const auto client = connect(url_of(cluster));
  const std::uint16_t slot = slot_of("{k}");
  const int source = cluster.master_of(slot);
  const int target = (source + 1) % test::RedisCluster::masters;
  for (int i = 0; i < 4; ++i) {
    ask_until_answered(*client, {"SET", "{k}" + std::to_string(i), "v"});
  }
  test::SlotMove move(cluster, {slot, slot}, target);
  move.begin();
  EXPECT_EQ(ask(*client, {"GET", "{k}none"}).kind, StoreReply::Kind::none);  // by ASK
  EXPECT_GE(client->stats().redirects, 1u);
  EXPECT_EQ(ask(*client, {"SET", "{k}new", "v"}).text, "OK");
  move.move_keys(2);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(ask(*client, {"GET", "{k}" + std::to_string(i)}).text, "v");
  }
  // Some keys are here, some there: TRYAGAIN until the deadline or the end of the move.
  std::vector<std::string> all{"DEL", "{k}0", "{k}1", "{k}2", "{k}3", "{k}new"};
  auto together = test::begin(*client, all);
  move.finish();
  EXPECT_EQ(test::result(std::move(together)).integers, std::vector<std::int64_t>{5});
  ask(*client, {"SET", "{k}", "v"});
  const auto before = client->stats().redirects;
  test::await("the map is read anew, and nothing is redirected", [&] {
    const auto redirects = client->stats().redirects;
    ask(*client, {"GET", "{k}"});
    return client->stats().redirects == redirects;
  });
  EXPECT_LE(client->stats().redirects, before + 1);
}

TEST(ClientOfACluster, ComesThroughAFailoverAndTheLossOfAMaster) {
  test::RedisCluster cluster({.node_timeout = 1000ms});
  const auto client = connect(url_of(cluster));
  const Caller caller(*client);
  await_answers(caller, 200);
  const int master = cluster.master_of(slot_of("{1}"));
  cluster.fail_over_to(cluster.replica_of(master));
  await_answers(caller, 200);
  const int next = cluster.master_of(slot_of("{1}"));
  cluster.node(next).kill();
  test::await("a replica takes over", [&] {
    const int now = cluster.master_of(slot_of("{1}"));
    return now >= 0 && now != next;
  });
  test::await("its keys are found", [&] {
    return ask(*client, {"INCR", "{1}"}, 200ms).outcome == CallOutcome::answered;
  });
  await_answers(caller, 200);
  EXPECT_EQ(caller.wrong(), 0);
}

TEST(ClientOfSentinels, FindsTheMasterAndFollowsIt) {
  test::RedisSentinels set;
  const auto client = connect(url_of(set));
  EXPECT_EQ(ask_until_answered(*client, {"SET", "k", "v"}).text, "OK");
  const int former = set.master();
  set.fail_over();
  // The former master still takes itself for one; whoever followed +switch-master is elsewhere.
  test::await("the new master is asked", [&] {
    const StoreReply info = ask(*client, {"INFO", "server"}, 1s);
    return info.text.find("tcp_port:" + std::to_string(set.server(former).port())) ==
               std::string::npos &&
           info.outcome == CallOutcome::answered;
  });
  EXPECT_EQ(ask_until_answered(*client, {"SET", "k", "w"}).text, "OK");
}

TEST(ClientOfSentinels, ComesThroughTheDeathOfTheMaster) {
  test::RedisSentinels set;
  const auto client = connect(url_of(set));
  const Caller caller(*client);
  await_answers(caller, 100);
  const int former = set.master();
  set.server(former).kill();
  set.await_master_after(former);
  await_answers(caller, 100);
  EXPECT_EQ(caller.wrong(), 0);
}

TEST(ClientOfSentinels, FindsTheMasterWhileTheFirstSentinelIsDead) {
  test::RedisSentinels set;
  const std::string url = url_of(set);
  set.sentinel(0).kill();
  const auto client = connect(url);
  EXPECT_EQ(ask(*client, {"SET", "k", "v"}).text, "OK");
}

TEST(ClientOfSentinels, SaysWhyThereIsNoMaster) {
  test::RedisSentinels set;
  const auto client = connect("redis+sentinel://" + node_of(set.sentinel(0)) + "/other");
  const StoreReply reply = ask(*client, {"SET", "k", "v"});
  EXPECT_EQ(reply.outcome, CallOutcome::not_sent);
  EXPECT_NE(reply.text.find("knows no such master"), std::string::npos) << reply.text;
}

}  // namespace
}  // namespace weir::redis
