#include "server/grpc/protocol.hpp"

#include <algorithm>

namespace weir::server::grpc {

FirstMessage first_message(std::string_view input, std::size_t longest) noexcept {
  using Form = FirstMessage::Form;
  FirstMessage found;
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(input[at]); };
  if (!input.empty() && byte(0) > 1) found.form = Form::no_message;
  if (input.size() < prefix_bytes || found.form != Form::incomplete) return found;
  for (std::size_t at = 1; at < prefix_bytes; ++at) found.length = found.length << 8 | byte(at);
  if (byte(0) == 1) {
    found.form = Form::compressed;
  } else if (found.length > longest) {
    found.form = Form::too_long;
  } else if (input.size() - prefix_bytes >= found.length) {
    found.form = Form::plain;
  }
  return found;
}

void write_prefix(std::uint8_t* to, std::size_t length) noexcept {
  to[0] = 0;
  for (std::size_t at = prefix_bytes - 1; at > 0; --at, length >>= 8) {
    to[at] = static_cast<std::uint8_t>(length);
  }
}

std::string percent_encoded(std::string_view message) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  if (message.size() > longest_status_message) {
    std::size_t end = longest_status_message;
    while (end > 0 && (static_cast<std::uint8_t>(message[end]) & 0xc0) == 0x80) --end;
    message = message.substr(0, end);
  }
  std::string text;
  text.reserve(message.size());
  for (const char character : message) {
    if (character >= ' ' && character <= '~' && character != '%') {
      text += character;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(character);
    text += '%';
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::optional<std::chrono::nanoseconds> timeout_of(std::string_view text) noexcept {
  using std::chrono::nanoseconds;
  if (text.size() < 2 || text.size() > 9) return {};
  std::int64_t count = 0;
  for (const char digit : text.substr(0, text.size() - 1)) {
    if (digit < '0' || digit > '9') return {};
    count = count * 10 + (digit - '0');
  }
  switch (text.back()) {
    // 99 999 999 hours are 11 000 years: above what nanoseconds hold, and all that it can mean.
    case 'H': return std::chrono::hours(std::min<std::int64_t>(count, 1'000'000));
    case 'M': return std::chrono::minutes(count);
    case 'S': return std::chrono::seconds(count);
    case 'm': return std::chrono::milliseconds(count);
    case 'u': return std::chrono::microseconds(count);
    case 'n': return nanoseconds(count);
    default: return {};
  }
}

bool is_grpc(std::string_view content_type) noexcept {
  content_type = content_type.substr(0, content_type.find(';'));
  while (!content_type.empty() && content_type.back() == ' ') content_type.remove_suffix(1);
  return content_type == "application/grpc" || content_type == "application/grpc+proto";
}

}  // namespace weir::server::grpc
