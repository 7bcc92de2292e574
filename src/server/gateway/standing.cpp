#include "server/gateway/standing.hpp"

#include <algorithm>
#include <tuple>

#include "server/rate_policy.hpp"

namespace weir::server {

namespace {

bool has_numbers(const Judged& judged) {
  return judged.decision && judged.quota->kind == gateway::Quota::Kind::limited &&
         !judged.rule->shadow;
}

}  // namespace

Standing standing_of(const GateAnswer& answer) {
  Standing standing;
  if (!answer.binding) return standing;
  const Judged& binding = answer.judged[*answer.binding];
  if (const auto at = answer.retry_at(); at && *at != never) {
    standing.retry_after = std::max(Span{0}, *at - answer.decided_at);
  }
  if (!has_numbers(binding)) return standing;
  std::vector<const Judged*> told;
  for (const Judged& judged : answer.judged) {
    if (has_numbers(judged)) told.push_back(&judged);
  }
  std::ranges::sort(told, {}, [&](const Judged* judged) {
    return std::tuple(judged != &binding, judged->decision->remaining, judged);
  });
  for (const Judged* const judged : told) {
    if (standing.policies.size() == Standing::most_policies) break;
    const std::string& name = judged->rule->name.empty() ? judged->rule->label : judged->rule->name;
    const auto known = std::ranges::find(standing.policies, name, &http::RatePolicy::name);
    if (known != standing.policies.end()) continue;
    standing.policies.push_back(
        policy_of(name, *judged->quota->limit, *judged->decision, answer.decided_at));
    // A queue has room, but none for who does not wait: now there is nothing left.
    if (judged->refuses && judged->decision->remaining >= judged->cost) {
      standing.policies.back().remaining = 0;
    }
  }
  return standing;
}

}  // namespace weir::server
