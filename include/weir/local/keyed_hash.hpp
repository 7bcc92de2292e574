// A hash that strangers cannot aim.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weir {

/// The secret of a keyed hash.
struct HashKey {
  std::uint64_t first;
  std::uint64_t second;

  /// From the system's source of randomness.
  static HashKey random();
};

/// SipHash-1-3 of the bytes: without the key nobody can make keys that collide.
/// Source  J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", 2012
inline std::uint64_t keyed_hash(const HashKey& key, std::string_view bytes) noexcept {
  std::uint64_t a = key.first ^ 0x736f6d6570736575;
  std::uint64_t b = key.second ^ 0x646f72616e646f6d;
  std::uint64_t c = key.first ^ 0x6c7967656e657261;
  std::uint64_t d = key.second ^ 0x7465646279746573;
  const auto round = [&]() __attribute__((always_inline)) {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  };
  const auto absorb = [&](std::uint64_t word) __attribute__((always_inline)) {
    d ^= word;
    round();
    a ^= word;
  };
  static_assert(std::endian::native == std::endian::little);
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    absorb(word);
  }
  std::uint64_t last = std::uint64_t{bytes.size()} << 56;
  if (bytes.size() >= 8 && left > 0) {  // the last eight bytes, less those absorbed already
    std::uint64_t word = 0;
    std::memcpy(&word, at + left - 8, 8);
    last |= word >> (8 * (8 - left));
  } else {
    for (std::size_t index = 0; index < left; ++index) {
      last |= std::uint64_t{static_cast<unsigned char>(at[index])} << (8 * index);
    }
  }
  absorb(last);
  c ^= 0xff;
  round();
  round();
  round();
  return a ^ b ^ c ^ d;
}

}  // namespace weir
