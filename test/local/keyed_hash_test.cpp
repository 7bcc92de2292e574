#include "weir/local/keyed_hash.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace weir {
namespace {

struct Vector {
  std::string bytes;
  std::uint64_t hash;
};

std::string first_bytes(int count) {
  std::string bytes;
  for (int value = 0; value < count; ++value) bytes += static_cast<char>(value);
  return bytes;
}

std::array<Vector, 8> vectors(const std::array<std::uint64_t, 8>& hashes) {
  return {{{"a", hashes[0]},
           {"abc", hashes[1]},
           {"weir", hashes[2]},
           {"1234567", hashes[3]},
           {"12345678", hashes[4]},
           {"123456789", hashes[5]},
           {"a key that is longer than two words", hashes[6]},
           {first_bytes(64), hashes[7]}}};
}

/// Told by another implementation: hash(bytes) of CPython 3.11, which is SipHash-1-3 with the key
/// that PYTHONHASHSEED stands for.
TEST(KeyedHash, IsSipHash13UnderTheZeroKey) {
  for (const auto& [bytes, hash] :
       vectors({0x407448d2b89b1813, 0xc03bc3a0042630f2, 0xafd841259e24ac48, 0xa33d651594fdae81,
                0x3489982430560a87, 0x0fbc0f0007965fcf, 0x004c59c687f57b6a, 0x75e05fd5bbc870c6})) {
    EXPECT_EQ(keyed_hash({0, 0}, bytes), hash) << bytes;
  }
}

TEST(KeyedHash, IsSipHash13UnderAnotherKey) {
  const HashKey key{0xdc504fd368cd90af, 0xb920bb9ffe99e9c1};  // PYTHONHASHSEED=42
  for (const auto& [bytes, hash] :
       vectors({0xfe4a47335692551e, 0x35b382d0c5d675e9, 0x6f0f6f6086db239b, 0xf426c87f0d9890ae,
                0x84eb586ab30cc7f5, 0x2cc2cece25c33444, 0xd2e2d7ef34ea533b, 0x91639ef7de8d52cb})) {
    EXPECT_EQ(keyed_hash(key, bytes), hash) << bytes;
  }
}

TEST(KeyedHash, ReadsNoByteBeyondTheKey) {
  const std::string bytes = first_bytes(40);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // A copy of exactly that size, for the address sanitizer to watch its end.
    const std::vector<char> exact(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(keyed_hash({1, 2}, {exact.data(), exact.size()}),
              keyed_hash({1, 2}, std::string_view(bytes).substr(0, size)));
  }
}

TEST(KeyedHash, ARandomKeyIsAnotherEachTime) {
  const HashKey one = HashKey::random();
  const HashKey other = HashKey::random();
  EXPECT_NE(one.first, other.first);
  EXPECT_NE(one.second, other.second);
}

}  // namespace
}  // namespace weir
