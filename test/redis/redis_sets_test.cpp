// The sets of real servers do what their verbs say.
#include <gtest/gtest.h>

#include "redis/error_reply.hpp"
#include "redis/slots.hpp"
#include "test/redis/await.hpp"
#include "test/redis/redis_cluster.hpp"
#include "test/redis/redis_sentinels.hpp"
#include "test/redis/slot_move.hpp"

namespace weir::test {
namespace {

std::string kind(const wire::Reply& reply) { return redis::name(redis::kind_of(reply.text)); }

TEST(RedisServer, OneThatDoesNotStartTellsWhy) {
  try {
    const wire::RedisServer server({.arguments = {"--no-such-option", "1"}});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-option"), std::string::npos) << error.what();
  }
}

TEST(RedisServer, OneThatIsFrozenTakesConnectionsAndSaysNothing) {
  wire::RedisServer server;
  RedisConnection connection(server.port(), std::chrono::milliseconds{200});
  server.freeze();
  EXPECT_FALSE(server.answers());
  EXPECT_THROW(connection.run({"PING"}), std::runtime_error);
  EXPECT_NO_THROW(wire::Connection{server.port()});
  server.thaw();
  EXPECT_EQ(RedisConnection(server.port()).run({"PING"}).text, "PONG");
}

TEST(RedisServer, OneThatStartsAgainHasItsPortAndFolder) {
  wire::RedisServer server({.arguments = {"--appendonly", "yes"}});
  const int port = server.port();
  RedisConnection(port).must({"SET", "key", "1"});
  server.kill();
  EXPECT_FALSE(server.answers());
  EXPECT_THROW(wire::Connection{port}, std::runtime_error);
  server.restart();
  EXPECT_EQ(server.port(), port);
  EXPECT_EQ(RedisConnection(port).must({"GET", "key"}).text, "1");
}

TEST(RedisCluster, SlotsMoveStepByStepAndMastersChangeAsTold) {
  RedisCluster cluster({.node_timeout = std::chrono::milliseconds{1000}});
  const std::uint16_t slot = redis::slot_of("{a}");
  const int source = cluster.master_of(slot);
  ASSERT_GE(source, 0);
  ASSERT_EQ(cluster.replica_of(source), RedisCluster::masters + source);
  cluster.run(source, {"MSET", "{a}1", "1", "{a}2", "2", "{a}3", "3"});

  const int target = cluster.add_node();
  SlotMove move(cluster, {.first = slot, .last = slot}, target);
  move.begin();
  RedisConnection here(cluster.node(source).port());
  EXPECT_EQ(here.run({"GET", "{a}1"}).text, "1");
  EXPECT_EQ(kind(here.run({"GET", "{a}4"})), "ask");
  EXPECT_EQ(move.move_keys(1), 1);
  EXPECT_EQ(kind(here.run({"MGET", "{a}1", "{a}2", "{a}3"})), "try_again");
  EXPECT_EQ(cluster.master_of(slot), source);
  move.finish();
  EXPECT_EQ(kind(here.run({"GET", "{a}1"})), "moved");
  await("all know of the move", [&] { return cluster.master_of(slot) == target; });
  cluster.await_standing();
  EXPECT_EQ(cluster.run(target, {"GET", "{a}3"}).text, "3");

  SlotMove back(cluster, {.first = slot, .last = slot}, source);
  back.begin();
  back.finish();
  await("all know of the move", [&] { return cluster.master_of(slot) == source; });
  cluster.remove_node(target);
  cluster.await_standing();

  const int replica = cluster.replica_of(source);
  cluster.fail_over_to(replica);
  EXPECT_EQ(cluster.master_of(slot), replica);
  EXPECT_EQ(cluster.replica_of(replica), source);
  EXPECT_EQ(cluster.run(replica, {"GET", "{a}1"}).text, "1");
}

TEST(RedisCluster, AReplicaTakesThePlaceOfAMasterThatIsKilledOrFrozen) {
  RedisCluster cluster({.node_timeout = std::chrono::milliseconds{1000}});
  cluster.node(0).kill();
  await("its replica took over", [&] { return cluster.master_of(0) == 3; });
  cluster.await_standing();
  cluster.node(0).restart();
  await("it follows", [&] { return cluster.replica_of(3) == 0; });
  cluster.await_standing();

  cluster.node(3).freeze();
  await("it took its place back", [&] { return cluster.master_of(0) == 0; });
  cluster.node(3).thaw();
  await("the other follows", [&] { return cluster.replica_of(0) == 3; });
  cluster.await_standing();
}

TEST(RedisSentinels, FindAnotherMaster) {
  RedisSentinels set({.replicas = 2});
  ASSERT_EQ(set.master(), 0);
  RedisConnection(set.server(0).port()).must({"SET", "key", "1"});
  const int planned = set.fail_over();
  EXPECT_NE(planned, 0);
  EXPECT_EQ(RedisConnection(set.server(planned).port()).must({"GET", "key"}).text, "1");
  set.server(planned).kill();
  const int unplanned = set.await_master_after(planned);
  EXPECT_EQ(RedisConnection(set.server(unplanned).port()).must({"GET", "key"}).text, "1");
}

}  // namespace
}  // namespace weir::test
