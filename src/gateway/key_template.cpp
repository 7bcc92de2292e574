#include "gateway/key_template.hpp"

#include <utility>

namespace weir::gateway {

void append_escaped(std::string& to, std::string_view value, const Escaping& escaping) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : value) {
    if (escaping.reserved.find(c) == std::string_view::npos) {
      to += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    to += '%';
    to += digits[byte >> 4];
    to += digits[byte & 15];
  }
}

Expected<KeyTemplate, KeyTemplate::Error> KeyTemplate::read(std::string_view text) {
  KeyTemplate made;
  made.text_ = text;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '}') return Error{at + 1, "a '}' without its '{'"};
    if (text[at] != '{') {
      made.between_.back() += text[at];
      if (made.escaped_.find(text[at]) == std::string::npos) made.escaped_ += text[at];
      ++at;
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) return Error{at + 1, "a '{' without its '}'"};
    if (!made.attributes_.empty() && made.between_.back().empty()) {
      return Error{at + 1, "two values side by side; expected something between them, as a space"};
    }
    auto attribute = read_attribute(text.substr(at + 1, end - at - 1));
    if (!attribute) return Error{at + 2, std::move(attribute).error()};
    made.attributes_.push_back(std::move(attribute).value());
    made.between_.emplace_back();
    at = end + 1;
  }
  return made;
}

const Attribute* KeyTemplate::append(std::string& key, const Call& call,
                                     const Grouping& grouping) const {
  std::string scratch;
  key += between_.front();
  for (std::size_t at = 0; at < attributes_.size(); ++at) {
    const auto value = value_of(attributes_[at], call, {scratch, grouping});
    if (!value) return &attributes_[at];
    append_escaped(key, *value, {escaped_});
    key += between_[at + 1];
  }
  return nullptr;
}

}  // namespace weir::gateway
