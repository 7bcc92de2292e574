#include "server/grpc/wire_format.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "wire/utf8.hpp"

namespace weir::server::grpc {
namespace {

constexpr std::size_t longest_tag = 5;
constexpr std::size_t longest_varint = 10;
constexpr std::size_t deepest_group = 100;  ///< as libprotobuf

}  // namespace

bool WireReader::fail() noexcept {
  fails_ = true;
  return false;
}

bool WireReader::read_varint(std::uint64_t& value, std::size_t most_bytes) noexcept {
  value = 0;
  const std::size_t most = std::min(most_bytes, rest_.size());
  for (std::size_t at = 0; at < most; ++at) {
    const auto byte = static_cast<std::uint8_t>(rest_[at]);
    value |= std::uint64_t{byte & 0x7fU} << (7 * at);  // bits beyond the 64th are dropped
    if (byte >= 0x80) continue;
    rest_.remove_prefix(at + 1);
    return true;
  }
  return fail();
}

/// A field, or a group's begin or end.
bool WireReader::read_field(WireField& field) noexcept {
  std::uint64_t tag = 0;
  if (!read_varint(tag, longest_tag)) return false;
  field = {static_cast<std::uint32_t>(tag) >> 3, static_cast<WireType>(tag & 7)};
  if (field.number == 0) return fail();
  const auto skip = [this](std::size_t bytes) {
    if (bytes > rest_.size()) return fail();
    rest_.remove_prefix(bytes);
    return true;
  };
  switch (field.type) {
    case WireType::varint: return read_varint(field.value, longest_varint);
    case WireType::fixed64: return skip(8);
    case WireType::fixed32: return skip(4);
    case WireType::begin:
    case WireType::end: return true;
    case WireType::bytes: {
      std::uint64_t size = 0;
      if (!read_varint(size, longest_tag)) return false;
      if (size > rest_.size()) return fail();
      field.bytes = rest_.substr(0, size);
      return skip(size);
    }
  }
  return fail();
}

bool WireReader::skip_group(std::uint32_t number) noexcept {
  std::array<std::uint32_t, deepest_group> open{number};
  std::size_t depth = 1;
  while (depth > 0) {
    WireField field;
    if (!read_field(field)) return false;
    if (field.type == WireType::begin) {
      if (depth == open.size()) return fail();
      open[depth++] = field.number;
    } else if (field.type == WireType::end && open[--depth] != field.number) {
      return fail();
    }
  }
  return true;
}

bool WireReader::next(WireField& field) noexcept {
  while (!fails_ && !rest_.empty()) {
    if (!read_field(field) || field.type == WireType::end) return fail();
    if (field.type != WireType::begin) return true;
    if (!skip_group(field.number)) return false;
  }
  return false;
}

bool is_text(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const std::size_t length = wire::utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

void WireWriter::put_length(std::size_t begin) {
  const std::size_t length = to_.size() - begin;
  std::size_t left = length;
  std::string more;
  for (; left >= 0x80; left >>= 7) more += static_cast<char>(left | 0x80);
  to_[begin - 1] = more.empty() ? static_cast<char>(left) : more.front();
  if (more.empty()) return;
  more += static_cast<char>(left);
  to_.insert(begin, more, 1);
}

}  // namespace weir::server::grpc
