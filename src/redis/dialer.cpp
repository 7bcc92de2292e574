#include "redis/dialer.hpp"

#include <fcntl.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <optional>
#include <utility>
#include <vector>

namespace weir::redis {

namespace asio = boost::asio;
using boost::system::error_code;
using Loop = asio::io_context::executor_type;
using Endpoint = asio::generic::stream_protocol::endpoint;

/// Handlers of the loop hold it; those of a dial that was given up are deaf.
class Dialer::Body : public std::enable_shared_from_this<Body> {
 public:
  Body(Loop loop, const Node& node, const std::string& path)
      : node_(node), path_(path), loop_(loop), socket_(loop), resolver_(loop) {}

  void dial(Dialed dialed) {
    stop();
    dialed_ = std::move(dialed);
    if (!path_.empty()) {
      addresses_.emplace_back(asio::local::stream_protocol::endpoint(path_));
      return connect();
    }
    error_code is_name;
    const auto address = asio::ip::make_address(node_.host, is_name);
    if (is_name) return look_up();
    addresses_.emplace_back(asio::ip::tcp::endpoint(address, node_.port));
    connect();
  }

  /// A look-up goes on: nobody can stop it, and what it finds serves the next dial.
  void stop() {
    ++dial_;
    dialed_ = nullptr;
    addresses_.clear();
    trouble_.clear();
    if (trying_) silent_ = std::exchange(trying_, std::nullopt);
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  static constexpr std::size_t most_addresses = 16;

  void look_up() {
    if (looking_up_) return fail(node_.host + " is still being looked up");
    if (!found_.empty()) return begin_with(std::exchange(found_, {}));
    looking_up_ = true;
    resolver_.async_resolve(
        node_.host, std::to_string(node_.port), asio::ip::resolver_base::numeric_service,
        [self = shared_from_this(), dial = dial_](error_code error, const auto& found) {
          self->looking_up_ = false;
          std::vector<Endpoint> addresses;
          for (const auto& each : found) {
            if (addresses.size() == most_addresses) break;
            addresses.emplace_back(each.endpoint());
          }
          if (dial != self->dial_) {
            self->found_ = std::move(addresses);
          } else if (error) {
            self->fail("no address of " + self->node_.host + ": " + error.message());
          } else {
            self->begin_with(std::move(addresses));
          }
        });
  }

  /// One that was silent takes all the time there is: the next dial begins behind it.
  void begin_with(std::vector<Endpoint>&& addresses) {
    addresses_ = std::move(addresses);
    if (silent_) {
      const auto found = std::ranges::find(addresses_, *silent_);
      if (found != addresses_.end()) std::rotate(addresses_.begin(), found + 1, addresses_.end());
    }
    connect();
  }

  /// To the next of the host's addresses.
  void connect() {
    error_code error;
    socket_.close(error);
    if (addresses_.empty()) return fail(trouble_.empty() ? "no address" : trouble_);
    const Endpoint address = addresses_.front();
    addresses_.erase(addresses_.begin());
    socket_.open(address.protocol(), error);
    if (!error) socket_.non_blocking(true, error);
    if (error) {  // of a family that this machine does not speak, say
      trouble_ = error.message();
      return connect();
    }
    ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
    trying_ = address;
    socket_.async_connect(address, [self = shared_from_this(), dial = dial_](error_code fault) {
      if (dial != self->dial_) return;
      self->trying_.reset();
      if (!fault) return self->connected();
      self->trouble_ = fault.message();
      self->connect();
    });
  }

  void connected() {
    error_code ignored;
    if (path_.empty()) socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    std::exchange(dialed_, nullptr)(std::exchange(socket_, StreamSocket(loop_)), "");
  }

  void fail(const std::string& trouble) {
    std::exchange(dialed_, nullptr)(StreamSocket(loop_), trouble);
  }

  const Node node_;
  const std::string path_;
  Loop loop_;
  StreamSocket socket_;
  asio::ip::basic_resolver<asio::ip::tcp, Loop> resolver_;
  Dialed dialed_;
  std::uint64_t dial_ = 0;  ///< which one
  bool looking_up_ = false;
  std::vector<Endpoint> found_;      ///< too late for the dial that asked
  std::vector<Endpoint> addresses_;  ///< not tried yet
  std::optional<Endpoint> trying_;
  std::optional<Endpoint> silent_;  ///< the last one that a dial was given up over
  std::string trouble_;             ///< with the last of them
};

Dialer::Dialer(Loop loop, const Node& node, const std::string& path)
    : body_(std::make_shared<Body>(loop, node, path)) {}

Dialer::~Dialer() { body_->stop(); }

void Dialer::dial(Dialed dialed) { body_->dial(std::move(dialed)); }

void Dialer::stop() { body_->stop(); }

}  // namespace weir::redis
