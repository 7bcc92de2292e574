// A redis-server of this test's own, and plain connections to it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::wire {

/// Runs on a free port of 127.0.0.1 with a temporary folder, both gone with it. Throws
/// std::runtime_error with the end of its log where it does not come up.
///
/// Threads  one at a time; the server ends should the thread that started it end
class RedisServer {
 public:
  struct Extras {
    std::vector<std::string> arguments{};    ///< further ones
    std::vector<std::string> environment{};  ///< NAME=VALUE
    std::string config{};                    ///< lines of a file that it may rewrite
    std::string ready_text = "Ready to accept connections";
  };

  RedisServer() : RedisServer(Extras{}) {}
  explicit RedisServer(Extras extras);
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  int port() const { return port_; }

  /// Where the nodes of a cluster talk to it.
  int bus_port() const { return bus_port_; }

  int pid() const { return process_; }

  /// Neither killed nor frozen.
  bool answers() const { return process_ > 0 && !frozen_; }

  /// SIGKILL, and waits for its end.
  void kill();
  /// SIGSTOP: its connections stay open, and nothing answers.
  void freeze();
  /// SIGCONT.
  void thaw();
  /// Kills it if it runs, and starts it with the same port and folder. Throws as the constructor.
  void restart();

  /// The last lines that it said.
  std::string log_tail() const;

 private:
  bool start();
  void spawn();
  bool becomes_ready(std::size_t said_before);
  std::string log() const;

  Extras extras_;
  std::string folder_;
  int port_ = 0;
  int bus_port_ = 0;
  int process_ = -1;
  bool frozen_ = false;
};

/// What came back, and whether the peer had closed by then.
struct Heard {
  std::string bytes;
  bool closed = false;
};

/// To 127.0.0.1. Throws std::runtime_error where none is made.
class Connection {
 public:
  /// Long enough for a machine that has much else to do.
  static constexpr std::chrono::milliseconds patient{20'000};

  /// Reads wait no longer than `patience`.
  explicit Connection(int port, std::chrono::milliseconds patience = patient);
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
