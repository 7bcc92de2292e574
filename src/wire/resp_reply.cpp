#include "wire/resp_reply.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace weir::wire {
namespace {

/// The most bytes of a number with its type and line end: type, sign, 19 digits, CR LF.
constexpr std::size_t longest_number = 24;

/// A number below 100 with its line end, for most of a decision's numbers are so short.
struct ShortNumber {
  std::array<char, 4> text;
  std::uint8_t size;
};

constexpr std::array<ShortNumber, 100> short_numbers = [] {
  std::array<ShortNumber, 100> numbers{};
  for (unsigned value = 0; value < 100; ++value) {
    const char tens = static_cast<char>('0' + value / 10);
    const char ones = static_cast<char>('0' + value % 10);
    numbers[value] = value < 10 ? ShortNumber{{ones, '\r', '\n', '\0'}, 3}
                                : ShortNumber{{tens, ones, '\r', '\n'}, 4};
  }
  return numbers;
}();

/// Writes one at `to`; returns its end.
template <typename Number>
char* write_number(char* to, char type, Number value) {
  *to++ = type;
  if (static_cast<std::uint64_t>(value) < short_numbers.size()) {
    const ShortNumber& number = short_numbers[static_cast<std::size_t>(value)];
    std::copy(number.text.begin(), number.text.end(), to);
    return to + number.size;
  }
  if (value == static_cast<Number>(-1) && type == ':') {  // never
    *to++ = '-';
    *to++ = '1';
  } else {
    to = std::to_chars(to, to + longest_number, value).ptr;
  }
  *to++ = '\r';
  *to++ = '\n';
  return to;
}

template <typename Number>
void append_number(std::string& out, char type, Number value) {
  std::array<char, longest_number> buffer;
  out.append(buffer.data(), write_number(buffer.data(), type, value));
}

constexpr bool is_control(char byte) {
  return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f;
}

}  // namespace

void ReplyWriter::line(char type, std::string_view text) {
  out_ += type;
  const std::size_t start = out_.size();
  out_ += text;
  for (std::size_t i = start; i != out_.size(); ++i) {
    if (is_control(out_[i])) out_[i] = ' ';
  }
  out_ += "\r\n";
}

void ReplyWriter::simple(std::string_view text) { line('+', text); }

void ReplyWriter::error(std::string_view text) { line('-', text); }

void ReplyWriter::integer(std::int64_t value) { append_number(out_, ':', value); }

void ReplyWriter::integers(std::span<const std::int64_t> values) {
  constexpr std::size_t at_once = 8;
  std::array<char, (at_once + 1) * longest_number> buffer;
  char* end = write_number(buffer.data(), '*', values.size());
  for (;;) {
    const std::size_t count = std::min(at_once, values.size());
    for (const std::int64_t value : values.first(count)) end = write_number(end, ':', value);
    out_.append(buffer.data(), end);
    values = values.subspan(count);
    if (values.empty()) return;
    end = buffer.data();
  }
}

void ReplyWriter::bulk(std::string_view bytes) {
  append_number(out_, '$', bytes.size());
  out_.append(bytes).append("\r\n");
}

void ReplyWriter::array(std::size_t elements) { append_number(out_, '*', elements); }

void ReplyWriter::map(std::size_t pairs) {
  if (protocol_ == Protocol::resp3) {
    append_number(out_, '%', pairs);
  } else {
    array(2 * pairs);
  }
}

void ReplyWriter::null() { out_ += protocol_ == Protocol::resp3 ? "_\r\n" : "$-1\r\n"; }

void ReplyWriter::boolean(bool value) {
  if (protocol_ == Protocol::resp3) {
    out_ += value ? "#t\r\n" : "#f\r\n";
  } else {
    integer(value ? 1 : 0);
  }
}

}  // namespace weir::wire
