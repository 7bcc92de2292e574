#include "cli/nginx_config.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cli/conversion.hpp"

namespace weir::cli {
namespace {

constexpr std::size_t most_routes = 64;  ///< of one expression

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The attribute for a variable, as "{ip}"; empty where there is none.
std::string attribute_of(std::string variable) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> known{
      {{"binary_remote_addr", "{ip}"},
       {"remote_addr", "{ip}"},
       {"remote_user", "{user}"},
       {"uri", "{uri}"},
       {"request_uri", "{uri}"},
       {"host", "{host}"},
       {"http_host", "{host}"},
       {"server_name", server_name_in_key},
       {"request_method", "{method}"}}};
  for (const auto& [name, attribute] : known) {
    if (variable == name) return std::string(attribute);
  }
  if (!variable.starts_with("http_") || variable.size() == 5) return {};
  std::ranges::replace(variable, '_', '-');
  return "{header." + variable.substr(5) + '}';
}

/// The few expressions that patterns can say: texts, `.*`, one of several texts, and the ends.
class Expression {
 public:
  explicit Expression(std::string_view text) : text_(text) {}

  /// None where it has anything else.
  std::vector<std::string> patterns() {
    found_ = {take('^') ? "" : "*"};
    while (!text_.empty() && text_ != "$") {
      if (!read_piece() || found_.size() > most_routes) return {};
    }
    if (text_.empty()) append({"*"});
    return found_;
  }

 private:
  bool take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  void append(const std::vector<std::string>& ways) {
    std::vector<std::string> longer;
    for (const std::string& pattern : found_) {
      for (const std::string& way : ways) longer.push_back(pattern + way);
    }
    found_ = std::move(longer);
  }

  bool read_piece() {
    if (take('(')) return read_group();
    if (text_.starts_with(".*")) {
      text_.remove_prefix(2);
      append({"*"});
      return true;
    }
    const auto c = read_character();
    if (c) append({literal(std::string(1, *c))});
    return c.has_value();
  }

  /// (a|b) or (?:a|b)
  bool read_group() {
    if (take('?') && !take(':')) return false;
    std::vector<std::string> ways(1);
    while (!take(')')) {
      if (take('|')) {
        ways.emplace_back();
        continue;
      }
      const auto c = read_character();
      if (!c) return false;
      ways.back() += literal(std::string(1, *c));
    }
    append(ways);
    return true;
  }

  /// One that stands for itself, and once.
  std::optional<char> read_character() {
    const bool escaped = take('\\');
    if (text_.empty()) return {};
    const char c = text_.front();
    const bool plain = is_letter(c) || (c >= '0' && c <= '9');
    const bool special = std::string_view(".[]{}()*+?|^$\\").find(c) != std::string_view::npos;
    if (escaped ? plain : special) return {};
    text_.remove_prefix(1);
    if (!text_.empty() && std::string_view("*+?{").find(text_.front()) != std::string_view::npos) {
      return {};
    }
    return c;
  }

  std::string_view text_;
  std::vector<std::string> found_;
};

/// With each pattern all in capitals, and all in small letters.
std::vector<std::string> in_other_cases(const std::vector<std::string>& patterns) {
  std::vector<std::string> all = patterns;
  const auto add = [&all](std::string pattern, char first, char last) {
    for (char& c : pattern) c = c >= first && c <= last ? static_cast<char>(c ^ 0x20) : c;
    if (std::ranges::find(all, pattern) == all.end()) all.push_back(std::move(pattern));
  };
  for (const std::string& pattern : patterns) {
    add(pattern, 'a', 'z');
    add(pattern, 'A', 'Z');
  }
  return all;
}

}  // namespace

NginxDirective NginxReader::next() {
  NginxDirective found;
  for (;;) {
    skip_blanks();
    if (found.words.empty()) found.line = line_;
    if (at_ == text_.size()) return found.end = '\0', found;
    const char c = text_[at_];
    if (c == ';' || c == '{' || c == '}') return ++at_, found.end = c, found;
    found.words.push_back(word());
  }
}

void NginxReader::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      step();
    } else {
      return;
    }
  }
}

/// A backslash vanishes in front of quotes and itself alone: expressions have their own.
std::string NginxReader::word() {
  std::string word;
  const char quote = text_[at_] == '"' || text_[at_] == '\'' ? text_[at_] : '\0';
  if (quote) ++at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (quote ? c == quote : std::string_view(" \t\r\n;{}").find(c) != std::string_view::npos) {
      // ${name} is part of a word.
      if (quote || c != '{' || !word.ends_with('$')) break;
      while (at_ < text_.size() && text_[at_] != '}') word += text_[at_], step();
      if (at_ == text_.size()) break;
    }
    if (c == '\\' && at_ + 1 < text_.size()) {
      const bool vanishes =
          std::string_view("\"'\\").find(text_[at_ + 1]) != std::string_view::npos;
      if (!vanishes) word += c;
      step();
    }
    word += text_[at_];
    step();
  }
  if (quote && at_ < text_.size()) ++at_;
  return word;
}

NginxLocation NginxLocation::of(const std::vector<std::string>& words) {
  NginxLocation location;
  if (words.size() < 2) return location;
  location.path = words.back();
  const std::string mark = words.size() > 2 ? words[1] : "";
  if (mark == "~" || mark == "~*") {
    location.form = Form::expression;
    location.routes = Expression(location.path).patterns();
    location.any_case = mark == "~*" && std::ranges::any_of(location.path, is_letter);
    if (location.any_case) location.routes = in_other_cases(location.routes);
  } else if (location.path.starts_with('/')) {
    location.form = mark == "=" ? Form::exact : mark == "^~" ? Form::first : Form::prefix;
    location.routes = {literal(location.path) + (mark == "=" ? "" : "*")};
  }
  return location;
}

std::optional<std::string> nginx_key(std::string_view text) {
  std::string key;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    text.remove_prefix(dollar);
    if (text.empty()) break;
    text.remove_prefix(1);
    const bool braced = text.starts_with('{');
    if (braced) text.remove_prefix(1);
    const std::size_t end =
        std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), text.size());
    const std::string attribute = attribute_of(std::string(text.substr(0, end)));
    if (attribute.empty()) return {};
    key += (key.empty() ? "" : " ") + attribute;
    text.remove_prefix(std::min(end + (braced ? 1 : 0), text.size()));
  }
  return key;
}

}  // namespace weir::cli
