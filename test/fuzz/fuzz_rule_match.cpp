// A call of any bytes against fixed rules, a line each: method, host, uri, user, ip, then
// NAME=VALUE lines, each a header and an entry. A rule is met when its condition holds and the key
// can be made, is met once, and equal keys come of equal values alone.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

#include "gateway/rule_file.hpp"

namespace {

namespace gateway = weir::gateway;

constexpr std::string_view own = R"(rules:
  - {name: exact, match: {route: /login, method: [GET, POST]}, key: "{ip}", limit: 5/1m}
  - {name: prefix, match: {route: "/api/*"}, key: "{user} {uri}", limit: 1/s, missing: share}
  - {name: host, match: {host: "*.example.com"}, key: "{host}", limit: 1/s, replaces: all}
  - {name: header, match: {header: {a: "b*"}}, key: "{header.a}", limit: 1/s, missing: refuse}
  - name: entry
    match: {descriptor: {a: , b: "x*y"}}
    key: "{descriptor.a} {descriptor.b}"
    limit: 1/s
  - {name: net, match: {ip: [10.0.0.0/8, "2001:db8::/32"]}, limit: unlimited}
  - {name: all, limit: 10/s}
)";

constexpr std::string_view envoy = R"(domain: tree
descriptors:
  - {key: a, rate_limit: {unit: second, requests_per_unit: 1}}
  - {key: a, value: "b*", share_threshold: true, rate_limit: {unit: day, requests_per_unit: 1}}
  - key: a
    value: x
    descriptors: [{key: b, rate_limit: {unit: hour, requests_per_unit: 1}}]
)";

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "broken: " << what << '\n';
  std::abort();
}

const gateway::RuleSet& rules() {
  static const gateway::RuleSet set([] {
    std::vector<gateway::Domain> domains;
    for (const std::string_view text : {own, envoy}) {
      domains.push_back(gateway::read_rule_file(text).value());
    }
    return domains;
  }());
  return set;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (lines.size() < 64 && !text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void check_own(const gateway::Call& call) {
  const gateway::RuleIndex& index = *rules().find("default");
  std::vector<gateway::Match> matches;
  index.match(call, matches);
  for (const gateway::EdgeRule& rule : index.domain().rules) {
    const auto met = std::ranges::count(matches, &rule, &gateway::Match::rule);
    std::string key;
    const bool lacking = rule.key.append(key, call, index.domain().clients.grouping) != nullptr;
    const bool skipped = lacking && rule.missing == gateway::WhenMissing::skip;
    require(met == (rule.condition.holds(call) && !skipped ? 1 : 0), "met once where it holds");
  }
  gateway::drop_replaced(matches);
  for (const gateway::Match& match : matches) {
    require(std::ranges::none_of(matches,
                                 [&](const gateway::Match& by) {
                                   return std::ranges::count(by.rule->replaces, match.rule->name) >
                                          0;
                                 }),
            "what is left is replaced by nothing that is left");
  }
}

void check_envoy(const gateway::Call& call) {
  const gateway::RuleIndex& index = *rules().find("tree");
  std::vector<gateway::Match> matches;
  index.match(call, matches);
  require(matches.size() <= 1, "one rule a descriptor");
  const std::size_t steps = index.domain().tree.steps(call.descriptor);
  require(steps <= call.descriptor.size(), "a step an entry");
  require(matches.empty() || steps == call.descriptor.size(), "a rule lies at the path's end");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto lines = lines_of({reinterpret_cast<const char*>(data), size});
  gateway::Call call;
  std::vector<gateway::Header> headers;
  std::vector<gateway::Entry> entries;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const std::string_view line = lines[at];
    if (at == 0 && !line.empty()) call.method = line;
    if (at == 1 && !line.empty()) call.host = line;
    if (at == 2 && !line.empty()) call.uri = line;
    if (at == 3 && !line.empty()) call.user = line;
    if (at == 4) {
      if (const auto ip = gateway::parse_address(line)) call.ip = *ip;
    }
    if (at < 5) continue;
    const std::size_t equals = std::min(line.find('='), line.size());
    const std::string_view value = line.substr(std::min(equals + 1, line.size()));
    headers.push_back({line.substr(0, equals), value});
    entries.push_back({line.substr(0, equals), value});
  }
  call.headers = headers;
  call.descriptor = entries;
  check_own(call);
  check_envoy(call);
  return 0;
}
