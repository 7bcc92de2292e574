// /metrics, /livez and /readyz on a port of their own.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "server/service.hpp"

namespace weir::server {

/// A small HTTP/1 server for machines that watch: GET and HEAD of three paths.
///
/// Threads  everything on the acceptor's event loop, off the path of commands
/// Errors   404, 405 and 400 with one line that says what is there
class StatusPage {
 public:
  StatusPage(const Service& service, boost::asio::ip::tcp::acceptor acceptor);
  ~StatusPage();

  /// Begins to accept, unless it does.
  void start();
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::server
