// A cluster of three masters and three replicas whose masters change, and whose slots move.
#include <string>

#include "redis/slots.hpp"
#include "test/fault/store/rows.hpp"
#include "test/redis/await.hpp"
#include "test/redis/redis_cluster.hpp"
#include "test/redis/redis_sentinels.hpp"
#include "test/redis/slot_move.hpp"

namespace weir::test {
namespace {

using std::chrono::milliseconds;

/// Any of the cluster's nodes leads to all.
std::string url_of(RedisCluster& cluster) {
  std::string url = "redis+cluster://";
  for (int i = 0; i < RedisCluster::masters; ++i) {
    url += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(cluster.node(i).port());
  }
  return url;
}

std::string url_of(RedisSentinels& set) {
  std::string url = "redis+sentinel://";
  for (int i = 0; i < RedisSentinels::sentinels; ++i) {
    url += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(set.sentinel(i).port());
  }
  return url + "/" + RedisSentinels::service;
}

void tell_redirects(Figures& figures, const std::vector<Call>&, const Load& load) {
  figures.notes.emplace_back("redirects", std::to_string(load.stats().redirects));
}

Drill drill_of(const Scale& scale, RedisCluster& cluster) {
  Drill drill;
  drill.url = url_of(cluster);
  drill.load = load_of(scale, drill.url);
  drill.count_at = drill.url;
  drill.look = tell_redirects;
  return drill;
}

/// Who has the slot of the first account, and the second bucket.
int owner(RedisCluster& cluster) { return cluster.master_of(redis::slot_of(key_of(1))); }

Figures planned(const Scale& scale) {
  RedisCluster cluster({.node_timeout = milliseconds{2000}});
  Drill drill = drill_of(scale, cluster);
  drill.fault = [&] { cluster.fail_over_to(cluster.replica_of(owner(cluster))); };
  return run(scale, drill);
}

Figures planned_by_sentinels(const Scale& scale) {
  RedisSentinels set;
  Drill drill;
  drill.url = url_of(set);
  drill.load = load_of(scale, drill.url);
  drill.count_at = drill.url;
  // The former master goes on as one until it is told: who has not heard of the other charges it.
  drill.excess_bound = Asked::bucket.burst;
  drill.lost_bound = 3 * charges_a_second;
  drill.fault = [&] { set.fail_over(); };
  return run(scale, drill);
}

Figures killed_under_sentinels(const Scale& scale) {
  RedisSentinels set;
  Drill drill;
  drill.url = url_of(set);
  drill.load = load_of(scale, drill.url);
  drill.count_at = drill.url;
  drill.excess_bound = Asked::bucket.burst;
  drill.lost_bound = 3 * charges_a_second;
  drill.fault = [&] { set.server(0).kill(); };
  drill.heal = [&] { set.await_master_after(0); };
  return run(scale, drill);
}

enum class Ends : std::uint8_t { killed, frozen };

Figures unplanned(const Scale& scale, Ends how) {
  RedisCluster cluster({.node_timeout = milliseconds{2000}});
  Drill drill = drill_of(scale, cluster);
  const int master = owner(cluster);
  const int replica = cluster.replica_of(master);
  // What the replica had not heard of is granted again, a bucket at most.
  drill.excess_bound = Asked::bucket.burst;
  drill.lost_bound = 3 * charges_a_second;
  std::int64_t begun_at_ns = 0;
  drill.fault = [&] {
    begun_at_ns = now_ns();
    how == Ends::killed ? cluster.node(master).kill() : cluster.node(master).freeze();
  };
  std::int64_t took_over_at_ns = 0;
  drill.heal = [&] {
    await("the replica took over", [&] { return owner(cluster) == replica; });
    cluster.await_standing();
    took_over_at_ns = now_ns();
  };
  drill.look = [&](Figures& figures, const std::vector<Call>& calls, const Load& load) {
    tell_redirects(figures, calls, load);
    figures.notes.emplace_back("taken over after",
                               std::to_string((took_over_at_ns - begun_at_ns) / 1'000'000) + " ms");
  };
  return run(scale, drill);
}

/// Moves the slot of each account to the next master, with a pause amid its keys.
void move_all(RedisCluster& cluster, const std::vector<int>& targets) {
  for (std::uint16_t i = 0; i < Asked::accounts; ++i) {
    const std::uint16_t slot = redis::slot_of(key_of(i));
    await("all agree on the slot", [&] { return cluster.master_of(slot) >= 0; });
    const int source = cluster.master_of(slot);
    const int target = targets[i % targets.size()] == source ? targets[(i + 1) % targets.size()]
                                                             : targets[i % targets.size()];
    if (target == source) continue;
    SlotMove move(cluster, {.first = slot, .last = slot}, target);
    move.begin();
    std::this_thread::sleep_for(milliseconds{20});
    move.move_keys(1);
    std::this_thread::sleep_for(milliseconds{20});
    move.finish();
  }
  cluster.await_standing();
}

Figures resharded(const Scale& scale) {
  RedisCluster cluster;
  Drill drill = drill_of(scale, cluster);
  drill.load.policy.deadline = milliseconds{200};
  drill.fault = [&] { move_all(cluster, {0, 1, 2}); };
  return run(scale, drill);
}

Figures joined_and_left(const Scale& scale) {
  RedisCluster cluster;
  Drill drill = drill_of(scale, cluster);
  drill.load.policy.deadline = milliseconds{200};
  int node = -1;
  drill.fault = [&] {
    node = cluster.add_node();
    move_all(cluster, {node});
  };
  drill.heal = [&] {
    move_all(cluster, {0, 1, 2});
    cluster.remove_node(node);
    cluster.await_standing();
  };
  return run(scale, drill);
}

}  // namespace

std::vector<Row> rows_of_a_cluster() {
  return {
      {"F7", "planned failover in a cluster", planned},
      {"F7-sentinel", "SENTINEL FAILOVER", planned_by_sentinels},
      {"F8", "a cluster's master killed, node timeout 2 s",
       [](const Scale& scale) { return unplanned(scale, Ends::killed); }},
      {"F8-frozen", "a cluster's master under SIGSTOP",
       [](const Scale& scale) { return unplanned(scale, Ends::frozen); }},
      {"F8-sentinel", "a master killed under Sentinels, down after 0.5 s", killed_under_sentinels},
      {"F11", "16 slots moved while they are asked", resharded},
      {"F12", "a node joins, takes 16 slots, gives them back, leaves", joined_and_left},
  };
}

}  // namespace weir::test
