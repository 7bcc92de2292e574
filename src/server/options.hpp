// What an operator decides about a server.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "server/http/http_limits.hpp"
#include "server/log.hpp"
#include "weir/redis/policy.hpp"
#include "wire/resp_request.hpp"

namespace weir::server {

/// Limits on what one client may make the server hold. None can be switched off; /metrics counts
/// how often each was met.
struct ConnectionLimits {
  wire::RequestLimits request;
  HttpLimits http;
  std::size_t key_bytes = 1024;
  /// Commands of one client that are answered before the other clients of its worker get their
  /// turn.
  std::size_t pipeline = 1024;
  /// Replies that wait for a slow reader; no more commands are read from it until they are out.
  std::size_t output_bytes = std::size_t{1} << 20;
  std::size_t connections = 10'000;
  std::size_t connections_per_address = 10'000;  ///< of an IPv6 address its /64 network counts
  std::chrono::seconds stalled_write{10};        ///< then a reader that takes nothing is cut off
  std::chrono::seconds partial_frame{30};        ///< then a command that never ends is cut off
  std::chrono::seconds unauthenticated{5};  ///< from arrival to the TLS handshake and the password
  std::chrono::seconds drain{5};            ///< from SIGTERM to the end of the last connection
};

/// PEM files. All empty: no TLS. With `client_ca`, clients must show a certificate that it signed.
struct TlsFileNames {
  std::string certificate{};  ///< with the chain behind it
  std::string key{};
  std::string client_ca{};
};

/// Where states outlive the server. An empty path: nowhere.
struct SnapshotOptions {
  std::string path{};
  std::chrono::seconds every{60};  ///< and once more at the end
};

/// Where states lie that several servers share. An empty URL: in this process.
struct StoreOptions {
  std::string url{};
  std::string tls_ca{};           ///< whom to trust as the store; empty: whom this machine trusts
  std::string tls_certificate{};  ///< to show, with its key; may be empty
  std::string tls_key{};
  redis::Policy policy{};
};

/// What an operator says of rules. Both empty: there are none.
struct RuleOptions {
  std::vector<std::string> files{};  ///< rule files, and folders of them
  std::string rate{};                ///< "100/s per ip": a domain "default" without a file
};

struct Options {
  std::vector<std::string> resp{"127.0.0.1:7379"};  ///< see server/address.hpp; port 0: a free one
  std::vector<std::string> http{};                  ///< as resp; none: no HTTP
  std::vector<std::string> grpc{};
  std::string metrics = "127.0.0.1:7390";  ///< HOST:PORT, or "off"
  TlsFileNames tls;
  std::string password_file;     ///< empty: no password
  std::string admin_token_file;  ///< empty: no admin verbs over HTTP
  std::size_t threads = 1;
  std::size_t max_keys = 1'000'000;
  std::size_t max_memory = std::numeric_limits<std::size_t>::max();  ///< bytes for states
  SnapshotOptions snapshot;
  StoreOptions store;
  RuleOptions rules;
  ConnectionLimits limits;
  LogOptions log;
};

}  // namespace weir::server
