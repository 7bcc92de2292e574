#include "test/redis/redis_cluster.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "test/redis/await.hpp"

namespace weir::test {
namespace {

constexpr int slots = 16384;

bool says(const wire::Reply& info, std::string_view line) {
  return info.text.find(line) != std::string::npos;
}

/// One line of CLUSTER NODES, as far as it is needed here.
struct NodeLine {
  std::string id{};
  std::string flags{};
  std::string master{};
};

std::vector<NodeLine> lines_of(const wire::Reply& nodes) {
  std::vector<NodeLine> lines;
  std::string_view left = nodes.text;
  while (!left.empty()) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    Words words;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      words.emplace_back(line.substr(at, end - at));
      at = end + 1;
    }
    if (words.size() > 3) lines.push_back({.id = words[0], .flags = words[2], .master = words[3]});
  }
  return lines;
}

/// Who has which slots, as one node sees it: replicas left out, and in an order of its own.
std::set<std::pair<std::int64_t, std::string>> owners(const wire::Reply& slots_reply) {
  std::set<std::pair<std::int64_t, std::string>> owners;
  for (const wire::Reply& range : slots_reply.elements) {
    owners.emplace(range.elements.at(0).integer, range.elements.at(2).elements.at(2).text);
  }
  return owners;
}

}  // namespace

RedisCluster::RedisCluster(Settings settings) : settings_(std::move(settings)) {
  for (int i = 0; i < 2 * masters; ++i) start_node();
  for (int i = 0; i < masters; ++i) {
    const int first = slots * i / masters;
    const int last = slots * (i + 1) / masters - 1;
    run(i, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    run(i, {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)});
  }
  introduce();
  for (int i = 0; i < masters; ++i) run(masters + i, {"CLUSTER", "REPLICATE", id(i)});
  await("each master has its replica", [this] {
    for (int i = 0; i < masters; ++i) {
      if (replica_of(i) != masters + i) return false;
    }
    return true;
  });
  await_standing();
}

int RedisCluster::start_node() {
  wire::RedisServer::Extras extras;
  extras.arguments = {"--cluster-enabled", "yes", "--cluster-node-timeout",
                      std::to_string(settings_.node_timeout.count()),
                      // Or else a master that has lost its replica is lent another's.
                      "--cluster-allow-replica-migration", "no",
                      // Or else a full copy begins after five seconds.
                      "--repl-diskless-sync-delay", "0"};
  extras.arguments.insert(extras.arguments.end(), settings_.arguments.begin(),
                          settings_.arguments.end());
  nodes_.push_back(std::make_unique<wire::RedisServer>(extras));
  const int number = size() - 1;
  ids_.push_back(run(number, {"CLUSTER", "MYID"}).text);
  return number;
}

void RedisCluster::introduce() {
  for (int i = 1; i < size(); ++i) {
    if (!node(i).answers()) continue;
    run(0, {"CLUSTER", "MEET", "127.0.0.1", std::to_string(node(i).port()),
            std::to_string(node(i).bus_port())});
  }
  await("all nodes know each other", [this] {
    for (int i = 0; i < size(); ++i) {
      if (!node(i).answers()) continue;
      const auto lines = lines_of(run(i, {"CLUSTER", "NODES"}));
      const auto known = std::count_if(lines.begin(), lines.end(), [this](const NodeLine& line) {
        return number_of(line.id) >= 0 && line.flags.find("handshake") == std::string::npos;
      });
      const auto expected = std::count_if(ids_.begin(), ids_.end(),
                                          [](const std::string& id) { return !id.empty(); });
      if (known < expected) return false;
    }
    return true;
  });
}

wire::Reply RedisCluster::run(int number, const Words& command) {
  return RedisConnection(node(number).port()).must(command);
}

int RedisCluster::number_of(std::string_view id) const {
  const auto found = std::find(ids_.begin(), ids_.end(), id);
  return found == ids_.end() ? -1 : static_cast<int>(found - ids_.begin());
}

int RedisCluster::master_of(std::uint16_t slot) {
  int master = -1;
  for (int i = 0; i < size(); ++i) {
    if (!node(i).answers()) continue;
    for (const wire::Reply& range : run(i, {"CLUSTER", "SLOTS"}).elements) {
      if (slot < range.elements.at(0).integer || slot > range.elements.at(1).integer) continue;
      const int seen = number_of(range.elements.at(2).elements.at(2).text);
      if (master >= 0 && master != seen) return -1;
      master = seen;
    }
  }
  return master;
}

int RedisCluster::replica_of(int master) {
  for (const NodeLine& line : lines_of(run(master, {"CLUSTER", "NODES"}))) {
    if (line.master == id(master)) return number_of(line.id);
  }
  return -1;
}

bool RedisCluster::agreed() {
  std::set<std::pair<std::int64_t, std::string>> first;
  for (int i = 0; i < size(); ++i) {
    if (!node(i).answers()) continue;
    RedisConnection connection(node(i).port());
    if (!says(connection.must({"CLUSTER", "INFO"}), "cluster_state:ok")) return false;
    auto seen = owners(connection.must({"CLUSTER", "SLOTS"}));
    if (first.empty()) first = seen;
    if (seen != first) return false;
    const auto replication = connection.must({"INFO", "replication"});
    if (says(replication, "role:slave") && !says(replication, "master_link_status:up")) {
      return false;
    }
  }
  return true;
}

void RedisCluster::await_standing() {
  await("the cluster stands", [this] { return agreed(); });
}

void RedisCluster::fail_over_to(int replica) {
  int former = 0;
  while (!node(former).answers() || replica_of(former) != replica) ++former;
  run(replica, {"CLUSTER", "FAILOVER"});
  await("the two have changed places", [&] { return replica_of(replica) == former; });
  await_standing();
}

int RedisCluster::add_node() {
  const int number = start_node();
  introduce();
  await_standing();
  return number;
}

void RedisCluster::remove_node(int number) {
  node(number).kill();
  for (int i = 0; i < size(); ++i) {
    if (node(i).answers()) run(i, {"CLUSTER", "FORGET", id(number)});
  }
  ids_[static_cast<std::size_t>(number)].clear();
}

}  // namespace weir::test
