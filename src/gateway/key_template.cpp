#include "gateway/key_template.hpp"

#include <algorithm>
#include <utility>

namespace weir::gateway {

void append_escaped(std::string& to, std::string_view value, const ReservedBytes& reserved) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (;;) {
    const auto end = std::ranges::find_if(value, [&](char c) { return reserved.has(c); });
    to.append(value.begin(), end);
    if (end == value.end()) return;
    const auto byte = static_cast<unsigned char>(*end);
    to += {'%', digits[byte >> 4], digits[byte & 15]};
    value.remove_prefix(static_cast<std::size_t>(end - value.begin()) + 1);
  }
}

Expected<KeyTemplate, KeyTemplate::Error> KeyTemplate::read(std::string_view text) {
  KeyTemplate made;
  made.text_ = text;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '}') return Error{at + 1, "a '}' without its '{'"};
    if (text[at] != '{') {
      made.between_.back() += text[at];
      made.reserved_.add(text[at]);
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
    append_escaped(key, *value, reserved_);
    key += between_[at + 1];
  }
  return nullptr;
}

}  // namespace weir::gateway
