// Protobuf's encoding without a message object, for what is asked and answered most.
//
// https://protobuf.dev/programming-guides/encoding. What libprotobuf reads as a message is read as
// the same here, and what it refuses is refused; a fuzz target holds both against each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace weir::server::grpc {

/// How a field's value is written.
enum class WireType : std::uint8_t {
  varint = 0,
  fixed64 = 1,
  bytes = 2,
  begin = 3,
  end = 4,
  fixed32 = 5
};

struct WireField {
  std::uint32_t number = 0;  ///< > 0
  WireType type{};
  std::uint64_t value = 0;   ///< of a varint
  std::string_view bytes{};  ///< of WireType::bytes; they lie in the message

  bool is(std::uint32_t other, WireType its) const noexcept {
    return number == other && type == its;
  }
};

/// Reads a message's fields in their order. Those of fixed size come without their value; groups,
/// which nobody writes any more, are left out.
///
/// Cost     no allocation
/// Errors   fails(): the bytes are no message. Texts are not looked at: see is_text()
class WireReader {
 public:
  explicit WireReader(std::string_view message) noexcept : rest_(message) {}

  /// False at the end, and where it fails.
  bool next(WireField& field) noexcept;
  bool fails() const noexcept { return fails_; }

 private:
  bool fail() noexcept;
  bool read_varint(std::uint64_t& value, std::size_t most_bytes) noexcept;
  bool read_field(WireField& field) noexcept;
  bool skip_group(std::uint32_t number) noexcept;

  std::string_view rest_;
  bool fails_ = false;
};

/// Whether the bytes are UTF-8, as a field of type string has to be.
bool is_text(std::string_view bytes) noexcept;

/// Appends a message's fields to a text. What has its default value is not written.
class WireWriter {
 public:
  explicit WireWriter(std::string& to) noexcept : to_(to) {}

  void number(std::uint32_t field, std::uint64_t value) {
    if (value == 0) return;
    tag(field, WireType::varint);
    varint(value);
  }
  void text(std::uint32_t field, std::string_view value) {
    if (value.empty()) return;
    tag(field, WireType::bytes);
    varint(value.size());
    to_ += value;
  }
  /// Fields that are written already.
  void fields(std::string_view written) { to_ += written; }
  /// A message within, whose fields `write` appends by this writer; it may have none.
  template <typename Write>
  void message(std::uint32_t field, Write&& write) {
    tag(field, WireType::bytes);
    const std::size_t begin = to_.size() + 1;
    to_ += '\0';  // where its length goes, which is one byte mostly
    std::forward<Write>(write)();
    put_length(begin);
  }

 private:
  void tag(std::uint32_t field, WireType type) {
    varint(std::uint64_t{field} << 3 | static_cast<std::uint64_t>(type));
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) to_ += static_cast<char>(value | 0x80);
    to_ += static_cast<char>(value);
  }
  void put_length(std::size_t begin);

  std::string& to_;
};

}  // namespace weir::server::grpc
