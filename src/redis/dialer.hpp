// From a server's name to a connected socket. Names Asio: for implementations.
#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "redis/node.hpp"

namespace weir::redis {

using StreamSocket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                      boost::asio::io_context::executor_type>;

/// Looks the host up and connects to the first of its addresses that answers. Sockets are not
/// inherited by programs that are started, do not block, and send small writes at once.
///
/// Bound    16 addresses; one look-up at a time: it cannot be told to stop, so that one that hangs
///          fails the dials after it until it is over
/// Threads  the loop's
class Dialer {
 public:
  /// One of the two: the socket, or a text that says what went wrong.
  using Dialed = std::function<void(StreamSocket&& socket, const std::string& trouble)>;

  /// `path` is of a Unix socket, which then stands for the node; or empty.
  Dialer(boost::asio::io_context::executor_type loop, const Node& node, const std::string& path);
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  /// Gives up what it was about; `dialed` is called once unless that is given up. It may be called
  /// before this returns.
  void dial(Dialed dialed);
  void stop();

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace weir::redis
