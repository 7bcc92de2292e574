// What a rule counts by: "{ip}", "{user} {uri}", "{header.x-api-key}".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/call.hpp"
#include "weir/vocabulary.hpp"

namespace weir::gateway {

/// Bytes that a text has as %XX, '%' among them.
class ReservedBytes {
 public:
  constexpr explicit ReservedBytes(std::string_view bytes) noexcept {
    add('%');
    for (const char byte : bytes) add(byte);
  }
  constexpr void add(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    words_[byte / 64] |= std::uint64_t{1} << byte % 64;
  }
  constexpr bool has(char c) const noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return (words_[byte / 64] >> byte % 64 & 1) != 0;
  }

 private:
  std::array<std::uint64_t, 4> words_{};
};

/// Appends a text, its reserved bytes as %XX.
void append_escaped(std::string& to, std::string_view value, const ReservedBytes& reserved);

/// A text with attributes of the call in braces; empty: one key for all calls.
///
/// Different values give different keys: in a value '%' becomes %25, and so does every character
/// that the template itself has outside braces.
class KeyTemplate {
 public:
  KeyTemplate() = default;

  struct Error {
    std::size_t column;  ///< of the text, from 1
    std::string message;
  };
  static Expected<KeyTemplate, Error> read(std::string_view text);

  /// Appends the key of the call; the attribute that the call does not say, if there is one.
  const Attribute* append(std::string& key, const Call& call, const Grouping& grouping) const;

  const std::vector<Attribute>& attributes() const noexcept { return attributes_; }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  std::vector<std::string> between_{""};  ///< before the first attribute, ..., behind the last
  std::vector<Attribute> attributes_;
  ReservedBytes reserved_{""};  ///< in values: all that the template has outside braces
};

}  // namespace weir::gateway
