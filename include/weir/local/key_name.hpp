// How a keyed limiter knows its keys: by 64 bits that strangers cannot aim.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "weir/local/keyed_hash.hpp"

namespace weir {

/// Makes names of keys, with secrets of its own.
///
/// Numbers, and texts of up to 32 bytes, are multiplied by secret numbers of 128 bits and added up;
/// the upper half is the name. For any two keys that were chosen without knowing the secret, the
/// chance that their names are equal is 2^-64 at most: no hash does better. (Secret multiplication
/// is linear, so who could read names would find more that are near each other; a one-to-one mix
/// behind it, also secret, hides that from who sees no more than which keys met.) Longer texts go
/// through SipHash-1-3.
///
/// Source  M. Thorup, "High speed hashing for integers and strings", 2015: strongly universal
///         pair-multiply-shift, for words of 64 bits
class KeyNames {
 public:
  explicit KeyNames(const HashKey& secret) noexcept : secret_(secret) {
    std::uint64_t count = 0;
    const auto draw = [&] {
      ++count;
      std::array<char, 8> bytes{};
      std::memcpy(bytes.data(), &count, bytes.size());
      return keyed_hash(secret, {bytes.data(), bytes.size()});
    };
    for (Product& factor : factors_) factor = Product{draw()} << 64 | draw();
    mix_ = draw() | 1;
    secret_ = {draw(), draw()};
  }

  std::uint64_t name(std::uint64_t number) const noexcept {
    return mixed(factors_[0] + factors_[1] * number);
  }

  std::uint64_t name(std::string_view text) const noexcept {
    const std::size_t size = text.size();
    const char* const at = text.data();
    if (size > 32) return mixed(Product{keyed_hash(secret_, text)} << 64);
    // Words may overlap: with the size they still say which text it is.
    Product sum = factors_[0] + factors_[1] * size;
    if (size >= 8) {
      sum += factors_[2] * word<std::uint64_t>(at);
      sum += factors_[3] * word<std::uint64_t>(at + size - 8);
      if (size > 16) {
        sum += factors_[4] * word<std::uint64_t>(at + 8);
        sum += factors_[5] * word<std::uint64_t>(at + size - 16);
      }
    } else if (size >= 4) {
      const std::uint64_t first = word<std::uint32_t>(at);
      sum += factors_[2] * (first << 32 | word<std::uint32_t>(at + size - 4));
    } else if (size > 0) {
      std::uint64_t bytes = 0;
      for (const char byte : text) bytes = bytes << 8 | static_cast<unsigned char>(byte);
      sum += factors_[2] * bytes;
    }
    return mixed(sum);
  }

 private:
  __extension__ using Product = unsigned __int128;

  template <typename Word>
  static Word word(const char* at) noexcept {
    Word read;
    std::memcpy(&read, at, sizeof read);
    return read;
  }

  std::uint64_t mixed(Product sum) const noexcept {
    std::uint64_t name = static_cast<std::uint64_t>(sum >> 64);
    name ^= name >> 32;
    name *= mix_;
    return name ^ name >> 29;
  }

  std::array<Product, 6> factors_{};
  std::uint64_t mix_ = 1;
  HashKey secret_;
};

/// A key that says its bytes: a function `std::string_view key_bytes(const Key&)`, found beside it.
template <typename Key>
concept HasKeyBytes = requires(const Key& key) {
  { key_bytes(key) } -> std::convertible_to<std::string_view>;
};

template <typename Key>
concept TextKey = std::convertible_to<const Key&, std::string_view>;

template <typename Key>
concept NumberKey = (std::integral<Key> || std::is_enum_v<Key>)&&sizeof(Key) <= 8;

/// What a keyed limiter can have for keys: texts, integers, enums, and types that have key_bytes()
/// or whose equal values have equal bytes.
template <typename Key>
concept KeyType = HasKeyBytes<Key> || TextKey<Key> || NumberKey<Key> ||
    std::has_unique_object_representations_v<Key>;

/// How a key is handed over: texts as a view, so that none is copied.
template <KeyType Key>
using KeyArgument =
    std::conditional_t<!HasKeyBytes<Key> && TextKey<Key>, std::string_view, const Key&>;

/// The bytes that stand for a key, in `key` itself.
template <KeyType Key>
std::string_view bytes_of(KeyArgument<Key> key) noexcept {
  if constexpr (HasKeyBytes<Key>) {
    return key_bytes(key);
  } else if constexpr (TextKey<Key>) {
    return key;
  } else {
    return {reinterpret_cast<const char*>(&key), sizeof key};
  }
}

template <KeyType Key>
std::uint64_t name_of(const KeyNames& names, KeyArgument<Key> key) noexcept {
  if constexpr (NumberKey<Key> && !HasKeyBytes<Key>) {
    return names.name(static_cast<std::uint64_t>(key));
  } else {
    return names.name(bytes_of<Key>(key));
  }
}

}  // namespace weir
