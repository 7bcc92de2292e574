// One address that clients connect to.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "server/address.hpp"
#include "server/start_error.hpp"

namespace weir::server {

/// Binds and listens on HOST:PORT; the kind must be tcp or tls.
Expected<boost::asio::ip::tcp::acceptor, StartError> listen_on(boost::asio::io_context& io,
                                                               const Address& address);

/// The address that a listening socket has got.
Address address_of(const boost::asio::ip::tcp::acceptor& acceptor, Address::Kind kind);

/// Accepts, and waits a moment where that fails: those who are connected are served meanwhile.
///
/// Threads  everything on the loop of `io`
/// Errors   open() says which address cannot be had and why
class Listener {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  struct Handlers {
    std::function<void(Listener&, Socket)> arrived;
    std::function<void(const boost::system::error_code&)> failed;
  };

  /// A Unix socket that no server listens on any more is removed first.
  static Expected<std::unique_ptr<Listener>, StartError> open(boost::asio::io_context& io,
                                                              const Address& address);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// With the port that was taken.
  const Address& address() const noexcept { return address_; }

  void start(Handlers handlers);

  /// Accepts again where the lack of memory ended that.
  void resume();

  /// Accepts no more; a Unix socket's path is removed, if it is still this one's.
  void close();

 private:
  using Protocol = boost::asio::generic::stream_protocol;

  explicit Listener(boost::asio::io_context& io) : acceptor_(io), pause_(io) {}
  std::string bind_path();
  void accept();

  Address address_;
  boost::asio::basic_socket_acceptor<Protocol> acceptor_;
  boost::asio::steady_timer pause_;  ///< after an accept that failed
  Handlers handlers_;
  /// Shared with every handler that will accept again; a use count of one says that none waits.
  std::shared_ptr<const bool> waits_ = std::make_shared<bool>(true);
  std::uint64_t inode_ = 0;  ///< of the Unix socket
};

}  // namespace weir::server
