#include "cli/conversion.hpp"

#include <algorithm>

#include "wire/json.hpp"

namespace weir::cli {
namespace {

constexpr std::size_t longest_name = 56;  // and room for a number behind it

bool fits_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ':';
}

/// A list of one or more, as JSON and YAML have it.
std::string list_of(const std::vector<std::string>& texts) {
  wire::Json list = wire::Json::array();
  for (const std::string& text : texts) list.element(text);
  return list.text();
}

std::string quoted(const std::string& text) {
  const std::string list = list_of({text});
  return list.substr(1, list.size() - 2);
}

/// One, several, or none, which YAML calls null.
std::string one_or_list(const std::vector<std::string>& texts) {
  if (texts.empty()) return "null";
  return texts.size() == 1 ? quoted(texts.front()) : list_of(texts);
}

/// On one line, whatever it holds.
std::string comment(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return "# " + text + '\n';
}

std::string match_of(const NewRule& rule) {
  std::string fields;
  const auto add = [&fields](const std::string& field) {
    fields += (fields.empty() ? "" : ", ") + field;
  };
  if (!rule.routes.empty()) add("route: " + one_or_list(rule.routes));
  if (!rule.hosts.empty()) add("host: " + list_of(rule.hosts));
  if (!rule.entries.empty()) {
    std::string entries;
    for (const auto& [key, values] : rule.entries) {
      entries += (entries.empty() ? "" : ", ") + quoted(key) + ": " + one_or_list(values);
    }
    add("descriptor: {" + entries + '}');
    if (rule.whole_descriptor) add("whole_descriptor: true");
  }
  return fields;
}

std::string print(const NewRule& rule) {
  std::string text = "  - name: " + quoted(rule.name) + "  # line " + std::to_string(rule.line);
  const auto field = [&text](const std::string& name, const std::string& value) {
    text += "\n    " + name + ": " + value;
  };
  if (const std::string match = match_of(rule); !match.empty()) field("match", '{' + match + '}');
  if (!rule.key.empty()) field("key", quoted(rule.key));
  field("limit", quoted(rule.limit));
  if (!rule.hold.empty()) field("hold", rule.hold);
  if (rule.lease > 1) field("lease", std::to_string(rule.lease));
  if (rule.shadow) field("shadow", "true");
  if (!rule.replaces.empty()) field("replaces", list_of(rule.replaces));
  return text + '\n';
}

/// Characters that a backslash makes into themselves.
struct Special {
  std::string_view characters;
};

std::string escaped(std::string_view text, const Special& special) {
  std::string pattern;
  for (const char c : text) {
    if (special.characters.find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

std::string Conversion::fresh_name(std::string_view text) const {
  std::string name(text.substr(0, longest_name));
  std::ranges::replace_if(
      name, [](char c) { return !fits_a_name(c); }, '-');
  if (name.empty()) name = "rule";
  const auto taken = [this](const std::string& candidate) {
    return std::ranges::find(rules, candidate, &NewRule::name) != rules.end();
  };
  std::string fresh = name;
  for (int number = 2; taken(fresh); ++number) fresh = name + '-' + std::to_string(number);
  return fresh;
}

std::string print(const Conversion& conversion) {
  std::string text;
  for (const std::string& remark : conversion.remarks) text += comment(remark);
  for (const auto& [line, what] : conversion.left_out) {
    text += comment("not converted: line " + std::to_string(line) + ": " + what);
  }
  text += "domain: " + quoted(conversion.domain) + "\nrules:";
  if (conversion.rules.empty()) text += " []";
  text += '\n';
  for (const NewRule& rule : conversion.rules) text += print(rule);
  return text;
}

std::string with_stars(std::string_view text) { return escaped(text, {"\\"}); }
std::string literal(std::string_view text) { return escaped(text, {"\\*"}); }

}  // namespace weir::cli
