// What a client may make the server hold over HTTP, and for how long.
#pragma once

#include <chrono>
#include <cstddef>

namespace weir::server {

/// More is refused. `weir serve --help-limits` has those that an operator may set.
struct HttpLimits {
  std::size_t head_bytes = 8192;      ///< request line and fields
  std::size_t fields = 64;            ///< lines of them
  std::size_t target_bytes = 4096;    ///< path and query
  std::size_t body_bytes = 64 << 10;  ///< framing of chunks may take as much again
  std::size_t requests = 10'000;      ///< on one connection
  std::size_t pipeline = 64;          ///< answers that a client may be owed before more is read
  std::size_t output_bytes = std::size_t{1} << 20;  ///< of answers that wait to be taken
  std::chrono::seconds head_time{5};     ///< from a request's first byte to the end of its fields
  std::chrono::seconds body_time{10};    ///< from there to the end of its body
  std::chrono::seconds idle_time{60};    ///< between requests
  std::chrono::seconds lost_answer{15};  ///< an answer that has not come then will not
};

}  // namespace weir::server
