// What one connection's commands may see and change.
#pragma once

#include <cstdint>
#include <string>

#include "server/service.hpp"
#include "wire/resp_reply.hpp"
#include "wire/resp_request.hpp"

namespace weir::server {

/// A connection as its commands see it; no socket.
struct Connection {
  std::uint64_t id = 0;
  wire::Protocol protocol = wire::Protocol::resp2;
  std::string name;
  std::string peer;
  bool authenticated = true;  ///< or nobody is asked for a password
  bool closing = false;       ///< QUIT: close once the replies are out
};

/// Everything a command runs against. One for each worker; the connection changes.
struct CommandContext {
  Service& service;
  RuleCache& rules;
  WorkerMetrics& metrics;
  Connection* connection = nullptr;
  Instant now{};           ///< when the bytes at hand were read
  std::uint64_t turn = 0;  ///< commands that may be answered now; RESET ends it before its time
  Grant grant{};           ///< scratch, so that the hot path need not clear one for each call
};

}  // namespace weir::server
