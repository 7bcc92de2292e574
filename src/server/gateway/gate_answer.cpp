#include "server/gateway/gate_answer.hpp"

#include <limits>

namespace weir::server {
namespace {

/// When what refuses would let through; who lets through comes before all of them.
Instant refused_until(const Judged& judged) {
  if (!judged.refuses) return Instant::min();
  return judged.decision && judged.decision->verdict != Verdict::impossible
             ? judged.decision->ready_at
             : never;
}

Cost left(const Judged& judged) {
  return judged.decision ? judged.decision->remaining : std::numeric_limits<Cost>::max();
}

bool binds_before(const Judged& one, const Judged& other) {
  const Instant until = refused_until(one);
  const Instant other_until = refused_until(other);
  return until > other_until || (until == other_until && left(one) < left(other));
}

}  // namespace

std::optional<Instant> GateAnswer::retry_at() const {
  if (allowed || !binding) return {};
  return refused_until(judged[*binding]);
}

void GateAnswer::conclude() {
  allowed = true;
  binding.reset();
  std::size_t quotas = 0;
  std::size_t quotas_over = 0;
  for (std::size_t at = 0; at < judged.size(); ++at) {
    const Judged& each = judged[at];
    if (each.rule->shadow) continue;
    if (each.rule->quota_mode) {
      ++quotas;
      if (each.refuses) ++quotas_over;
    } else if (each.refuses) {
      allowed = false;
    }
    if (each.decision && (!binding || binds_before(each, judged[*binding]))) binding = at;
  }
  if (quotas > 0 && quotas_over == quotas) allowed = false;
}

}  // namespace weir::server
