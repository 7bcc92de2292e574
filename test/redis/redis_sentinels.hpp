// A master, its replicas, and the three Sentinels that watch them: of this test's own.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "test/redis/redis_connection.hpp"
#include "test/wire/redis_server.hpp"

namespace weir::test {

/// On free ports of 127.0.0.1. Server 0 is the master at first. Numbers stay when roles change.
///
/// Threads  one at a time
/// Errors   std::runtime_error where something does not come about within a minute
class RedisSentinels {
 public:
  struct Settings {
    int replicas = 1;
    std::chrono::milliseconds down_after{500};  ///< a silent master counts as gone
    std::vector<std::string> arguments{};       ///< further ones of the master and its replicas
  };

  static constexpr int sentinels = 3;
  static constexpr const char* service = "weir";  ///< the master's name

  /// Returns once the Sentinels know each other and the replicas, and those have copied.
  RedisSentinels() : RedisSentinels(Settings{}) {}
  explicit RedisSentinels(const Settings& settings);

  int size() const { return static_cast<int>(servers_.size()); }
  wire::RedisServer& server(int number) { return *servers_.at(static_cast<std::size_t>(number)); }
  wire::RedisServer& sentinel(int number) {
    return *watchers_.at(static_cast<std::size_t>(number));
  }

  /// Who is the master, as all Sentinels say that answer; -1 while they do not agree, or while it
  /// does not say so itself.
  int master();
  /// Waits until there is a master other than `former`.
  int await_master_after(int former);
  /// Waits until all servers that answer are the master or follow it.
  void await_standing();

  /// SENTINEL FAILOVER: as an operator does it. Returns the new master; the former takes itself for
  /// one too, until the Sentinels set it right after eight seconds or more.
  int fail_over();

 private:
  bool sentinels_know_all();
  int number_of(const std::string& port) const;

  std::vector<std::unique_ptr<wire::RedisServer>> servers_;
  std::vector<std::unique_ptr<wire::RedisServer>> watchers_;
};

}  // namespace weir::test
