#include "server/address.hpp"

#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace weir::server {
namespace {

constexpr std::size_t longest_host = 255;                                // what DNS has names for
constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;  // and a NUL

/// The text, fit for a message of one line.
std::string shown(std::string_view text) {
  std::string printable;
  for (const char c : text.substr(0, 200)) printable += c >= ' ' && c <= '~' ? c : '?';
  return printable;
}

AddressError wrong(std::string_view text) {
  return {"'" + shown(text) +
          "' is no address; expected HOST:PORT, such as 127.0.0.1:7379, tls:HOST:PORT or "
          "unix:PATH"};
}

bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= longest_host && std::ranges::all_of(host, [](char c) {
    return c > ' ' && c <= '~' && c != '[' && c != ']';
  });
}

bool read_port(std::string_view text, std::uint16_t& port) {
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, port);
  return fault == std::errc{} && stop == end;
}

}  // namespace

Expected<Address, AddressError> read_address(std::string_view text) {
  Address address;
  std::string_view rest = text;
  if (rest.starts_with("unix:")) {
    rest.remove_prefix(5);
    if (rest.empty() || rest.find('\0') != std::string_view::npos) return wrong(text);
    if (rest.size() > longest_path) {
      return AddressError{"'" + shown(text) +
                          "' is too long; the path of a Unix socket has at most " +
                          std::to_string(longest_path) + " bytes"};
    }
    address.kind = Address::Kind::unix_socket;
    address.path = std::string(rest);
    return address;
  }
  if (rest.starts_with("tls:")) {
    address.kind = Address::Kind::tls;
    rest.remove_prefix(4);
  }
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return wrong(text);
  std::string_view host = rest.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  // Without brackets nobody can tell where an IPv6 address ends and the port begins.
  const bool colons = host.find(':') != std::string_view::npos;
  if (!is_host(host) || colons != bracketed) return wrong(text);
  if (!read_port(rest.substr(colon + 1), address.port)) return wrong(text);
  address.host = std::string(host);
  return address;
}

std::string print(const Address& address) {
  if (address.kind == Address::Kind::unix_socket) return "unix:" + address.path;
  const bool colons = address.host.find(':') != std::string::npos;
  return (address.kind == Address::Kind::tls ? "tls:" : "") +
         (colons ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace weir::server
