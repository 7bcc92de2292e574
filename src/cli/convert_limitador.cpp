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

/// The expression with its texts in quotes blanked out, so that what is found is its own.
std::string without_quoted(std::string_view text) {
  std::string bare(text);
  char quote = '\0';
  for (char& c : bare) {
    const bool ends = quote != '\0' && c == quote;
    if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote != '\0') {
      c = ends ? c : '_';
      if (ends) quote = '\0';
    }
  }
  return bare;
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

/// The text between quotes, as a pattern that matches it alone.
std::optional<std::string> literal_in(std::string_view text) {
  text = trimmed(text);
  if (!is_quoted(text)) return {};
  return literal(text.substr(1, text.size() - 2));
}

/// The texts of "['a', 'b']"; none where it is no such list.
std::vector<std::string> literals_in(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('[') || !text.ends_with(']')) return {};
  text = text.substr(1, text.size() - 2);
  std::vector<std::string> found;
  for (;;) {
    const std::size_t comma = without_quoted(text).find(',');
    const auto one = literal_in(text.substr(0, comma));
    if (!one) return {};
    found.push_back(*one);
    if (comma == text.npos) return found;
    text.remove_prefix(comma + 1);
  }
}

/// What a comparison allows an entry to be, as patterns; none where it is no comparison.
struct Comparison {
  std::string_view entry;
  std::vector<std::string> values;
};

/// "k == 'v'", "k in ['v', 'w']", "k.startsWith('v')".
Comparison comparison_of(std::string_view text) {
  constexpr std::string_view begins = ".startsWith(";
  const std::string bare = without_quoted(text);
  const auto split = [&](std::size_t at, std::size_t size) {
    return std::pair(text.substr(0, at), text.substr(at + size));
  };
  if (const std::size_t at = bare.find("=="); at != bare.npos) {
    const auto [entry, value] = split(at, 2);
    if (const auto one = literal_in(value)) return {entry, {*one}};
  } else if (const std::size_t within = bare.find(" in "); within != bare.npos) {
    const auto [entry, values] = split(within, 4);
    return {entry, literals_in(values)};
  } else if (const std::size_t call = bare.find(begins); call != bare.npos) {
    auto [entry, value] = split(call, begins.size());
    value = trimmed(value);
    if (!value.ends_with(')')) return {};
    value.remove_suffix(1);
    if (const auto one = literal_in(value)) return {entry, {*one + '*'}};
  }
  return {};
}

bool add_comparison(std::string_view text, NewRule& rule) {
  const Comparison comparison = comparison_of(text);
  const auto entry = entry_of(comparison.entry);
  if (!entry || comparison.values.empty()) return false;
  const bool twice =
      std::ranges::any_of(rule.entries, [&](const auto& known) { return known.first == *entry; });
  if (twice) return false;
  rule.entries.emplace_back(*entry, comparison.values);
  return true;
}

/// One comparison, or several with && between them.
bool add_condition(std::string_view text, NewRule& rule) {
  for (;;) {
    const std::size_t both = without_quoted(text).find("&&");
    if (!add_comparison(text.substr(0, both), rule)) return false;
    if (both == text.npos) return true;
    text.remove_prefix(both + 2);
  }
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
