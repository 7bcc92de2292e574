#include "wire/resp_reader.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "wire/integer.hpp"

namespace weir::wire {
namespace {

constexpr std::string_view types = "+-:$*_#,(!=%~>|";

/// Room made for elements before they arrive. So few that a hostile length gains nothing by it.
constexpr std::size_t most_reserved = 8;

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

std::string_view without_plus(std::string_view text) {
  const bool signed_so = text.size() > 1 && text[0] == '+' && is_digit(text[1]);
  return signed_so ? text.substr(1) : text;
}

/// A double as RESP3 spells it. std::from_chars would also take "infinity" and "nan(1)".
std::optional<double> decimal(std::string_view text) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "inf") return infinity;
  if (text == "-inf") return -infinity;
  if (text == "nan" || text == "-nan") return std::numeric_limits<double>::quiet_NaN();
  text = without_plus(text);
  const std::size_t first_digit = text.starts_with('-') ? 1 : 0;
  if (text.size() == first_digit || !is_digit(text[first_digit])) return {};
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return {};
  return value;
}

bool is_big_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

ReplyType type_of(char byte) {
  switch (byte) {
    case '+': return ReplyType::simple;
    case '-':
    case '!': return ReplyType::error;
    case ':': return ReplyType::integer;
    case '$': return ReplyType::bulk;
    case '=': return ReplyType::verbatim;
    case '#': return ReplyType::boolean;
    case ',': return ReplyType::number;
    case '(': return ReplyType::big_number;
    case '*': return ReplyType::array;
    case '%':
    case '|': return ReplyType::map;
    case '~': return ReplyType::set;
    case '>': return ReplyType::push;
    default: return ReplyType::null;
  }
}

}  // namespace

const Reply* Reply::field(std::string_view name) const noexcept {
  if (type != ReplyType::map && type != ReplyType::array) return nullptr;
  for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
    if (elements[i].text == name) return &elements[i + 1];
  }
  return nullptr;
}

const char* describe(ReplyFault fault) noexcept {
  switch (fault) {
    case ReplyFault::none: return "no fault";
    case ReplyFault::type: return "expected a byte that names a type of reply";
    case ReplyFault::line_end: return "expected CR LF at the end of a line";
    case ReplyFault::line_too_long: return "a line is longer than allowed";
    case ReplyFault::integer: return "expected an integer of 64 bits";
    case ReplyFault::length: return "expected a length";
    case ReplyFault::bulk_too_long: return "a bulk string is longer than allowed";
    case ReplyFault::bulk_end: return "expected CR LF after the bytes of a bulk string";
    case ReplyFault::too_many_elements: return "more elements than allowed";
    case ReplyFault::too_deep: return "aggregates nested deeper than allowed";
    case ReplyFault::reply_too_long: return "a reply is longer than allowed";
    case ReplyFault::null: return "expected CR LF after '_'";
    case ReplyFault::boolean: return "expected 't' or 'f' after '#'";
    case ReplyFault::number: return "expected a decimal number, inf or nan after ','";
    case ReplyFault::big_number: return "expected digits after '('";
    case ReplyFault::verbatim: return "expected three bytes and ':' in a verbatim string";
    case ReplyFault::nested_push: return "a push inside another reply";
  }
  return "no fault";
}

void ReplyReader::reset() { *this = ReplyReader(limits_); }

bool ReplyReader::refuse(ReplyFault fault) {
  fault_ = fault;
  return false;
}

ReadReply ReplyReader::read(std::string_view bytes, Reply& reply) {
  if (fault_ != ReplyFault::none) return {.status = ReadStatus::malformed, .fault = fault_};
  // Bytes past the limit are never looked at, so a reply that is too long is the same fault whether
  // they have arrived or not.
  const std::string_view window = bytes.substr(0, limits_.reply_bytes - taken_);
  std::string_view rest = window;
  while (!rest.empty()) {
    if (advance(rest, reply)) {
      taken_ = 0;
      elements_ = 0;
      return {.status = ReadStatus::complete, .consumed = window.size() - rest.size()};
    }
    if (fault_ != ReplyFault::none) return {.status = ReadStatus::malformed, .fault = fault_};
  }
  taken_ += window.size();
  if (taken_ == limits_.reply_bytes) {
    refuse(ReplyFault::reply_too_long);
    return {.status = ReadStatus::malformed, .fault = fault_};
  }
  return {.status = ReadStatus::incomplete, .consumed = window.size()};
}

/// Takes at least one byte. True once `reply` is whole.
bool ReplyReader::advance(std::string_view& bytes, Reply& reply) {
  switch (expects_) {
    case Expects::type: take_type(bytes); return false;
    case Expects::line:
    case Expects::line_feed: {
      const auto line = take_line(bytes);
      if (!line) return false;
      const bool value_is_whole = interpret(*line);
      line_.clear();
      return value_is_whole && attach(std::exchange(value_, {}), reply);
    }
    case Expects::bulk: take_bulk(bytes); return false;
    case Expects::bulk_return:
    case Expects::bulk_feed:
      return take_bulk_end(bytes) && attach(std::exchange(value_, {}), reply);
  }
  return false;
}

void ReplyReader::take_type(std::string_view& bytes) {
  type_ = bytes.front();
  bytes.remove_prefix(1);
  if (types.find(type_) == std::string_view::npos) {
    refuse(ReplyFault::type);
    return;
  }
  value_.type = type_of(type_);
  expects_ = Expects::line;
}

