// A redis-server of this test's own, and plain connections to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::wire {

/// Runs on a free port of 127.0.0.1 with a temporary folder, both gone with it. Throws
/// std::runtime_error where it does not come up.
class RedisServer {
 public:
  /// Further arguments, and NAME=VALUE for its environment.
  struct Extras {
    std::vector<std::string> arguments{};
    std::vector<std::string> environment{};
  };

  RedisServer() : RedisServer(Extras{}) {}
  explicit RedisServer(Extras extras);
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  int port() const { return port_; }

  /// Where the nodes of a cluster talk to it.
  int bus_port() const { return bus_port_; }

 private:
  bool start();
  void stop();

  Extras extras_;
  std::string folder_;
  int port_ = 0;
  int bus_port_ = 0;
  int process_ = -1;
  int output_ = -1;
};

/// What came back, and whether the peer had closed by then.
struct Heard {
  std::string bytes;
  bool closed = false;
};

/// To 127.0.0.1. Throws std::runtime_error where none is made. Reads wait for two seconds at most.
class Connection {
 public:
  explicit Connection(int port);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(std::string_view bytes);

  /// Says that nothing more will be sent: the peer answers what it has and closes.
  void finish();

  /// What the peer says next; no bytes where it has closed, or stays silent.
  Heard hear();

  /// All that the peer says until it closes, or falls silent.
  Heard hear_all();

 private:
  int socket_ = -1;
};

}  // namespace weir::wire
