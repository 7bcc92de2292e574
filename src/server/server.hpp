// The server: sockets, threads, signals.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/address.hpp"
#include "server/options.hpp"
#include "server/start_error.hpp"
#include "weir/local/rule.hpp"

namespace weir::server {

/// A limiter for any Redis client.
///
/// Threads  run() on one thread, which starts `threads` workers and joins them
/// Errors   listen() says which address or file cannot be had and why
class Server {
 public:
  /// `rules` must hold every named limit already, and outlive the server.
  Server(const Options& options, Rules& rules);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  struct Listening {
    std::string what;  ///< "resp", "http", "grpc" or "metrics"
    Address address;   ///< with the port that was taken
  };
  Expected<std::vector<Listening>, StartError> listen();

  /// Serves until SIGTERM or SIGINT, then drains; SIGHUP reads certificates and the password again.
  /// Requires listen().
  void run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir::server
