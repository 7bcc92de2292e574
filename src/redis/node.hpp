// Where one Redis server is found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::redis {

struct Node {
  std::string host{};  ///< a name or an address, without brackets
  std::uint16_t port = 6379;

  bool operator==(const Node&) const = default;
};

/// `HOST:PORT`, an IPv6 host in brackets.
std::string print(const Node& node);

/// Whether a host can be looked up under this text: no blank, no bracket, at most 255 bytes.
bool is_host(std::string_view text) noexcept;

/// The port that digits spell, 1 to 65535.
std::optional<std::uint16_t> read_port(std::string_view digits) noexcept;

}  // namespace weir::redis
