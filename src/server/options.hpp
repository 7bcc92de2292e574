// What an operator decides about a server.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "server/log.hpp"
#include "wire/resp_request.hpp"

namespace weir::server {

/// Limits on what one client may make the server hold. None can be switched off.
struct ConnectionLimits {
  wire::RequestLimits request;
  /// Replies that wait for a slow reader; no more commands are read from it until they are out.
  std::size_t output_bytes = std::size_t{1} << 20;
  std::size_t connections = 10'000;
  std::chrono::seconds stalled_write{10};  ///< then a reader that takes nothing is cut off
  std::chrono::seconds partial_frame{30};  ///< then a command that never ends is cut off
  std::chrono::seconds drain{5};           ///< from SIGTERM to the end of the last connection
};

struct Options {
  std::string resp = "127.0.0.1:7379";     ///< HOST:PORT; port 0 takes a free one
  std::string metrics = "127.0.0.1:7390";  ///< HOST:PORT, or "off"
  std::size_t threads = 1;
  std::size_t max_keys = 1'000'000;
  ConnectionLimits limits;
  LogOptions log;
};

}  // namespace weir::server
