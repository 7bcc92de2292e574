// Which protocol the clients of an address speak.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::server {

enum class Speaks : std::uint8_t { resp, http, grpc };
inline constexpr std::size_t spoken = 3;

constexpr const char* name(Speaks what) noexcept {
  constexpr std::array<const char*, spoken> names{"resp", "http", "grpc"};
  return names[static_cast<std::size_t>(what)];
}

}  // namespace weir::server
