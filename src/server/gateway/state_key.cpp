#include "server/gateway/state_key.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace weir::server {
namespace {

constexpr std::string_view mark = "%~";
constexpr std::size_t digest_size = mark.size() + std::size_t{2} * SHA256_DIGEST_LENGTH;

}  // namespace

std::string bounded_key(std::string&& key, std::size_t most) {
  if (key.size() <= most) return std::move(key);
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  std::string bounded = key.substr(0, most - std::min(most, digest_size));
  bounded += mark;
  for (const unsigned char byte : digest) bounded += {digits[byte >> 4], digits[byte & 15]};
  return bounded;
}

}  // namespace weir::server
