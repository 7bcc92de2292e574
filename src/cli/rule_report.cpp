#include "cli/rule_report.hpp"

#include <ostream>

#include "wire/json.hpp"

namespace weir::cli {
namespace {

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

/// What becomes of a call by this rule alone.
std::string consequence(const RuleStanding& rule) {
  if (!rule.replaced_by.empty()) return "does not count: replaced by " + joined(rule.replaced_by);
  if (rule.refused) return "refuses the call: it does not say what the rule counts by";
  if (rule.shadow) return "counts, and refuses nobody (shadow)";
  if (rule.limit == "unlimited") return "lets every call in";
  if (rule.limit == "blocked") return "refuses every call";
  return "counts, and may refuse";
}

wire::Json list_of(const std::vector<std::string>& texts) {
  wire::Json list = wire::Json::array();
  for (const std::string& text : texts) list.element(text);
  return list;
}

wire::Json object_of(const RuleStanding& rule) {
  wire::Json object = wire::Json::object();
  object.member("name", rule.name).member("line", static_cast<std::int64_t>(rule.line));
  object.member("met", rule.unmet.empty());
  if (!rule.unmet.empty()) return object.member("unmet", rule.unmet);
  return object.member("key", rule.key)
      .member("limit", rule.limit)
      .member("overridden", rule.overridden)
      .member("refused", rule.refused)
      .member("shadow", rule.shadow)
      .member("replaced_by", list_of(rule.replaced_by))
      .member("candidates", list_of(rule.candidates));
}

}  // namespace

void report_as_text(const CallStanding& standing, std::ostream& out) {
  out << "domain " << standing.domain << '\n';
  if (!standing.nowhere.empty()) out << "  no rule: " << printable(standing.nowhere) << '\n';
  for (const RuleStanding& rule : standing.rules) {
    const bool met = rule.unmet.empty();
    out << "\n  " << (met ? "met      " : "not met  ") << printable(rule.name) << " (line "
        << rule.line << ")\n";
    if (!met) {
      out << "    " << printable(rule.unmet) << '\n';
      continue;
    }
    out << "    key         " << (rule.key.empty() ? "one for all calls" : printable(rule.key))
        << "\n    limit       " << rule.limit << (rule.overridden ? ", the key's own" : "") << '\n';
    if (!rule.candidates.empty()) out << "    candidates  " << joined(rule.candidates) << '\n';
    out << "    " << consequence(rule) << '\n';
  }
}

void report_as_json(const CallStanding& standing, std::ostream& out) {
  wire::Json rules = wire::Json::array();
  for (const RuleStanding& rule : standing.rules) rules.element(object_of(rule));
  wire::Json object = wire::Json::object();
  object.member("domain", standing.domain).member("rules", rules);
  if (!standing.nowhere.empty()) object.member("nowhere", standing.nowhere);
  out << object.text() << '\n';
}

}  // namespace weir::cli
