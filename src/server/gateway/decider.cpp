#include "server/gateway/decider.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <limits>
#include <span>
#include <utility>

#include "gateway/hit_shares.hpp"
#include "server/asking.hpp"

namespace weir::server {
namespace {

using gateway::EdgeRule;
using gateway::Match;
using gateway::Quota;

bool by_store(redis::Source source) {
  return source == redis::Source::store || source == redis::Source::cache ||
         source == redis::Source::lease;
}

/// The rule's own word on a store that does not answer goes before the server's.
redis::Source without_store(const EdgeRule& rule, Decision& decision, redis::Source source) {
  if (by_store(source)) return source;
  if (rule.without_store == gateway::WithoutStore::open) {
    decision.verdict = Verdict::granted;
    return redis::Source::open;
  }
  if (rule.without_store == gateway::WithoutStore::closed) {
    decision.verdict = Verdict::denied;
    return redis::Source::closed;
  }
  return source;
}

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

void settle(Judged& judged, Decision decision, redis::Source source) {
  judged.source = without_store(*judged.rule, decision, source);
  judged.refuses = !taken(decision.verdict);
  judged.decision = decision;
}

void refuse_for_good(Judged& judged) {
  judged.refuses = true;
  judged.decision = Decision{.verdict = Verdict::impossible};
}

}  // namespace

std::optional<Instant> GateAnswer::retry_at() const {
  if (allowed || !binding) return {};
  return refused_until(judged[*binding]);
}

/// One ask, while its answers come in.
struct Decider::Gathering {
  GateAnswer answer{};
  std::vector<Judged> tried{};  ///< candidates, which change no answer
  Then then{};
  std::vector<Judged*> jointly{};  ///< taken all or none
  std::vector<Judged*> alone{};
  Span patience{0};
  bool of_envoy = false;
  GateAsk::Verb verb = GateAsk::Verb::take;
  GateAsk::Leasing leasing = GateAsk::Leasing::never;
  bool for_lease = false;  ///< where it is refused, nobody is
  bool too_many = false;   ///< rules that would have to be taken together
  std::size_t awaited = 0;

