#include "server/gateway/standing.hpp"

#include <algorithm>

namespace weir::server {

const LimitTerm* only_term(const gateway::Quota& quota) noexcept {
  if (!quota.limit || quota.limit->terms().size() != 1) return nullptr;
  return &quota.limit->terms().front();
}

Standing standing_of(const GateAnswer& answer) {
  Standing standing;
  if (!answer.binding) return standing;
  const Judged& judged = answer.judged[*answer.binding];
  if (const auto at = answer.retry_at(); at && *at != never) {
    standing.retry_after = std::max(Span{0}, *at - answer.decided_at);
  }
  if (!judged.decision || judged.quota->kind != gateway::Quota::Kind::limited) return standing;
  const Decision& decision = *judged.decision;
  const LimitTerm* const term = only_term(*judged.quota);
  standing.policies.push_back(
      {.name = judged.rule->name.empty() ? judged.rule->label : judged.rule->name,
       .quota = term ? term->count : decision.limit,
       .window = term ? std::optional<Span>(term->period) : std::nullopt,
       .remaining = decision.remaining,
       .reset_after = std::max(Span{0}, decision.reset_at - answer.decided_at)});
  return standing;
}

}  // namespace weir::server
