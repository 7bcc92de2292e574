// JSON as it is written, key by key.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::wire {

/// A JSON array or object under construction; its members keep the order in which they come.
class Json {
 public:
  static Json object() { return Json('{', '}'); }
  static Json array() { return Json('[', ']'); }

  /// Of an object.
  template <typename Value>
  Json& member(std::string_view name, const Value& value) {
    separate();
    append_value(name);
    text_ += ':';
    append_value(value);
    return *this;
  }

  /// Of an array.
  template <typename Value>
  Json& element(const Value& value) {
    separate();
    append_value(value);
    return *this;
  }

  std::string text() const { return text_ + end_; }

 private:
  Json(char begin, char end) : text_(1, begin), end_(end) {}

  void separate() {
    if (text_.size() > 1) text_ += ',';
  }

  void append_value(std::int64_t value) { text_ += std::to_string(value); }
  void append_value(std::uint64_t value) { text_ += std::to_string(value); }
  /// Whole numbers and others alike, as short as they can be. Requires a finite one.
  void append_value(double value) {
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
    text_.append(text.data(), end.ptr);
  }
  void append_value(bool value) { text_ += value ? "true" : "false"; }
  void append_value(const Json& value) { text_ += value.text(); }
  void append_value(const char* value) { append_value(std::string_view(value)); }
  void append_value(const std::string& value) { append_value(std::string_view(value)); }
  void append_value(std::string_view value) {
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') text_ += '\\';
      if (static_cast<unsigned char>(c) < ' ') {
        text_ += "\\u00";
        text_ += "0123456789abcdef"[c >> 4];
        text_ += "0123456789abcdef"[c & 15];
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  std::string text_;
  char end_;
};

}  // namespace weir::wire
