// What one client of HTTP/2 may make the server hold and do.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/vocabulary.hpp"

namespace weir::server::grpc {

struct Http2Limits {
  std::uint32_t streams = 128;                            ///< calls at once
  std::size_t header_list_bytes = std::size_t{16} << 10;  ///< as HTTP/2 counts: 32 a field more
  std::size_t continuations = 4;                          ///< frames behind one HEADERS
  std::size_t message_bytes = std::size_t{4} << 20;       ///< one message of a client
  std::size_t request_bytes = std::size_t{256} << 10;     ///< of all calls not yet heard, and what
                                                          ///< MessageRoom has for long messages
  std::size_t unsent_bytes = std::size_t{64} << 10;       ///< answers; above, a call is not heard
  Cost resets = 200;                                      ///< calls that the client abandoned or
  Span resets_for = std::chrono::seconds(10);             ///< broke, in so long
  std::size_t frames_without_call = 1000;                 ///< in a second without a call
  std::chrono::seconds greeting{5};                       ///< until the client's first SETTINGS
  std::chrono::seconds request{10};                       ///< until a request is complete
  std::chrono::seconds stalled_answer{10};                ///< that the client's window lets not out
  std::chrono::seconds call{60};                          ///< until a unary call is answered
  std::chrono::seconds idle{300};                         ///< without a call
};

/// Those of them that are told of when a client meets one.
enum class Http2Limit : std::uint8_t {
  streams,
  header_list_bytes,
  continuations,
  message_bytes,
  resets,
  frames_without_call,
  greeting,
  request,
  stalled_answer,
  call,
};
inline constexpr std::size_t http2_limits = 10;

/// Who is told of clients that meet limits.
///
/// Threads  the connections'
class Http2Watch {
 public:
  Http2Watch() = default;
  virtual ~Http2Watch() = default;
  Http2Watch(const Http2Watch&) = delete;
  Http2Watch& operator=(const Http2Watch&) = delete;

  /// A call begins, which is then answered, or refused.
  virtual void begun() = 0;
  /// A call ends for it, or the connection.
  virtual void met(Http2Limit limit) = 0;
  /// The connection ends for a limit, or for what is no HTTP/2.
  virtual void gave_up(std::optional<Http2Limit> limit, std::string_view peer) = 0;
};

}  // namespace weir::server::grpc
