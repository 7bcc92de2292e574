// A rule file of any bytes: refused at a place within it, or a domain whose rules have names and
// limits that a key can start with, and an answer for a call.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string_view>

#include "gateway/rule_file.hpp"

namespace {

namespace gateway = weir::gateway;

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "broken: " << what << '\n';
  std::abort();
}

void require_good(const gateway::Quota& quota) {
  const bool limited = quota.kind == gateway::Quota::Kind::limited;
  require(quota.limit.has_value() == limited, "a limit where one is meant");
  if (limited) require(quota.limit->starts_full(), "a key starts full");
}

void require_good(const gateway::Domain& domain) {
  require(!domain.name.empty(), "a domain's name");
  std::set<std::string_view> identities;
  for (const gateway::EdgeRule& rule : domain.rules) {
    require(identities.insert(rule.identity).second, "no two rules of one identity");
    require(rule.at.line > 0, "a rule's place");
    require(rule.candidates.size() <= gateway::most_candidates, "few candidates");
    require(rule.hold <= gateway::longest_hold, "a short hold");
    require_good(rule.quota);
    for (const gateway::Quota& quota : rule.candidates) require_good(quota);
    for (const auto& [key, quota] : rule.overrides) require_good(quota);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto domain = gateway::read_rule_file(text);
  if (!domain) {
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    const auto returns = static_cast<std::size_t>(std::ranges::count(text, '\r'));
    require(domain.error().at.line <= lines + returns + 2, "a line of the text");
    require(!domain.error().message.empty(), "what was expected");
    return 0;
  }
  require_good(*domain);
  std::vector<gateway::Domain> domains;
  domains.push_back(std::move(domain).value());
  const gateway::RuleSet rules(std::move(domains));
  std::vector<gateway::Match> matches;
  rules.find(rules.domains().front().name)->match({.method = "GET", .uri = "/"}, matches);
  require(matches.size() <= rules.domains().front().rules.size(), "each rule once at most");
  return 0;
}
