// The forms that gRPC gives to what HTTP/2 carries: framed messages, status, timeout, content type.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/vocabulary.hpp"

namespace weir::server::grpc {

/// How a call ended, by gRPC's numbers.
enum class Code : std::uint8_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  resource_exhausted = 8,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
};

/// How a call ended, and why where it did not end well.
struct Status {
  Code code = Code::ok;
  std::string message{};
  bool operator==(const Status&) const = default;
};

/// Before each message: whether it is compressed (0 or 1), and its length, four bytes from the
/// highest.
inline constexpr std::size_t prefix_bytes = 5;

/// What lies at the start of a call's input.
struct FirstMessage {
  enum class Form : std::uint8_t { incomplete, plain, compressed, too_long, no_message };
  Form form = Form::incomplete;
  std::size_t length = 0;  ///< of the message without its prefix, once that is there
};

/// Looks at the message at the start of `input`: complete only if it is all there. That it is too
/// long, compressed or none at all is seen from its prefix.
FirstMessage first_message(std::string_view input, std::size_t longest) noexcept;

/// Writes a message's prefix at `to`.
void write_prefix(std::uint8_t* to, std::size_t length) noexcept;

inline constexpr std::size_t longest_status_message = 1024;

/// A status message as a header's value: what is not printable ASCII, and '%', as %XX. A longer one
/// is cut, before a character of UTF-8: it may repeat what the client said.
std::string percent_encoded(std::string_view message);

/// `grpc-timeout`: 1 to 8 digits and a unit of H M S m u n. None where it is not that.
std::optional<std::chrono::nanoseconds> timeout_of(std::string_view text) noexcept;

/// Whether a content type names messages of Protocol Buffers over gRPC: application/grpc or
/// application/grpc+proto, parameters behind a semicolon aside.
bool is_grpc(std::string_view content_type) noexcept;

}  // namespace weir::server::grpc
