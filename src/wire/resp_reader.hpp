// RESP replies, a client's side: bytes -> values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::wire {

enum class ReplyType : std::uint8_t {
  null,        ///< "_", and RESP2's "$-1" and "*-1"
  simple,      ///< text
  error,       ///< text; simple and bulk errors alike
  integer,     ///< integer
  bulk,        ///< text
  verbatim,    ///< text, without the three letters of its format
  boolean,     ///< integer: 1 or 0
  number,      ///< number
  big_number,  ///< text: its digits
  array,       ///< elements
  map,         ///< elements: key, value, key, value ...
  set,         ///< elements
  push,        ///< elements: not the answer to any request
};

/// One reply, with all that is nested in it. Fields that its type does not name are empty.
struct Reply {
  ReplyType type = ReplyType::null;
  std::int64_t integer = 0;
  double number = 0;
  std::string text{};
  std::vector<Reply> elements{};

  /// The value behind the key `name` in a map, or in the array of alternating keys and values that
  /// stands for one in RESP2. Null where there is none.
  const Reply* field(std::string_view name) const noexcept;

  bool operator==(const Reply&) const = default;
};

/// The most that one reply may be.
struct ReplyLimits {
  std::size_t depth = 16;             ///< aggregates open at once, attributes included
  std::size_t elements = 65536;       ///< in the whole reply: aggregates' and attributes' together
  std::size_t line_bytes = 65536;     ///< a status, error or number, without its type and line end
  std::size_t bulk_bytes = 1 << 20;   ///< one bulk or verbatim string
  std::size_t reply_bytes = 4 << 20;  ///< all of it, with framing and attributes
};

enum class ReadStatus : std::uint8_t {
  complete,    ///< one reply was read
  incomplete,  ///< all bytes were taken, and the reply goes on
  malformed,   ///< no further reply can be found in this stream: close
};

/// Why a reply is malformed.
enum class ReplyFault : std::uint8_t {
  none,
  type,               ///< the first byte names no type
  line_end,           ///< CR without LF, or LF without CR
  line_too_long,      ///< above ReplyLimits::line_bytes
  integer,            ///< not a 64-bit integer
  length,             ///< not an integer >= 0 (-1 is one type's null), or a streamed length "?"
  bulk_too_long,      ///< above ReplyLimits::bulk_bytes
  bulk_end,           ///< no CR LF after a bulk string's bytes
  too_many_elements,  ///< above ReplyLimits::elements
  too_deep,           ///< above ReplyLimits::depth
  reply_too_long,     ///< above ReplyLimits::reply_bytes
  null,               ///< "_" with something behind it
  boolean,            ///< neither "#t" nor "#f"
  number,             ///< not a finite decimal number, inf, -inf or nan
  big_number,         ///< not digits with at most a sign
  verbatim,           ///< does not begin with three bytes and ':'
  nested_push,        ///< a push inside another reply
};

/// What is wrong, in words: "expected CR LF at the end of a line".
const char* describe(ReplyFault fault) noexcept;

struct ReadReply {
  ReadStatus status = ReadStatus::incomplete;
  ReplyFault fault = ReplyFault::none;  ///< of a malformed reply
  std::size_t consumed = 0;             ///< bytes taken by this call; none when malformed
};

/// Reads replies in RESP2 and RESP3, in pieces as they arrive, from a server that is not trusted.
/// Attributes are skipped. Streamed strings and aggregates, which Redis never sends, are refused.
///
/// Threads  one at a time
/// Memory   in proportion to the bytes received: whatever a length announces, room is made ahead
///          for eight elements at most
/// Cost     each byte is looked at once, however it was split
/// Errors   see ReplyFault; the fault is the leftmost one, however the bytes were split
class ReplyReader {
 public:
  explicit ReplyReader(ReplyLimits limits = {}) : limits_(limits) {}

  /// Goes on from where the last call stopped. Takes bytes up to the end of one reply, which is
  /// then moved into `reply`; or else all of them. Once malformed, it stays so until reset().
  ReadReply read(std::string_view bytes, Reply& reply);

  /// Forgets a reply half read and any fault: for a new connection.
  void reset();

 private:
  enum class Expects : std::uint8_t { type, line, line_feed, bulk, bulk_return, bulk_feed };

  /// An aggregate whose elements are still arriving.
  struct Open {
    Reply aggregate;
    std::size_t left = 0;
    bool attribute = false;  ///< about the value behind it: dropped once whole
  };

  bool advance(std::string_view& bytes, Reply& reply);
  void take_type(std::string_view& bytes);
  std::optional<std::string_view> take_line(std::string_view& bytes);
  void take_bulk(std::string_view& bytes);
  bool take_bulk_end(std::string_view& bytes);
  bool interpret(std::string_view line);
  bool open_bulk(std::string_view line);
  bool open_aggregate(std::string_view line);
  bool attach(Reply value, Reply& reply);
  bool refuse(ReplyFault fault);

  ReplyLimits limits_;
  Expects expects_ = Expects::type;
  char type_ = '\0';  ///< of the value being read
  ReplyFault fault_ = ReplyFault::none;
  std::string line_;           ///< of a header whose end has not arrived
  Reply value_;                ///< being read
  std::size_t bulk_left_ = 0;  ///< bytes of it still to come
  std::vector<Open> open_;     ///< outermost first
  std::size_t elements_ = 0;   ///< announced so far in this reply
  std::size_t taken_ = 0;      ///< bytes of this reply
};

}  // namespace weir::wire
