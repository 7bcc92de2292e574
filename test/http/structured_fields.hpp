// Lists of strings and integers with parameters, read as RFC 8941 says: the other side of the rate
// fields. Strict, and none of their code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weir::http {

using BareItem = std::variant<std::int64_t, std::string>;

struct Item {
  BareItem value{};
  std::map<std::string, BareItem> parameters{};
};

/// Reads one field value; each function takes what it read off the text, and nothing means a fault.
class StructuredFields {
 public:
  static std::optional<std::vector<Item>> list(std::string_view text) {
    StructuredFields fields(text);
    std::vector<Item> items;
    do {
      fields.skip_blanks();
      auto item = fields.item();
      if (!item) return {};
      items.push_back(*item);
      fields.skip_blanks();
    } while (fields.take(','));
    if (!fields.rest_.empty()) return {};
    return items;
  }

 private:
  explicit StructuredFields(std::string_view text) : rest_(text) {}

  std::optional<Item> item() {
    const auto value = bare_item();
    if (!value) return {};
    Item item{*value};
    while (take(';')) {
      skip_blanks();
      const std::string key = this->key();
      if (key.empty() || !take('=')) return {};
      const auto argument = bare_item();
      if (!argument || !item.parameters.emplace(key, *argument).second) return {};
    }
    return item;
  }

  std::optional<BareItem> bare_item() {
    if (take('"')) return string();
    const bool negative = take('-');
    std::int64_t number = 0;
    int digits = 0;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; ++digits) {
      if (digits == 15) return {};
      number = number * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    if (digits == 0) return {};
    return negative ? -number : number;
  }

  std::optional<BareItem> string() {
    std::string text;
    while (!rest_.empty()) {
      if (take('"')) return text;
      const bool escaped = take('\\');
      if (rest_.empty()) return {};
      const char c = rest_.front();
      if (c < ' ' || c > '~' || (escaped && c != '"' && c != '\\')) return {};
      text += c;
      rest_.remove_prefix(1);
    }
    return {};
  }

  std::string key() {
    std::string text;
    while (!rest_.empty() && rest_.front() >= 'a' && rest_.front() <= 'z') {
      text += rest_.front();
      rest_.remove_prefix(1);
    }
    return text;
  }

  void skip_blanks() {
    while (take(' ')) {
    }
  }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
};

/// The text with each %XX as the byte that it stands for; nothing where one is cut or no byte.
inline std::optional<std::string> percent_decoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return {};
    const std::size_t high = digits.find(text[i + 1]);
    const std::size_t low = digits.find(text[i + 2]);
    if (high == digits.npos || low == digits.npos) return {};
    bytes += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return bytes;
}

}  // namespace weir::http