  void gather(const GateAsk& ask);
  std::vector<Claim> claims() const;
  void try_candidates(const Judged& judged);
  void sort_out();
  void conclude();
  Cost leasable(std::size_t call) const;
  bool shares_a_state(const Gathering& of, std::size_t call) const;
  std::vector<GateLease> ask_ahead(Gathering& ahead) const;
  void lease(const GateAnswer& ahead, std::span<const GateLease> wanted);
  /// Whether a state was charged for it: not where another refused what is taken all or none.
  bool took(const GateAnswer& by, const Judged& judged) const {
    return !judged.refuses && (of_envoy || by.allowed) && by_store(judged.source);
  }
};

/// All rules that the calls meet, but those that others of them replace.
void Decider::Gathering::gather(const GateAsk& ask) {
  of_envoy = ask.rules->domain().of_envoy;
  verb = ask.verb;
  std::vector<Match> matches;
  std::vector<std::size_t> call_of;
  for (std::size_t at = 0; at < ask.calls.size(); ++at) {
    ask.rules->match(ask.calls[at], matches);
    call_of.resize(matches.size(), at);
  }
  const std::vector<bool> replaced = gateway::replaced(matches);
  // A descriptor may be asked without the one that replaces some of its rules.
  const bool all_count = std::ranges::find(replaced, true) == replaced.end();
  if (all_count) leasing = ask.leasing;
  Span hold = gateway::longest_hold;
  for (std::size_t at = 0; at < matches.size(); ++at) {
    if (replaced[at]) continue;
    Match& match = matches[at];
    Judged& judged = answer.judged.emplace_back();
    judged.call = call_of[at];
    judged.rule = match.rule;
    judged.quota = match.quota;
    judged.key = std::move(match.key);
    judged.cost = match.rule->cost * ask.hits[judged.call];
    if (match.refused || match.quota->kind == Quota::Kind::blocked) refuse_for_good(judged);
    if (!match.rule->shadow) hold = std::min(hold, match.rule->hold);
    try_candidates(judged);
  }
  if (ask.waiting == GateAsk::Waiting::as_rules_say) patience = hold;
  sort_out();
}

void Decider::Gathering::try_candidates(const Judged& judged) {
  if (verb == GateAsk::Verb::peek) return;
  for (const Quota& candidate : judged.rule->candidates) {
    if (candidate.kind != Quota::Kind::limited) continue;
    Judged& added = tried.emplace_back(judged);
    added.quota = &candidate;
    added.refuses = false;
  }
}

/// What is asked, and how. Whoever is refused already takes nothing of what is taken together.
void Decider::Gathering::sort_out() {
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

/// Of what is taken together.
std::vector<Claim> Decider::Gathering::claims() const {
  std::vector<Claim> claims;
  claims.reserve(jointly.size());
  for (const Judged* judged : jointly) {
    claims.push_back({{judged->quota->states, judged->key}, judged->cost});
  }
  return claims;
}

/// Whether the calls are let through, and what that is owed to.
void Decider::Gathering::conclude() {
  std::size_t quotas = 0;
  std::size_t quotas_over = 0;
  for (std::size_t at = 0; at < answer.judged.size(); ++at) {
    const Judged& judged = answer.judged[at];
    if (judged.rule->shadow) continue;
    if (judged.rule->quota_mode) {
      ++quotas;
      if (judged.refuses) ++quotas_over;
    } else if (judged.refuses) {
      answer.allowed = false;
    }
    if (!judged.decision) continue;
    if (!answer.binding) {
      answer.binding = at;
      continue;
    }
    const Judged& binding = answer.judged[*answer.binding];
    const Instant until = refused_until(judged);
    const Instant binding_until = refused_until(binding);
    if (until > binding_until || (until == binding_until && left(judged) < left(binding))) {
      answer.binding = at;
    }
  }
  if (quotas > 0 && quotas_over == quotas) answer.allowed = false;
}

/// How many calls like this one may be taken at once, itself among them. Never more than half of
/// what is left goes ahead: the last units are for those who ask.
Cost Decider::Gathering::leasable(std::size_t call) const {
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
bool Decider::Gathering::shares_a_state(const Gathering& of, std::size_t call) const {
  return std::ranges::any_of(of.answer.judged, [&](const Judged& one) {
    return one.call == call && std::ranges::any_of(answer.judged, [&](const Judged& other) {
             return one.quota->states == other.quota->states && one.key == other.key;
           });
  });
}

/// What is to be taken for calls that may come; `ahead` is without any as yet.
std::vector<GateLease> Decider::Gathering::ask_ahead(Gathering& ahead) const {
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

/// Tells of those calls that were taken. Once a limit is whole again nothing of it is on lease.
void Decider::Gathering::lease(const GateAnswer& ahead, std::span<const GateLease> wanted) {
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
  answer.binding.reset();
  conclude();
}

void Decider::renew(std::shared_ptr<const Generation> generation, std::size_t identities) {
  generation_ = std::move(generation);
  counts_.grow(identities);
}

void Decider::decide(const GateAsk& ask, Then then) {
  Gathering gathering;
  gathering.then = std::move(then);
  gathering.answer.generation = generation_;
  gathering.answer.decided_at = worker_.service.clock.now();
  gathering.gather(ask);
  if (gathering.too_many) note_too_many(ask.rules->domain().name);
  if (held_ >= most_held) gathering.patience = Span{0};
  run(std::move(gathering));
}

void Decider::note_too_many(std::string_view domain) {
  worker_.metrics.hit(LimitHit::rules_of_a_call);
  worker_.service.log.write(LogKind::too_many_rules,
                            {{"domain", domain},
                             {"expected_at_most", std::int64_t{Table::most_claims}},
                             {"mend", "match fewer calls by each rule, or ask fewer descriptors"}});
}

void Decider::run(Gathering&& gathering) {
  if (worker_.service.store) return ask_there(std::make_shared<Gathering>(std::move(gathering)));
  ask_here(gathering);
  conclude(gathering);
}

void Decider::ask_here(Gathering& gathering) {
  Table& table = worker_.service.table;
  const Instant now = gathering.answer.decided_at;
  constexpr redis::Source here = redis::Source::store;
  if (gathering.jointly.size() == 1) {
    Judged& judged = *gathering.jointly.front();
    const Request request{now, judged.cost, gathering.patience};
    settle(judged, table.take({judged.quota->states, judged.key}, request).decision, here);
  } else if (!gathering.jointly.empty()) {
    const std::vector<Claim> claims = gathering.claims();
    const JointAnswer answer = table.take_all(claims, {now, 0, gathering.patience});
    for (std::size_t at = 0; at < claims.size(); ++at) {
      // The joint answer tells of the binding one alone what is left, and when all are whole again.
      Decision decision = table.peek(claims[at].subject, {now, 0, Span{0}}).decision;
      if (at == answer.binding) {
        decision = {.verdict = answer.decision.verdict,
                    .ready_at = answer.decision.ready_at,
                    .limit = answer.decision.limit,
                    .remaining = answer.decision.remaining,
                    .reset_at = decision.reset_at};
      }
      settle(*gathering.jointly[at], decision, here);
      gathering.jointly[at]->refuses = at == answer.binding && !taken(answer.decision.verdict);
    }
  }
  for (Judged* const judged : gathering.alone) {
    const Subject subject{judged->quota->states, judged->key};
    const Request request{now, judged->cost, Span{0}};
    const bool peek = gathering.verb == GateAsk::Verb::peek;
    settle(*judged, (peek ? table.peek(subject, request) : table.take(subject, request)).decision,
           here);
  }
}

/// The answers come on this thread: the store's client is this worker's own.
void Decider::ask_there(const std::shared_ptr<Gathering>& gathering) {
  redis::RemoteTable& store = *worker_.service.store;
  gathering->awaited = gathering->alone.size() + (gathering->jointly.empty() ? 0 : 1);
  if (gathering->awaited == 0) return conclude(*gathering);
  const auto came = [this, gathering](const redis::RemoteAnswer& remote) {
    note_health(worker_, remote);
    gathering->answer.decided_at = std::max(gathering->answer.decided_at, remote.decided_at);
    if (--gathering->awaited == 0) conclude(*gathering);
  };
  // While the answers to some come at once, the others are still to be asked.
  const std::vector<Judged*> alone = gathering->alone;
  const std::vector<Judged*> jointly = gathering->jointly;
  for (Judged* const judged : alone) {
    const Subject subject{judged->quota->states, judged->key};
    const redis::RemoteTable::Ask ask{judged->cost, Span{0}};
    auto then = [came, judged](redis::RemoteAnswer&& remote) {
      settle(*judged, remote.decision, remote.source);
      came(remote);
    };
    if (gathering->verb == GateAsk::Verb::peek) {
      store.peek(subject, ask, std::move(then));
    } else {
      store.take(subject, ask, std::move(then));
    }
  }
  if (jointly.empty()) return;
  auto then = [came, jointly](redis::RemoteAnswer&& remote) {
    Judged& binding = *jointly[remote.binding];
    settle(binding, remote.decision, remote.source);
    for (Judged* const judged : jointly) {
      judged->source = judged == &binding ? binding.source : remote.source;
    }
    came(remote);
  };
  if (jointly.size() == 1) {
    const Judged& judged = *jointly.front();
    return store.take({judged.quota->states, judged.key}, {judged.cost, gathering->patience},
                      std::move(then));
  }
  store.take_all(gathering->claims(), gathering->patience, std::move(then));
}

void Decider::conclude(Gathering& gathering) {
  gathering.conclude();
  GateAnswer& answer = gathering.answer;
  Instant until = answer.decided_at;
  for (const Judged& judged : answer.judged) {
    if (judged.decision && judged.decision->verdict == Verdict::deferred) {
      until = std::max(until, judged.decision->ready_at);
    }
    if (gathering.verb == GateAsk::Verb::peek) continue;
    if (gathering.for_lease && !gathering.took(answer, judged)) continue;
    count(judged, !judged.refuses       ? GateResult::allowed
                  : judged.rule->shadow ? GateResult::shadow_limited
                                        : GateResult::limited);
  }
  for (const Judged& judged : gathering.tried) count_candidate(judged);
  if (answer.allowed && until > answer.decided_at) {
    return keep_back(std::move(answer), std::move(gathering.then), until);
  }
  if (gathering.leasing == GateAsk::Leasing::as_rules_say && lease(gathering)) return;
  const Then then = std::move(gathering.then);
  then(std::move(answer));
}

/// Whether more is asked first for calls like these; the answer is given once that is known.
bool Decider::lease(Gathering& gathering) {
  const auto leases = [](const Judged& judged) { return judged.rule->lease > 1; };
  if (!gathering.answer.allowed || std::ranges::none_of(gathering.answer.judged, leases)) {
    return false;
  }
  Gathering ahead;
  std::vector<GateLease> wanted = gathering.ask_ahead(ahead);
  if (wanted.empty()) return false;
  ahead.then = [asked = std::make_shared<Gathering>(std::move(gathering)),
                wanted = std::move(wanted)](GateAnswer&& got) {
    asked->lease(got, wanted);
    asked->then(std::move(asked->answer));
  };
  run(std::move(ahead));
  return true;
}

void Decider::keep_back(GateAnswer&& answer, Then&& then, Instant until) {
  auto timer = std::make_shared<boost::asio::steady_timer>(loop_);
  timer->expires_after(until - answer.decided_at);
  ++held_;
  timer->async_wait([this, timer, kept = std::move(answer),
                     then = std::move(then)](const boost::system::error_code&) mutable {
    --held_;
    then(std::move(kept));
  });
}

void Decider::count(const Judged& judged, GateResult result) {
  RuleCounts::PerRule& counts = counts_.of(judged.rule->number);
  const auto at = static_cast<std::size_t>(result);
  counts.decisions[at][static_cast<std::size_t>(judged.source)].add(1);
  counts.hits[at].add(static_cast<std::uint64_t>(judged.cost));
  if (!judged.decision || judged.quota->kind != Quota::Kind::limited) return;
  const Decision& decision = *judged.decision;
  worker_.hot_keys.saw(*judged.quota->states, judged.key, decision.verdict);
  const Cost taken_now = taken(decision.verdict) ? judged.cost : 0;
  const Cost before = std::max<Cost>(0, decision.limit - decision.remaining - taken_now);
  const gateway::HitShares shares = gateway::shares_of({before, judged.cost, decision.limit});
  counts.near_hits.add(static_cast<std::uint64_t>(shares.near));
  if (judged.refuses) counts.over_hits.add(static_cast<std::uint64_t>(shares.over));
}

void Decider::count_candidate(const Judged& judged) {
  const auto at = static_cast<std::size_t>(judged.quota - judged.rule->candidates.data());
  RuleCounts::Candidate& counts = counts_.of(judged.rule->number).candidates[at];
  (judged.refuses ? counts.refused : counts.allowed).add(1);
}

}  // namespace weir::server
