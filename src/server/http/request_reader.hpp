// HTTP/1.0 and 1.1: bytes to requests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/http_limits.hpp"
#include "server/http/http_message.hpp"

namespace weir::server {

/// Why bytes are no request that is answered: the status, and a sentence that says what was wrong.
/// Nothing that follows on the connection can be trusted.
struct HttpFault {
  int status;
  std::string detail;
};

/// Finds the next request in what has come of a connection.
///
/// Strict where two servers in a row might disagree on where a request ends: one Host, lines that
/// end with CR LF and are not folded, one length, and no coding but `chunked`.
///
/// Threads  one at a time
/// Cost     each byte is looked at once, however the input is cut; a head is copied once
/// Errors   refused: fault() says why
/// Memory   a head and a body at their limits
class RequestReader {
 public:
  enum class Step : std::uint8_t {
    incomplete,      ///< all of the input was taken in, or waits for more
    wants_continue,  ///< the client waits to be told that its body is welcome; then goes on
    complete,        ///< request() is the next one
    refused,
  };
  struct Read {
    Step step;
    std::size_t consumed;  ///< of the input; the rest comes again, with more behind it
  };

  explicit RequestReader(const HttpLimits& limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  /// Goes on from where the last call ended.
  Read read(std::string_view input);

  /// Requires that the last read() was complete; until the next.
  HttpRequest& request() noexcept { return request_; }
  const HttpFault& fault() const noexcept { return fault_; }

  /// Whether a request has begun that is not whole, and whether it is its body that is awaited.
  bool in_request() const noexcept { return in_head_ || in_body_; }
  bool in_body() const noexcept { return in_body_; }

 private:
  class Parser;

  Read read_head(std::string_view input);
  Read read_body(std::string_view input);
  Step refuse(int status, std::string detail);
  Step take_line(std::string_view line);
  Step take_request_line(std::string_view line);
  Step take_target(std::string_view target);
  Step finish_head(std::string_view head);
  Step check_fields();

  const HttpLimits& limits_;
  std::unique_ptr<Parser> parser_;
  HttpRequest request_;
  HttpFault fault_{};
  std::string head_;  ///< what the request's views are of
  std::string body_;
  std::size_t line_ = 0;      ///< where the line begins that is looked for, in the input
  std::size_t searched_ = 0;  ///< of the input, for that line's end
  std::size_t lines_ = 0;     ///< of this head so far
  std::size_t framed_ = 0;    ///< bytes of this body so far, with its framing
  bool in_head_ = false;
  bool in_body_ = false;
};

}  // namespace weir::server
