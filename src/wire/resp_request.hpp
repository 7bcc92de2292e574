// RESP requests: bytes -> arguments (the server's side), arguments -> bytes (a client's).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::wire {

/// The most that one command may be. Far below Redis' own (64 KiB inline, 2^31 arguments of
/// 512 MiB), since nothing that a limiter is asked needs more. Values above 2^31 - 1 count as that.
struct RequestLimits {
  std::size_t inline_bytes = 4096;     ///< a line without its end
  std::size_t arguments = 64;          ///< the command's name included; framed and inline
  std::size_t argument_bytes = 65536;  ///< one framed argument
  std::size_t frame_bytes = 262144;    ///< a framed command from its '*' to its last line end
};

/// One command's name and arguments. Views: see RequestParser::parse.
using Arguments = std::vector<std::string_view>;

enum class RequestStatus : std::uint8_t {
  complete,    ///< one command was read; with no arguments it is an empty one, to be skipped
  incomplete,  ///< all right so far: ask again with the same bytes and more behind them
  malformed,   ///< no further command can be found in this stream: answer and close
};

/// Why a request is malformed.
enum class RequestFault : std::uint8_t {
  none,
  argument_count,      ///< '*' is not followed by an integer and CR
  too_many_arguments,  ///< above RequestLimits::arguments
  not_an_argument,     ///< a byte other than '$' where an argument must begin
  argument_length,     ///< '$' is not followed by an integer >= 0 and CR
  argument_too_long,   ///< above RequestLimits::argument_bytes
  line_end,            ///< CR is not followed by LF
  argument_end,        ///< an argument's bytes are not followed by CR LF
  frame_too_long,      ///< above RequestLimits::frame_bytes
  inline_too_long,     ///< above RequestLimits::inline_bytes
  unbalanced_quotes,   ///< a quote left open, or a closing one with no blank behind it
  null_byte,           ///< NUL in an inline command: this is no text, perhaps a TLS handshake
};

/// What RequestParser::parse found at the start of the bytes it was shown.
struct ParsedRequest {
  RequestStatus status = RequestStatus::incomplete;
  RequestFault fault = RequestFault::none;  ///< of a malformed request
  char found = '\0';                        ///< the byte at fault, where one byte is
  std::size_t consumed = 0;                 ///< bytes of the complete command; else 0
  /// Of an incomplete request: with fewer bytes than this (counted from the same start) the answer
  /// would be the same, so there is no use in asking. Never above frame_bytes, inline_bytes + 2.
  std::size_t needed = 0;
};

/// Reads commands as Redis does: framed (`*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n`), or as a line of words
/// that a person types, with redis-cli's quotes and escapes. Stricter than Redis in three points:
/// CR is always followed by LF, an argument by CR LF, and no NUL hides in a line.
///
/// Threads  one at a time
/// Cost     a call allocates nothing once `arguments` and the parser have grown to the limits; the
///          whole command is read again on each call, in time bounded by the limits
/// Errors   see RequestFault; the fault is the leftmost one, however the bytes were split
class RequestParser {
 public:
  explicit RequestParser(RequestLimits limits = {});

  /// Reads the command at the start of `bytes` into `arguments`, which is empty afterwards unless
  /// the command is complete. The views lie in `bytes` or in this parser: they hold until either
  /// changes, and the parser changes with the next call. No state is kept from call to call.
  ParsedRequest parse(std::string_view bytes, Arguments& arguments);

  /// One line that says what was expected and what was found, for `-ERR Protocol error: ...`.
  /// Redis' own words come first where it has some. Requires a malformed request of this parser.
  std::string explain(const ParsedRequest& parsed) const;

  const RequestLimits& limits() const noexcept { return limits_; }

 private:
  ParsedRequest parse_frame(std::string_view frame, Arguments& arguments) const;
  ParsedRequest parse_inline(std::string_view bytes, Arguments& arguments);
  RequestFault split_line(std::string_view line, Arguments& arguments);

  RequestLimits limits_;
  std::string unquoted_;  ///< the words of the last inline command that had quotes in them
};

/// Appends one framed command to `out`.
void write_request(std::string& out, std::span<const std::string_view> arguments);
inline void write_request(std::string& out, std::initializer_list<std::string_view> arguments) {
  write_request(out, std::span(arguments.begin(), arguments.size()));
}

}  // namespace weir::wire
