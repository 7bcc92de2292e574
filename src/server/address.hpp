// Where a server listens, and where a client finds it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/vocabulary.hpp"

namespace weir::server {

/// `HOST:PORT`, `tls:HOST:PORT` or `unix:PATH`; an IPv6 host stands in brackets.
struct Address {
  enum class Kind : std::uint8_t { tcp, tls, unix_socket };

  Kind kind = Kind::tcp;
  std::string host{};      ///< without brackets; empty for a Unix socket
  std::uint16_t port = 0;  ///< 0: a free one
  std::string path{};      ///< of a Unix socket, at most 107 bytes

  bool operator==(const Address&) const = default;
};

/// Why a text is no address: a sentence that says what was expected.
struct AddressError {
  std::string message;
};

Expected<Address, AddressError> read_address(std::string_view text);

/// The text that reads to the same address.
std::string print(const Address& address);

}  // namespace weir::server
