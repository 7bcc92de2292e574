#include "wire/resp_request.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "wire/quoted_byte.hpp"

namespace weir::wire {
namespace {

ParsedRequest waits_for(std::size_t needed) {
  return {.status = RequestStatus::incomplete, .needed = needed};
}

ParsedRequest refused(RequestFault fault, char found = '\0') {
  return {.status = RequestStatus::malformed, .fault = fault, .found = found};
}

/// What a header line's integer turned out to be.
enum class Integer : std::uint8_t { whole, partial, not_an_integer, too_great, no_line_end };

struct HeaderLimits {
  std::uint64_t highest;  ///< at most 2^60, so that one digit more cannot overflow
  char lowest_digit;      ///< '1' where zero cannot be, as after a minus sign
};

/// Reads digits and CR LF at `at`, and moves `at` behind them or onto the byte at fault. Strictly
/// from left to right, each byte judged as soon as it is there: so the verdict never depends on how
/// the bytes were split.
Integer read_integer(const char*& at, const char* end, HeaderLimits limits, std::uint64_t& value) {
  if (at == end) return Integer::partial;
  if (*at < limits.lowest_digit || *at > '9') return Integer::not_an_integer;
  value = static_cast<std::uint64_t>(*at - '0');
  if (value > limits.highest) return Integer::too_great;
  const bool may_go_on = value != 0;  // Redis takes "0" and refuses "00" and "01".
  for (++at; may_go_on && at != end && *at >= '0' && *at <= '9'; ++at) {
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
    if (value > limits.highest) return Integer::too_great;
  }
  if (at == end) return Integer::partial;
  if (*at != '\r') return Integer::not_an_integer;
  if (++at == end) return Integer::partial;
  if (*at != '\n') return Integer::no_line_end;
  ++at;
  return Integer::whole;
}

constexpr bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

constexpr std::size_t longest_short = 99;

/// Takes a whole argument at `at` whose length has one or two digits, which is nearly all that ever
/// comes, and moves `at` behind it; false, with nothing done, for all others.
inline bool take_short_argument(const char*& at, const char* end, Arguments& arguments) {
  constexpr std::size_t shortest = 6;  // $0 CR LF CR LF
  const auto left = static_cast<std::size_t>(end - at);
  if (left < shortest || at[0] != '$' || !is_digit(at[1])) return false;
  auto length = static_cast<std::size_t>(at[1] - '0');
  const char* line_end = at + 2;
  if (is_digit(*line_end) && length != 0) {
    length = length * 10 + static_cast<std::size_t>(*line_end - '0');
    ++line_end;
  }
  const char* const bytes = line_end + 2;
  if (left < static_cast<std::size_t>(bytes - at) + length + 2) return false;
  const char* const behind = bytes + length;
  if (line_end[0] != '\r' || line_end[1] != '\n' || behind[0] != '\r' || behind[1] != '\n') {
    return false;
  }
  arguments.emplace_back(bytes, length);
  at = behind + 2;
  return true;
}

struct HeaderFaults {
  RequestFault not_an_integer;
  RequestFault too_great;
};

RequestFault fault_of(Integer integer, HeaderFaults faults) {
  if (integer == Integer::no_line_end) return RequestFault::line_end;
  return integer == Integer::too_great ? faults.too_great : faults.not_an_integer;
}

/// C's isspace() in the "C" locale, which is what Redis skips between words.
constexpr bool is_blank(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/// What ends a word outside quotes. Not the same set: Redis keeps \v and \f inside a word.
constexpr bool ends_word(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

constexpr bool is_quote(char byte) { return byte == '"' || byte == '\''; }

std::optional<unsigned> hex_digit(char byte) {
  if (byte >= '0' && byte <= '9') return static_cast<unsigned>(byte - '0');
  const char lower = static_cast<char>(byte | 0x20);
  if (lower >= 'a' && lower <= 'f') return static_cast<unsigned>(lower - 'a' + 10);
  return {};
}

constexpr char escaped(char letter) {
  switch (letter) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'b': return '\b';
    case 'a': return '\a';
    default: return letter;
  }
}

/// Takes what follows a backslash inside double quotes: the character meant, `text` moved behind
/// it. Requires that something follows.
char unescape(std::string_view& text) {
  if (text.size() >= 3 && text[0] == 'x') {
    const auto high = hex_digit(text[1]);
    const auto low = hex_digit(text[2]);
    if (high && low) {
      text.remove_prefix(3);
      return static_cast<char>(*high << 4 | *low);
    }
  }
  const char meant = escaped(text.front());
  text.remove_prefix(1);
  return meant;
}

/// Takes the quoted part at the start of `text` (behind its opening quote) and appends what it
/// means to `out`. False where it does not end, or something other than a blank follows its end.
bool take_quoted(std::string_view& text, char quote, std::string& out) {
  while (!text.empty()) {
    const char byte = text.front();
    text.remove_prefix(1);
    if (byte == quote) return text.empty() || is_blank(text.front());
    if (byte != '\\' || text.empty()) {
      out += byte;
    } else if (quote == '"') {
      out += unescape(text);
    } else if (text.starts_with('\'')) {  // the one escape that single quotes know
      out += '\'';
      text.remove_prefix(1);
    } else {
      out += '\\';
    }
  }
  return false;
}

/// Takes one word that has a quote in it. False where the quotes are unbalanced.
bool take_word(std::string_view& text, std::string& out) {
  while (!text.empty() && !ends_word(text.front())) {
    const char byte = text.front();
    text.remove_prefix(1);
    if (is_quote(byte)) return take_quoted(text, byte, out);  // a word ends with its quotes
    out += byte;
  }
  return true;
}

void append_header(std::string& out, char type, std::size_t length) {
  std::array<char, 24> buffer;
  buffer[0] = type;
  char* end = std::to_chars(buffer.data() + 1, buffer.data() + buffer.size(), length).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(buffer.data(), end);
}

}  // namespace

RequestParser::RequestParser(RequestLimits limits) : limits_(limits) {
  constexpr std::size_t highest = 2'147'483'647;
  for (std::size_t* limit :
       {&limits_.inline_bytes, &limits_.arguments, &limits_.argument_bytes, &limits_.frame_bytes}) {
    *limit = std::min(*limit, highest);
  }
}

ParsedRequest RequestParser::parse(std::string_view bytes, Arguments& arguments) {
  arguments.clear();
  if (bytes.empty()) return waits_for(1);
  if (bytes.front() != '*') {
    const ParsedRequest parsed = parse_inline(bytes, arguments);
    if (parsed.status == RequestStatus::malformed) arguments.clear();
    return parsed;
  }

  // Bytes past the limit are never looked at, so a frame that is too long is the same fault whether
  // they have arrived or not.
  const ParsedRequest parsed = parse_frame(bytes.substr(0, limits_.frame_bytes), arguments);
  if (parsed.status == RequestStatus::complete) [[likely]]
    return parsed;
  arguments.clear();
  if (parsed.needed > limits_.frame_bytes) return refused(RequestFault::frame_too_long);
  return parsed;
}

ParsedRequest RequestParser::parse_frame(std::string_view frame, Arguments& arguments) const {
  constexpr HeaderFaults count_faults{RequestFault::argument_count,
                                      RequestFault::too_many_arguments};
  constexpr HeaderFaults length_faults{RequestFault::argument_length,
                                       RequestFault::argument_too_long};
  const char* const end = frame.data() + frame.size();
  const char* at = frame.data() + 1;

  // Redis skips any count below zero, not only -1; so do we.
  const bool negative = at != end && *at == '-';
  HeaderLimits allowed{limits_.arguments, '0'};
  if (negative) {
    allowed = {std::uint64_t{1} << 60, '1'};
    ++at;
  }
  std::uint64_t count = 0;
  if (const Integer read = read_integer(at, end, allowed, count); read != Integer::whole) {
    if (read == Integer::partial) return waits_for(frame.size() + 1);
    return refused(fault_of(read, count_faults), *at);
  }

  const bool takes_short = limits_.argument_bytes >= longest_short;
  for (std::uint64_t left = negative ? 0 : count; left != 0; --left) {
    if (takes_short && take_short_argument(at, end, arguments)) continue;
    if (at == end) return waits_for(frame.size() + 1);
    if (*at != '$') return refused(RequestFault::not_an_argument, *at);
    ++at;
    std::uint64_t length = 0;
    const Integer read = read_integer(at, end, {limits_.argument_bytes, '0'}, length);
    if (read != Integer::whole) {
      if (read == Integer::partial) return waits_for(frame.size() + 1);
      return refused(fault_of(read, length_faults), *at);
    }
    if (static_cast<std::uint64_t>(end - at) < length + 2) {
      return waits_for(static_cast<std::size_t>(at - frame.data()) + length + 2);
    }
    arguments.emplace_back(at, length);
    at += length;
    if (at[0] != '\r') return refused(RequestFault::argument_end, at[0]);
    if (at[1] != '\n') return refused(RequestFault::argument_end, at[1]);
    at += 2;
  }
  return {.status = RequestStatus::complete,
          .consumed = static_cast<std::size_t>(at - frame.data())};
}

ParsedRequest RequestParser::parse_inline(std::string_view bytes, Arguments& arguments) {
  const std::string_view window = bytes.substr(0, limits_.inline_bytes + 2);  // room for CR LF
  const std::size_t stop = window.find('\n');
  std::string_view line = window.substr(0, stop);
  if (line.find('\0') != std::string_view::npos) return refused(RequestFault::null_byte);
  if (stop == std::string_view::npos) {
    if (window.size() == limits_.inline_bytes + 2) return refused(RequestFault::inline_too_long);
    return waits_for(bytes.size() + 1);
  }

  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > limits_.inline_bytes) return refused(RequestFault::inline_too_long);
  const RequestFault fault = split_line(line, arguments);
  if (fault != RequestFault::none) return refused(fault);
  return {.status = RequestStatus::complete, .consumed = stop + 1};
}

RequestFault RequestParser::split_line(std::string_view line, Arguments& arguments) {
  unquoted_.clear();
  unquoted_.reserve(line.size());  // No word grows by unquoting, so views into this stay good.
  while (true) {
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    if (line.empty()) return RequestFault::none;
    if (arguments.size() == limits_.arguments) return RequestFault::too_many_arguments;

    std::size_t plain = 0;
    while (plain < line.size() && !ends_word(line[plain]) && !is_quote(line[plain])) ++plain;
    if (plain == line.size() || !is_quote(line[plain])) {
      arguments.push_back(line.substr(0, plain));
      line.remove_prefix(plain);
      continue;
    }
    const std::size_t start = unquoted_.size();
    if (!take_word(line, unquoted_)) return RequestFault::unbalanced_quotes;
    arguments.push_back(std::string_view(unquoted_).substr(start));
  }
}

std::string RequestParser::explain(const ParsedRequest& parsed) const {
  const auto at_most = [](std::size_t limit) {
    return "expected at most " + std::to_string(limit);
  };
  switch (parsed.fault) {
    case RequestFault::none: break;
    case RequestFault::argument_count:
      return "invalid multibulk length: expected an integer and CR LF, got " +
             quoted_byte(parsed.found);
    case RequestFault::too_many_arguments:
      return "invalid multibulk length: " + at_most(limits_.arguments) + " arguments";
    case RequestFault::not_an_argument: return "expected '$', got " + quoted_byte(parsed.found);
    case RequestFault::argument_length:
      return "invalid bulk length: expected an integer and CR LF, got " + quoted_byte(parsed.found);
    case RequestFault::argument_too_long:
      return "invalid bulk length: " + at_most(limits_.argument_bytes) + " bytes";
    case RequestFault::line_end: return "expected LF after CR, got " + quoted_byte(parsed.found);
    case RequestFault::argument_end:
      return "expected CR LF after the bytes of an argument, got " + quoted_byte(parsed.found);
    case RequestFault::frame_too_long:
      return "too big mbulk request: " + at_most(limits_.frame_bytes) + " bytes";
    case RequestFault::inline_too_long:
      return "too big inline request: " + at_most(limits_.inline_bytes) + " bytes";
    case RequestFault::unbalanced_quotes: return "unbalanced quotes in request";
    case RequestFault::null_byte: return "expected '*' or a line of text, got '\\x00'";
  }
  return "no fault";
}

void write_request(std::string& out, std::span<const std::string_view> arguments) {
  append_header(out, '*', arguments.size());
  for (const std::string_view argument : arguments) {
    append_header(out, '$', argument.size());
    out.append(argument).append("\r\n");
  }
}

}  // namespace weir::wire
