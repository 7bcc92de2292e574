#include "server/gateway/gathering.hpp"

#include <algorithm>
#include <utility>

#include "server/gateway/state_key.hpp"

namespace weir::server {
namespace {

using gateway::Match;
using gateway::Quota;

void refuse_for_good(Judged& judged) {
  judged.refuses = true;
  judged.decision = Decision{.verdict = Verdict::impossible};
}

}  // namespace

void Gathering::gather(const GateAsk& ask, std::size_t key_bytes) {
  of_envoy = ask.rules->domain().of_envoy;
  verb = ask.verb;
  std::vector<Match> matches;
  for (std::size_t at = 0; at < ask.calls.size(); ++at) {
    const std::size_t before = matches.size();
    ask.rules->match(ask.calls[at], matches);
    for (Match& match : std::span(matches).subspan(before)) match.call = at;
  }
  // A descriptor may be asked without the one that replaces some of its rules.
  if (!gateway::drop_replaced(matches)) leasing = ask.leasing;
  Span hold = std::min(ask.patience, gateway::longest_hold);
  answer.judged.reserve(matches.size());
  for (Match& match : matches) {
    Judged& judged = answer.judged.emplace_back();
    judged.call = match.call;
    judged.rule = match.rule;
    judged.quota = match.quota;
    judged.key = bounded_key(std::move(match.key), key_bytes);
    judged.cost = match.rule->cost * ask.hits[judged.call];
    if (match.refused || match.quota->kind == Quota::Kind::blocked) refuse_for_good(judged);
    const bool waits = match.quota->kind == Quota::Kind::limited && !match.rule->shadow;
    if (waits) hold = std::min(hold, match.rule->hold);
    try_candidates(judged);
  }
  patience = hold;
  sort_out();
}

void Gathering::try_candidates(const Judged& judged) {
  if (verb == GateAsk::Verb::peek) return;
  for (const Quota& candidate : judged.rule->candidates) {
    if (candidate.kind != Quota::Kind::limited) continue;
    Judged& added = tried.emplace_back(judged);
    added.quota = &candidate;
    added.refuses = false;
  }
}

/// What is asked, and how. Whoever is refused already takes nothing of what is taken together.
void Gathering::sort_out() {
  for (Judged& judged : answer.judged) {
    if (judged.refuses || judged.quota->kind != Quota::Kind::limited) continue;
    const bool by_itself = of_envoy || judged.rule->shadow || verb == GateAsk::Verb::peek;
    (by_itself ? alone : jointly).push_back(&judged);
  }
  for (Judged& judged : tried) alone.push_back(&judged);
  // A call that meets more than can be taken together is not let through unlimited.
  too_many = jointly.size() > Table::most_claims;
  if (too_many) refuse_for_good(*jointly.back());
  const auto refuses = [](const Judged& judged) { return judged.refuses && !judged.rule->shadow; };
  if (!of_envoy && std::ranges::any_of(answer.judged, refuses)) jointly.clear();
}

std::vector<Claim> Gathering::claims() const {
  std::vector<Claim> claims;
  claims.reserve(jointly.size());
  for (const Judged* judged : jointly) {
    claims.push_back({subject_of(*judged), judged->cost});
  }
  return claims;
}

/// How many calls like this one may be taken at once, itself among them. Never more than half of
/// what is left goes ahead: the last units are for those who ask.
Cost Gathering::leasable(std::size_t call) const {
  Cost calls = gateway::largest_lease;
  bool limits = false;
  for (const Judged& judged : answer.judged) {
    // Who refuses nobody holds nobody to a lease.
    if (judged.call != call || judged.rule->shadow) continue;
    limits = true;
    // Whoever sets an override in a running server may give a key a limit that has no lease.
    const bool may = judged.quota->kind == Quota::Kind::limited &&
                     judged.quota->limit->leasable() && judged.cost > 0 &&
                     !judged.rule->quota_mode && judged.decision &&
                     judged.cost == judged.rule->cost && took(answer, judged);
    calls = std::min(calls, may ? judged.rule->lease : 1);
  }
  if (!limits) return 1;
  for (const Judged& judged : answer.judged) {
    if (judged.call != call || judged.rule->shadow) continue;
    if (judged.decision && judged.cost * (calls - 1) > judged.decision->remaining / 2) return 1;
  }
  return calls;
}

/// Whether a call meets a state that one of these is charged for already.
bool Gathering::shares_a_state(const Gathering& of, std::size_t call) const {
  return std::ranges::any_of(of.answer.judged, [&](const Judged& one) {
    return one.call == call && std::ranges::any_of(answer.judged, [&](const Judged& other) {
             return one.quota->states == other.quota->states && one.key == other.key;
           });
  });
}

std::vector<GateLease> Gathering::ask_ahead(Gathering& ahead) const {
  std::vector<GateLease> wanted;
  ahead.of_envoy = of_envoy;
  ahead.for_lease = true;
  ahead.answer.generation = answer.generation;
  ahead.answer.decided_at = answer.decided_at;
  std::optional<std::size_t> call;
  Cost calls = 1;
  for (const Judged& judged : answer.judged) {  // in the order of their calls
    if (call != judged.call) {
      call = judged.call;
      calls = ahead.shares_a_state(*this, *call) ? 1 : leasable(*call);
      if (calls > 1) wanted.push_back({*call, calls, {}});
    }
    if (calls == 1) continue;
    Judged& more = ahead.answer.judged.emplace_back(judged);
    more.cost *= calls - 1;
    more.decision.reset();
    ahead.try_candidates(more);
  }
  ahead.sort_out();
  return wanted;
}

/// Once a limit is whole again nothing of it is on lease.
void Gathering::lease(const GateAnswer& ahead, std::span<const GateLease> wanted) {
  auto more = ahead.judged.begin();
  for (GateLease lease : wanted) {
    lease.valid_until = ahead.decided_at + longest_lease;
    const auto end = std::find_if(more, ahead.judged.end(),
                                  [&](const Judged& judged) { return judged.call != lease.call; });
    const bool taken = std::all_of(
        more, end, [&](const Judged& each) { return each.rule->shadow || took(ahead, each); });
    for (Judged& judged : answer.judged) {
      if (judged.call != lease.call) continue;
      const Judged& added = *more++;
      if (!taken) continue;
      if (added.decision && !added.rule->shadow) {
        lease.valid_until = std::min(lease.valid_until, added.decision->reset_at);
      }
      if (!judged.decision) continue;
      judged.decision->remaining =
          added.decision ? added.decision->remaining : judged.decision->remaining - added.cost;
      if (added.decision) judged.decision->reset_at = added.decision->reset_at;
    }
    if (taken) answer.leases.push_back(lease);
  }
  answer.conclude();
}

}  // namespace weir::server
