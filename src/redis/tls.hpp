// TLS for the client: whom it trusts, what it shows, and one connection's encryption, without its
// socket. Names OpenSSL's types only as pointers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weir/redis/client.hpp"
#include "weir/vocabulary.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace weir::redis {

/// Read once, for any number of connections.
using TlsContext = std::shared_ptr<ssl_ctx_st>;

/// TLS 1.2 or later; by the three files of the settings, each of which may be empty.
Expected<TlsContext, ClientError> load_tls(const Client::Settings& files);

/// Bytes as programs mean them on one side, as the network carries them on the other.
///
/// Memory   a record received, and what was said and not yet taken
/// Threads  one at a time
/// Errors   trouble(), after which it is of no use
class TlsSession {
 public:
  /// `host` is whom the server's certificate must name: an address or a name.
  TlsSession(const TlsContext& context, const std::string& host);

  /// To be sent; waits in here until the two sides know each other.
  void say(std::string_view plain);

  /// Takes bytes from the network; appends to `plain` what they mean.
  void hear(std::string_view received, std::string& plain);

  /// Moves behind `out` what is to go to the network. To be called after each of the above.
  void take_output(std::string& out);

  /// Why it is over; empty while it is not.
  const std::string& trouble() const noexcept { return trouble_; }

 private:
  struct Free {
    void operator()(ssl_st* ssl) const noexcept;
  };
  void shake_hands();
  void fail(int result);

  std::unique_ptr<ssl_st, Free> ssl_;
  std::string waiting_;  ///< for the handshake
  std::string trouble_;
  enum class State : std::uint8_t { handshake, established, over } state_ = State::handshake;
};

}  // namespace weir::redis
