// A Redis Cluster of this test's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "test/redis/redis_connection.hpp"
#include "test/wire/redis_server.hpp"

namespace weir::test {

/// Three masters and a replica of each, on free ports of 127.0.0.1. Its nodes are numbered as they
/// came: first the masters, with equal shares of the slots in their order; then the replica of
/// each; then whoever joins. Numbers stay when roles change.
///
/// Threads  one at a time
/// Errors   std::runtime_error where something does not come about within a minute
class RedisCluster {
 public:
  struct Settings {
    /// A master that is silent for so long counts as gone; its replica then takes over.
    std::chrono::milliseconds node_timeout{2000};
    std::vector<std::string> arguments{};  ///< further ones of each node
  };

  static constexpr int masters = 3;

  /// Returns once every node says that the cluster stands, and the replicas have copied.
  RedisCluster() : RedisCluster(Settings{}) {}
  explicit RedisCluster(Settings settings);

  int size() const { return static_cast<int>(nodes_.size()); }
  /// To be killed, frozen, thawed, started again.
  wire::RedisServer& node(int number) { return *nodes_.at(static_cast<std::size_t>(number)); }
  const std::string& id(int number) const { return ids_.at(static_cast<std::size_t>(number)); }

  /// Its reply, over a new connection; throws where that is an error.
  wire::Reply run(int number, const Words& command);

  /// Who has the slot, as those see it that answer; -1 while they do not agree.
  int master_of(std::uint16_t slot);
  /// A replica of a master, as that sees it; -1 where it has none.
  int replica_of(int master);

  /// Waits until all nodes that answer say that the cluster stands, agree on who has which slot,
  /// and each replica among them follows a master.
  void await_standing();

  /// As an operator does it: a replica takes its master's place, and nothing written is lost.
  /// Returns once all agree.
  void fail_over_to(int replica);

  /// Starts a node that has no slots, and returns its number once all know it.
  int add_node();

  /// Makes them forget a node that has no slots, and stops it.
  void remove_node(int number);

 private:
  int start_node();
  void introduce();
  bool agreed();
  int number_of(std::string_view id) const;

  Settings settings_;
  std::vector<std::unique_ptr<wire::RedisServer>> nodes_;
  std::vector<std::string> ids_;
};

}  // namespace weir::test
