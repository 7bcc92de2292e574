#include "server/gateway/decider.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <span>
#include <utility>

#include "gateway/hit_shares.hpp"
#include "server/asking.hpp"
#include "server/gateway/gathering.hpp"

namespace weir::server {
namespace {

using gateway::EdgeRule;
using gateway::Quota;

/// The rule's own word on a store that does not answer goes before the server's.
redis::WithoutStore without_store(const EdgeRule& rule, const redis::RemoteTable& store) {
  switch (rule.without_store) {
    case gateway::WithoutStore::open: return redis::WithoutStore::open;
    case gateway::WithoutStore::closed: return redis::WithoutStore::closed;
    case gateway::WithoutStore::share: return redis::WithoutStore::share;
    case gateway::WithoutStore::as_server: break;
  }
  return store.policy().without_store;
}

/// Who decided for one of several rules.
redis::Source source_of(redis::WithoutStore word, redis::Source all) {
  if (by_store(all)) return all;
  switch (word) {
    case redis::WithoutStore::open: return redis::Source::open;
    case redis::WithoutStore::closed: return redis::Source::closed;
    case redis::WithoutStore::share: break;
  }
  return redis::Source::fallback;
}

void settle(Judged& judged, const Decision& decision, redis::Source source) {
  judged.source = source;
  judged.refuses = !taken(decision.verdict);
  judged.decision = decision;
}

/// What was decided a little earlier than the last of them: what was to come may have come.
void tell_as_of(Instant now, Judged& judged) {
  if (!judged.decision || judged.decision->reset_at == Instant()) return;  // no state was asked
  judged.decision->ready_at = std::max(judged.decision->ready_at, now);
  judged.decision->reset_at = std::max(judged.decision->reset_at, now);
}

}  // namespace

void Decider::renew(std::shared_ptr<const Generation> generation, std::size_t identities) {
  generation_ = std::move(generation);
  counts_.grow(identities);
}

void Decider::decide(const GateAsk& ask, Then then) {
  Gathering gathering;
  gathering.then = std::move(then);
  gathering.answer.generation = generation_;
  gathering.answer.decided_at = worker_.service.clock.now();
  gathering.gather(ask, worker_.service.key_bytes);
  if (gathering.too_many) note_too_many(ask.rules->domain().name);
  if (held_ >= most_held && gathering.patience > Span{0}) {
    worker_.metrics.hit(LimitHit::held_answers);
    gathering.patience = Span{0};
  }
  run(std::move(gathering));
}

void Decider::note_too_many(std::string_view domain) {
  worker_.metrics.hit(LimitHit::rules_of_a_call);
  worker_.service.log.write(LogKind::too_many_rules,
                            {{"domain", domain},
                             {"expected_at_most", std::int64_t{Table::most_claims}},
                             {"mend", "match fewer calls by each rule, or ask fewer descriptors"}});
}

void Decider::note_no_domain(std::string_view domain) {
  worker_.metrics.domains_not_found.add(1);
  worker_.service.log.write(
      LogKind::domain_not_found,
      {{"domain", domain}, {"mend", "name it as in the proxy's configuration, or add its rules"}});
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
    settle(judged, table.take(subject_of(judged), request).decision, here);
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
    const Subject subject = subject_of(*judged);
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
    const Subject subject = subject_of(*judged);
    const redis::RemoteTable::Ask ask{judged->cost, Span{0}, without_store(*judged->rule, store)};
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
  std::vector<redis::WithoutStore> words;
  words.reserve(jointly.size());
  for (const Judged* const judged : jointly) words.push_back(without_store(*judged->rule, store));
  store.take_all(gathering->claims(), {gathering->patience, words},
                 [came, jointly, words](redis::RemoteAnswer&& remote) {
                   for (std::size_t at = 0; at < jointly.size(); ++at) {
                     jointly[at]->source = source_of(words[at], remote.source);
                   }
                   settle(*jointly[remote.binding], remote.decision, remote.source);
                   came(remote);
                 });
}

void Decider::conclude(Gathering& gathering) {
  GateAnswer& answer = gathering.answer;
  for (Judged& judged : answer.judged) tell_as_of(answer.decided_at, judged);
  answer.conclude();
  Instant until = answer.decided_at;
  for (const Judged& judged : answer.judged) {
    if (judged.decision && judged.decision->verdict == Verdict::deferred) {
      until = std::max(until, judged.decision->ready_at);
    }
    if (gathering.verb == GateAsk::Verb::peek) continue;
    if (gathering.for_lease && !gathering.took(answer, judged)) continue;
    count(judged,
          !judged.refuses       ? GateResult::allowed
          : judged.rule->shadow ? GateResult::shadow_limited
                                : GateResult::limited,
          answer.decided_at);
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

void Decider::count(const Judged& judged, GateResult result, Instant decided_at) {
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
  if (decision.limit > 0) counts.fullest.saw(before + taken_now, decision.limit, decided_at);
}

void Decider::count_candidate(const Judged& judged) {
  const auto at = static_cast<std::size_t>(judged.quota - judged.rule->candidates.data());
  RuleCounts::Candidate& counts = counts_.of(judged.rule->number).candidates[at];
  (judged.refuses ? counts.refused : counts.allowed).add(1);
}

}  // namespace weir::server
