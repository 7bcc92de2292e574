// What a rule counts by: "{ip}", "{user} {uri}", "{header.x-api-key}".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/call.hpp"
#include "weir/vocabulary.hpp"

namespace weir::gateway {

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
  std::string escaped_ = "%";  ///< characters that a value may not have as they are
};

/// Appends a text whose reserved characters are written as %XX.
struct Escaping {
  std::string_view reserved;  ///< '%' among them
};
void append_escaped(std::string& to, std::string_view value, const Escaping& escaping);

}  // namespace weir::gateway
