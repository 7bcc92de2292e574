// The server: sockets, threads, signals.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/options.hpp"
#include "weir/local/rule.hpp"

namespace weir::server {

/// Why a server cannot start: a sentence that says what to do.
struct StartError {
  std::string message;
};

/// A limiter for any Redis client.
///
/// Threads  run() on one thread, which starts `threads` workers and joins them
/// Errors   listen() says which address cannot be had and why
class Server {
 public:
  /// `rules` must hold every named limit already, and outlive the server.
  Server(const Options& options, Rules& rules);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  struct Listening {
    std::string what;     ///< "resp" or "metrics"
    std::string address;  ///< with the port that was taken
  };
  Expected<std::vector<Listening>, StartError> listen();

  /// Serves until SIGTERM or SIGINT, then drains. Requires listen().
  void run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir::server