/// The line, once it is whole: in `bytes`, or in line_ where it came in pieces.
std::optional<std::string_view> ReplyReader::take_line(std::string_view& bytes) {
  const auto refused = [this](ReplyFault fault) {
    refuse(fault);
    return std::nullopt;
  };
  if (expects_ == Expects::line_feed) {
    if (bytes.front() != '\n') return refused(ReplyFault::line_end);
    bytes.remove_prefix(1);
    return line_;
  }
  const std::size_t room = limits_.line_bytes - line_.size();
  const std::string_view window = bytes.substr(0, room + 1);
  const auto end = std::find_if(window.begin(), window.end(),
                                [](char byte) { return byte == '\r' || byte == '\n'; });
  const std::string_view text(window.begin(), end);
  if (end == window.end()) {
    if (text.size() > room) return refused(ReplyFault::line_too_long);
    line_ += text;
    bytes.remove_prefix(text.size());
    return {};
  }
  if (*end == '\n') return refused(ReplyFault::line_end);
  if (text.size() + 1 == bytes.size()) {
    line_ += text;
    bytes.remove_prefix(text.size() + 1);
    expects_ = Expects::line_feed;
    return {};
  }
  if (bytes[text.size() + 1] != '\n') return refused(ReplyFault::line_end);
  bytes.remove_prefix(text.size() + 2);
  if (line_.empty()) return text;
  return line_ += text;
}

void ReplyReader::take_bulk(std::string_view& bytes) {
  const std::string_view part = bytes.substr(0, bulk_left_);
  value_.text += part;
  bulk_left_ -= part.size();
  bytes.remove_prefix(part.size());
  if (bulk_left_ == 0) expects_ = Expects::bulk_return;
}

/// True once the bulk string is whole.
bool ReplyReader::take_bulk_end(std::string_view& bytes) {
  const char byte = bytes.front();
  bytes.remove_prefix(1);
  if (expects_ == Expects::bulk_return) {
    if (byte != '\r') return refuse(ReplyFault::bulk_end);
    expects_ = Expects::bulk_feed;
    return false;
  }
  if (byte != '\n') return refuse(ReplyFault::bulk_end);
  if (value_.type == ReplyType::verbatim) {
    if (value_.text.size() < 4 || value_.text[3] != ':') return refuse(ReplyFault::verbatim);
    value_.text.erase(0, 4);
  }
  return true;
}

/// Reads what follows a type byte. True where that is all of the value.
bool ReplyReader::interpret(std::string_view line) {
  switch (type_) {
    case '+':
    case '-': value_.text = line; return true;
    case ':':
      if (const auto integer = strict_integer(without_plus(line))) {
        value_.integer = *integer;
        return true;
      }
      return refuse(ReplyFault::integer);
    case '#':
      if (line != "t" && line != "f") return refuse(ReplyFault::boolean);
      value_.integer = line == "t" ? 1 : 0;
      return true;
    case ',':
      if (const auto number = decimal(line)) {
        value_.number = *number;
        return true;
      }
      return refuse(ReplyFault::number);
    case '(':
      if (!is_big_number(line)) return refuse(ReplyFault::big_number);
      value_.text = line;
      return true;
    case '_': return line.empty() || refuse(ReplyFault::null);
    case '$':
    case '!':
    case '=': return open_bulk(line);
    default: return open_aggregate(line);
  }
}

bool ReplyReader::open_bulk(std::string_view line) {
  const auto length = strict_integer(line);
  if (length == -1 && type_ == '$') {
    value_.type = ReplyType::null;
    return true;
  }
  if (!length || *length < 0) return refuse(ReplyFault::length);
  if (static_cast<std::uint64_t>(*length) > limits_.bulk_bytes) {
    return refuse(ReplyFault::bulk_too_long);
  }
  bulk_left_ = static_cast<std::size_t>(*length);
  expects_ = bulk_left_ == 0 ? Expects::bulk_return : Expects::bulk;
  return false;
}

bool ReplyReader::open_aggregate(std::string_view line) {
  const auto length = strict_integer(line);
  if (length == -1 && type_ == '*') {
    value_.type = ReplyType::null;
    return true;
  }
  if (!length || *length < 0) return refuse(ReplyFault::length);
  if (value_.type == ReplyType::push && !open_.empty()) return refuse(ReplyFault::nested_push);

  const std::uint64_t each = value_.type == ReplyType::map ? 2 : 1;
  const auto announced = static_cast<std::uint64_t>(*length);
  if (announced > (limits_.elements - elements_) / each) {
    return refuse(ReplyFault::too_many_elements);
  }
  const bool attribute = type_ == '|';
  if (announced == 0) {
    expects_ = Expects::type;
    return !attribute;
  }
  if (open_.size() == limits_.depth) return refuse(ReplyFault::too_deep);
  const auto left = static_cast<std::size_t>(announced * each);
  elements_ += left;
  value_.elements.reserve(std::min(left, most_reserved));
  open_.push_back({.aggregate = std::exchange(value_, {}), .left = left, .attribute = attribute});
  expects_ = Expects::type;
  return false;
}

/// Puts a whole value where it belongs. True where that makes the reply whole.
bool ReplyReader::attach(Reply value, Reply& reply) {
  expects_ = Expects::type;
  while (!open_.empty()) {
    Open& innermost = open_.back();
    innermost.aggregate.elements.push_back(std::move(value));
    if (--innermost.left != 0) return false;
    const bool attribute = innermost.attribute;
    value = std::move(innermost.aggregate);
    open_.pop_back();
    if (attribute) return false;
  }
  reply = std::move(value);
  return true;
}

}  // namespace weir::wire
