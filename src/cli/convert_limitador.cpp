// limitador's LIMITS_FILE as rules.
#include <algorithm>
#include <set>

#include "cli/conversion.hpp"
#include "gateway/fields.hpp"
#include "gateway/yaml.hpp"

namespace weir::cli {
namespace {

using gateway::YamlNode;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

bool is_quoted(std::string_view text) {
  return text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
         text.find(text.front(), 1) == text.size() - 1 && text.find('\\') == text.npos;
}

/// The entry that an expression names: k, descriptors[0].k or descriptors[0]['k'].
std::optional<std::string> entry_of(std::string_view text) {
  constexpr std::string_view first = "descriptors[0]";
  text = trimmed(text);
  bool in_descriptor = false;
  if (text.starts_with(first)) {
    text.remove_prefix(first.size());
    in_descriptor = true;
    if (text.starts_with('[') && text.ends_with(']')) {
      text = trimmed(text.substr(1, text.size() - 2));
      if (!is_quoted(text)) return {};
      text = text.substr(1, text.size() - 2);
      return text.find_first_of("{}") == text.npos ? std::optional(std::string(text))
                                                   : std::nullopt;
    }
    if (!text.starts_with('.')) return {};
    text.remove_prefix(1);
  }
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return plain && (in_descriptor || text != "descriptors") ? std::optional(std::string(text))
                                                           : std::nullopt;
}

/// "k == 'v'".
bool add_condition(std::string_view text, NewRule& rule) {
  const std::size_t equal = text.find("==");
  if (equal == text.npos) return false;
  const auto entry = entry_of(text.substr(0, equal));
  const std::string_view value = trimmed(text.substr(equal + 2));
  if (!entry || !is_quoted(value)) return false;
  const bool twice =
      std::ranges::any_of(rule.entries, [&](const auto& known) { return known.first == *entry; });
  if (twice) return false;
  rule.entries.emplace_back(*entry, literal(value.substr(1, value.size() - 2)));
  return true;
}

bool add_variable(std::string_view text, NewRule& rule) {
  const auto entry = entry_of(text);
  if (!entry) return false;
  rule.key += (rule.key.empty() ? "{descriptor." : " {descriptor.") + *entry + '}';
  return true;
}

/// Adds the limit where all of it can be said, for half of it would mean other calls.
void add_limit(const YamlNode& node, Conversion& made) {
  gateway::Fields fields(node, "a limit");
  NewRule rule;
  rule.line = node.at.line;
  static_cast<void>(fields.find("namespace"));
  const auto most = gateway::number_of(fields.need("max_value"), "max_value", {0, 1LL << 50});
  const auto seconds = gateway::number_of(fields.need("seconds"), "seconds", {1, 1LL << 30});
  rule.limit = most == 0
                   ? "blocked"
                   : "fixed-window " + std::to_string(most) + '/' + std::to_string(seconds) + 's';
  const YamlNode* const name = fields.find("name");
  static_cast<void>(fields.find("id"));
  bool said = true;
  const auto refuse = [&](const std::string& what, const YamlNode& at) {
    made.left_out.push_back({at.at.line, "the limit for its " + what + ' ' + at.text});
    said = false;
  };
  if (const auto* conditions = fields.find("conditions")) {
    for (const YamlNode& at : gateway::list_of(*conditions, "conditions")) {
      if (!add_condition(gateway::text_of(at, "conditions"), rule)) refuse("condition", at);
    }
  }
  if (const auto* variables = fields.find("variables")) {
    for (const YamlNode& at : gateway::list_of(*variables, "variables")) {
      if (!add_variable(gateway::text_of(at, "variables"), rule)) refuse("variable", at);
    }
  }
  fields.finish();
  rule.name =
      made.fresh_name(name ? gateway::text_of(*name, "name") : "line-" + std::to_string(rule.line));
  if (said) made.rules.push_back(std::move(rule));
}

std::string namespace_of(const YamlNode& limit) {
  return gateway::text_of(gateway::Fields(limit, "a limit").need("namespace"), "namespace");
}

Conversion convert(const YamlNode& root, const std::string& domain) {
  const auto& limits = gateway::list_of(root, "a file of limits");
  std::set<std::string> known;
  for (const YamlNode& limit : limits) known.insert(namespace_of(limit));
  if (known.empty()) throw gateway::FileError{{}, "no limits; expected a list of them"};
  if (domain.empty() ? known.size() > 1 : !known.contains(domain)) {
    std::string all;
    for (const std::string& name : known) all += (all.empty() ? "" : ", ") + name;
    throw gateway::FileError{{}, "a rule file has one domain; expected --domain and one of " + all};
  }
  const std::string& chosen = domain.empty() ? *known.begin() : domain;
  Conversion made;
  made.domain = made.fresh_name(chosen);
  made.remarks = {"From limitador's limits. There a window begins with its first hit, here at",
                  "whole multiples of its length since 1970."};
  if (made.domain != chosen) made.left_out.push_back({1, "the name of namespace " + chosen});
  for (const YamlNode& limit : limits) {
    if (namespace_of(limit) == chosen) add_limit(limit, made);
  }
  return made;
}

}  // namespace

Expected<Conversion, gateway::FileError> convert_limitador(std::string_view text,
                                                           const std::string& domain) {
  const auto root = gateway::read_yaml(text);
  if (!root) return root.error();
  try {
    return convert(*root, domain);
  } catch (const gateway::FileError& error) {
    return error;
  }
}

}  // namespace weir::cli
