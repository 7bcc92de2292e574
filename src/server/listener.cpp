#include "server/listener.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace weir::server {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr int backlog = 1024;

Expected<tcp::endpoint, StartError> look_up(const Address& address) {
  boost::asio::io_context io;
  tcp::resolver resolver(io);
  error_code error;
  const auto found = resolver.resolve(address.host, std::to_string(address.port),
                                      tcp::resolver::numeric_service, error);
  if (error || found.empty()) {
    return StartError{"cannot find the address of '" + address.host + "'"};
  }
  return found.begin()->endpoint();
}

/// Whether somebody accepts connections there.
bool answers(const std::string& path) {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), path.size());
  const int result = ::connect(probe, reinterpret_cast<const sockaddr*>(&name), sizeof name);
  const int why = errno;
  ::close(probe);
  // Refused is what a socket answers that nobody listens on; all else, a full queue too, is no
  // proof of that.
  return result == 0 || why != ECONNREFUSED;
}

}  // namespace

Expected<tcp::acceptor, StartError> listen_on(boost::asio::io_context& io, const Address& address) {
  const auto endpoint = look_up(address);
  if (!endpoint) return endpoint.error();
  tcp::acceptor acceptor(io);
  error_code error;
  acceptor.open(endpoint->protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(*endpoint, error);
  if (!error) acceptor.listen(backlog, error);
  if (error == boost::asio::error::address_in_use) {
    return StartError{print(address) +
                      " is in use; stop what listens there or choose another port"};
  }
  if (error) return StartError{"cannot listen on " + print(address) + ": " + error.message()};
  return acceptor;
}

Address address_of(const tcp::acceptor& acceptor, Address::Kind kind) {
  const tcp::endpoint endpoint = acceptor.local_endpoint();
  return {.kind = kind, .host = endpoint.address().to_string(), .port = endpoint.port()};
}

Expected<std::unique_ptr<Listener>, StartError> Listener::open(boost::asio::io_context& io,
                                                               const Address& address) {
  std::unique_ptr<Listener> listener(new Listener(io));
  listener->address_ = address;
  if (address.kind == Address::Kind::unix_socket) {
    const std::string trouble = listener->bind_path();
    if (!trouble.empty()) return StartError{trouble};
    return listener;
  }
  auto opened = listen_on(io, address);
  if (!opened) return opened.error();
  tcp::acceptor acceptor = std::move(opened).value();
  listener->address_ = address_of(acceptor, address.kind);
  const Protocol protocol(acceptor.local_endpoint().protocol());
  listener->acceptor_.assign(protocol, acceptor.release());
  return listener;
}

/// What is wrong; empty where it listens.
std::string Listener::bind_path() {
  const std::string& path = address_.path;
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) {
      return path + " is there and is no socket; remove it or choose another path";
    }
    if (answers(path)) return path + " is in use; stop what listens there or choose another path";
    ::unlink(path.c_str());
  }
  // The mode holds from the first moment on: a change after bind() would come too late for some.
  const mode_t before = ::umask(0117);
  error_code error;
  const boost::asio::local::stream_protocol::endpoint endpoint(path);
  acceptor_.open(Protocol(endpoint.protocol()), error);
  if (!error) acceptor_.bind(endpoint, error);
  ::umask(before);
  if (!error && ::lstat(path.c_str(), &status) == 0) inode_ = status.st_ino;
  if (!error) acceptor_.listen(backlog, error);
  return error ? "cannot listen on " + print(address_) + ": " + error.message() : "";
}

Listener::~Listener() { close(); }

void Listener::close() {
  error_code ignored;
  pause_.cancel();
  acceptor_.close(ignored);
  struct stat status {};
  if (inode_ != 0 && ::lstat(address_.path.c_str(), &status) == 0 && status.st_ino == inode_) {
    ::unlink(address_.path.c_str());
  }
  inode_ = 0;
}

void Listener::start(Handlers handlers) {
  handlers_ = std::move(handlers);
  accept();
}

void Listener::resume() {
  if (waits_.use_count() == 1 && acceptor_.is_open()) accept();
}

void Listener::accept() {
  acceptor_.async_accept([this, waits = waits_](error_code error, Socket socket) {
    if (error == boost::asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (!error) {
      try {
        handlers_.arrived(*this, std::move(socket));
      } catch (const std::bad_alloc&) {
        error = boost::asio::error::no_memory;
      }
    }
    if (!error) return accept();
    pause_.expires_after(std::chrono::milliseconds(100));
    pause_.async_wait([this, waits = waits_](error_code stopped) {
      if (!stopped && acceptor_.is_open()) accept();
    });
    handlers_.failed(error);
  });
}

}  // namespace weir::server
