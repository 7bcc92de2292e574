#include "gateway/forwarded.hpp"

#include <algorithm>
#include <optional>

#include "limit/characters.hpp"

namespace weir::gateway {
namespace {

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// The text between quotation marks, or the text itself; nothing where a mark stands alone.
/// An address needs no backslash, so what has one is none.
std::optional<std::string_view> unquoted(std::string_view text) noexcept {
  if (text.find('"') == text.npos) return text;
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return {};
  text = text.substr(1, text.size() - 2);
  if (text.find_first_of("\"\\") != text.npos) return {};
  return text;
}

/// Digits up to 65535, or RFC 7239's "_" and a word.
bool is_port(std::string_view text) noexcept {
  if (text.starts_with('_')) {
    return text.size() > 1 && std::all_of(text.begin() + 1, text.end(), [](char c) {
             return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-';
           });
  }
  unsigned port = 0;
  for (const char c : text) {
    if (!is_digit(c) || port > 65'535) return false;
    port = port * 10 + static_cast<unsigned>(c - '0');
  }
  return !text.empty() && port <= 65'535;
}

std::string_view without_zone(std::string_view text) noexcept {
  const std::size_t percent = text.find('%');
  const bool zone = percent != text.npos && percent + 1 < text.size() && text.find(':') < percent;
  return zone ? text.substr(0, percent) : text;
}

std::optional<Address> read_hop(std::string_view text) noexcept {
  const auto inside = unquoted(trimmed(text));
  if (!inside) return {};
  std::string_view host = trimmed(*inside);
  std::string_view behind;
  if (host.starts_with('[')) {
    const std::size_t bracket = host.find(']');
    if (bracket == host.npos) return {};
    behind = host.substr(bracket + 1);
    host = host.substr(1, bracket - 1);
    if (host.find(':') == host.npos) return {};
  } else if (const std::size_t colon = host.find(':');
             colon != host.npos && host.find(':', colon + 1) == host.npos) {
    behind = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (!behind.empty() && (behind.front() != ':' || !is_port(behind.substr(1)))) return {};
  const auto address = parse_address(without_zone(host));
  if (!address) return {};
  return *address;
}

/// What stands behind the last comma, taken off with it; nothing is left where there was none.
///
/// Commas in a quoted string do not count. It is read backwards: a trusted proxy's elements are
/// well formed, so they come out whole, and no mark that a client left open swallows them.
std::string_view take_last(std::optional<std::string_view>& rest) noexcept {
  const std::string_view text = *rest;
  std::size_t at = text.size();
  bool quoted = false;
  while (at > 0) {
    const char c = text[at - 1];
    if (c == ',' && !quoted) break;
    if (c == '"') {
      std::size_t slashes = 0;
      while (quoted && slashes + 1 < at && text[at - 2 - slashes] == '\\') ++slashes;
      if (slashes % 2 == 0) quoted = !quoted;
      at -= slashes;
    }
    --at;
  }
  rest.reset();
  if (at > 0) rest = text.substr(0, at - 1);
  return text.substr(at);
}

/// What stands in front of the first semicolon outside of quotes, taken off with it.
std::string_view take_first(std::string_view& text) noexcept {
  bool quoted = false;
  std::size_t at = 0;
  for (; at < text.size() && (quoted || text[at] != ';'); ++at) {
    if (quoted && text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      quoted = !quoted;
    }
  }
  const std::string_view first = text.substr(0, at);
  text.remove_prefix(std::min(text.size(), at + 1));
  return first;
}

bool is_for(std::string_view name) noexcept {
  constexpr std::string_view wanted = "for";
  return std::equal(name.begin(), name.end(), wanted.begin(), wanted.end(),
                    [](char one, char other) { return (one | 0x20) == other; });
}

/// What `for` says in one element of Forwarded.
std::optional<Address> read_element(std::string_view element) noexcept {
  std::optional<std::string_view> node;
  while (!element.empty()) {
    const std::string_view pair = trimmed(take_first(element));
    const std::size_t equals = pair.find('=');
    if (pair.empty()) continue;
    if (equals == pair.npos) return {};
    if (!is_for(pair.substr(0, equals))) continue;
    if (node) return {};
    node = pair.substr(equals + 1);
  }
  if (!node) return {};
  return read_hop(*node);
}

}  // namespace

Address client_of(ClientFrom from, const Way& way, const NetworkSet& trusted) noexcept {
  Address client = way.peer;
  if (from == ClientFrom::peer || !trusted.contains(client)) return client;
  std::size_t hops = 0;
  for (std::size_t i = way.lines.size(); i > 0; --i) {
    for (std::optional rest = way.lines[i - 1]; rest;) {
      if (++hops > most_hops) return client;
      const std::string_view element = take_last(rest);
      const auto hop = from == ClientFrom::forwarded ? read_element(element) : read_hop(element);
      if (!hop) return client;
      client = *hop;
      if (!trusted.contains(client)) return client;
    }
  }
  return client;
}

}  // namespace weir::gateway
