#include "redis/node.hpp"

#include <algorithm>

#include "wire/integer.hpp"

namespace weir::redis {

std::string print(const Node& node) {
  const bool colons = node.host.find(':') != std::string::npos;
  return (colons ? "[" + node.host + "]" : node.host) + ":" + std::to_string(node.port);
}

bool is_host(std::string_view text) noexcept {
  constexpr std::size_t longest = 255;  // what DNS has names for
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c <= '~' && c != '[' && c != ']';
  });
}

std::optional<std::uint16_t> read_port(std::string_view digits) noexcept {
  const auto port = wire::strict_integer(digits);
  if (!port || *port < 1 || *port > 65535) return {};
  return static_cast<std::uint16_t>(*port);
}

}  // namespace weir::redis
