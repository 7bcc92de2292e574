#include "server/gateway/standing.hpp"

#include <algorithm>

#include "server/rate_policy.hpp"

namespace weir::server {

Standing standing_of(const GateAnswer& answer) {
  Standing standing;
  if (!answer.binding) return standing;
  const Judged& judged = answer.judged[*answer.binding];
  if (const auto at = answer.retry_at(); at && *at != never) {
    standing.retry_after = std::max(Span{0}, *at - answer.decided_at);
  }
  if (!judged.decision || judged.quota->kind != gateway::Quota::Kind::limited) return standing;
  standing.policies.push_back(
      policy_of(judged.rule->name.empty() ? judged.rule->label : judged.rule->name,
                *judged.quota->limit, *judged.decision, answer.decided_at));
  return standing;
}

}  // namespace weir::server
