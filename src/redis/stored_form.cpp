#include "redis/stored_form.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "limit/state_form.hpp"

namespace weir::redis {
namespace {

using Form = std::vector<std::int64_t>;

/// In the order of the numbers that forms begin with.
constexpr std::string_view letters = "tlfwomck";
constexpr std::int64_t log_number = 4;
constexpr char ring = 'r';
constexpr char version = '1';
/// Of a log that is written whole.
constexpr std::size_t whole_entries = 128;
constexpr std::size_t front_of_ring = 4;

void append(std::string& bytes, std::int64_t field) {
  const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(field));
  for (unsigned shift = 0; shift < 64; shift += 8) {
    bytes.push_back(static_cast<char>(bits >> shift & 0xff));
  }
}

/// None where the eight bytes are no integer within 2^53.
std::optional<std::int64_t> read_field(std::string_view bytes) {
  std::uint64_t bits = 0;
  for (unsigned at = 0; at < 8; ++at) {
    bits |= std::uint64_t{static_cast<unsigned char>(bytes[at])} << (8 * at);
  }
  constexpr double farthest = 9007199254740992.0;
  const auto number = std::bit_cast<double>(bits);
  if (!(number >= -farthest && number <= farthest)) return {};
  const auto field = static_cast<std::int64_t>(number);
  if (static_cast<double>(field) != number) return {};
  return field;
}

/// The entries of a ring from the oldest on: the form of a log.
std::optional<Form> unwound(std::span<const std::int64_t> fields) {
  if (fields.size() < front_of_ring) return {};
  const auto slots = static_cast<std::int64_t>(fields.size() - front_of_ring);
  const std::int64_t head = fields[0];
  const std::int64_t size = fields[1];
  if (fields[2] != slots || size < 0 || size > slots || head < 0 || head >= slots) return {};
  Form form{log_number};
  for (std::int64_t at = 0; at < size; ++at) {
    form.push_back(fields[front_of_ring + static_cast<std::size_t>((head + at) % slots)]);
  }
  return form;
}

}  // namespace

std::string write_stored(const Limit::State& state) {
  Form form;
  write_form(state, form);
  const std::size_t entries = form.size() - 1;
  const bool in_ring = form[0] == log_number && entries > whole_entries;
  std::string bytes{in_ring ? ring : letters[static_cast<std::size_t>(form[0])], version};
  if (in_ring) {
    const auto size = static_cast<std::int64_t>(entries);
    for (const std::int64_t field : {std::int64_t{0}, size, size, form.back()}) {
      append(bytes, field);
    }
  }
  for (std::size_t at = 1; at < form.size(); ++at) append(bytes, form[at]);
  return bytes;
}

std::optional<Limit::State> read_stored(std::string_view bytes) {
  if (bytes.size() < 2 || bytes.size() % 8 != 2 || bytes[1] != version) return {};
  const std::size_t number = letters.find(bytes[0]);
  if (number == std::string_view::npos && bytes[0] != ring) return {};
  Form form;
  if (bytes[0] != ring) form.push_back(static_cast<std::int64_t>(number));
  for (std::size_t at = 2; at < bytes.size(); at += 8) {
    const auto field = read_field(bytes.substr(at, 8));
    if (!field) return {};
    form.push_back(*field);
  }
  if (bytes[0] != ring) return read_form(form);
  const auto log = unwound(form);
  if (!log) return {};
  return read_form(*log);
}

}  // namespace weir::redis
