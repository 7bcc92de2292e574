// RESP replies, the server's side: values -> bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir::wire {

/// The dialect that a connection speaks: RESP2 until HELLO 3.
enum class Protocol : std::uint8_t { resp2 = 2, resp3 = 3 };

/// Appends replies to a connection's output. Aggregates are announced, then written element by
/// element; that the counts agree is the caller's duty.
///
/// Threads  one at a time
/// Cost     no allocation while the output has room
/// Errors   none
class ReplyWriter {
 public:
  ReplyWriter(std::string& out, Protocol protocol) noexcept : out_(out), protocol_(protocol) {}

  /// A status such as OK. Control bytes become blanks: no text can end its line and begin another
  /// reply.
  void simple(std::string_view text);

  /// An error: a code in capitals, a blank, a sentence. Control bytes become blanks.
  void error(std::string_view text);

  void integer(std::int64_t value);

  /// An array of integers, at once: the reply of the busiest command.
  void integers(std::span<const std::int64_t> values);
  void bulk(std::string_view bytes);
  void array(std::size_t elements);

  /// A map of so many keys, each followed by its value. In RESP2 an array of twice as many
  /// elements.
  void map(std::size_t pairs);

  /// In RESP2 the null bulk string.
  void null();

  /// In RESP2 the integer 1 or 0.
  void boolean(bool value);

  Protocol protocol() const noexcept { return protocol_; }

  /// A writer to the same output in another dialect: the reply to HELLO is in the new one.
  ReplyWriter in(Protocol protocol) const noexcept { return {out_, protocol}; }

 private:
  void line(char type, std::string_view text);

  std::string& out_;
  Protocol protocol_;
};

}  // namespace weir::wire
