#include "wire/resp_reply.hpp"

#include <array>
#include <charconv>

namespace weir::wire {
namespace {

/// A number with its type and line end: most of what a decision's reply is made of. One append
/// each, of a size known to the compiler where the number has one digit, as most of them have.
template <typename Number>
void append_number(std::string& out, char type, Number value) {
  if (value >= Number{0} && value <= Number{9}) {
    const char digit[] = {type, static_cast<char>('0' + value), '\r', '\n'};
    out.append(digit, sizeof digit);
    return;
  }
  std::array<char, 24> buffer;  // type, sign, 19 digits, CR LF
  buffer[0] = type;
  char* end = std::to_chars(buffer.data() + 1, buffer.data() + buffer.size(), value).ptr;
  end[0] = '\r';
  end[1] = '\n';
  out.append(buffer.data(), end + 2);
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
