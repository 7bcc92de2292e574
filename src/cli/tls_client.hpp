// The client's side of TLS, on a socket that waits.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weir/vocabulary.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace weir::cli {

struct TlsError {
  std::string message;
};

/// Threads  one at a time
/// Errors   a server that is not who it should be; the sentence says which
class TlsClient {
 public:
  struct Wanted {
    int descriptor;             ///< connected, with time limits of its own; others own it
    std::string host;           ///< a name or an address, which the server's certificate must have
    std::string ca{};           ///< empty: whom this machine trusts
    std::string certificate{};  ///< to show; may be empty, with its key
    std::string key{};
  };
  static Expected<std::unique_ptr<TlsClient>, TlsError> open(const Wanted& wanted);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  /// False at the end, with the reason in `why`.
  bool send(std::string_view bytes, std::string& why);
  /// 0 at the end, with the reason in `why`.
  std::size_t receive(std::span<char> room, std::string& why);

 private:
  TlsClient() = default;
  std::string prepare(const Wanted& wanted);
  std::string shake_hands(const Wanted& wanted);

  std::shared_ptr<ssl_ctx_st> context_;
  std::shared_ptr<ssl_st> ssl_;
};

}  // namespace weir::cli
