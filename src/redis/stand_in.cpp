#include "redis/stand_in.hpp"

#include <algorithm>
#include <array>

#include "redis/divided_limit.hpp"

namespace weir::redis {
namespace {

using Machine = Limit::Machine;

Cost capacity_of(const Subject& subject) {
  return Machine::capacity(subject.config ? *subject.config : subject.rule->limit.config());
}

/// The claim that its limit can never grant.
std::optional<std::size_t> first_impossible(std::span<const Claim> claims) {
  for (std::size_t at = 0; at < claims.size(); ++at) {
    if (claims[at].cost > capacity_of(claims[at].subject)) return at;
  }
  return {};
}

/// The claim with the smallest limit, of those with this word.
std::optional<std::size_t> smallest(const StandIn::Asked& asked, WithoutStore word) {
  std::optional<std::size_t> found;
  for (std::size_t at = 0; at < asked.claims.size(); ++at) {
    if (asked.without_store[at] != word) continue;
    if (!found ||
        capacity_of(asked.claims[at].subject) < capacity_of(asked.claims[*found].subject)) {
      found = at;
    }
  }
  return found;
}

}  // namespace

StandIn::StandIn(const Policy& policy, std::function<Instant()> now)
    : policy_(policy), now_(std::move(now)), table_({.max_keys = policy.keys}) {}

RemoteAnswer StandIn::decide(Question question, const Asked& asked) {
  const Instant now = now_();
  RemoteAnswer answer;
  if (const auto at = first_impossible(asked.claims)) {
    const bool open = asked.without_store[*at] == WithoutStore::open;
    const Cost limit = capacity_of(asked.claims[*at].subject);
    answer.decision = {Verdict::impossible, never, limit, open ? limit : 0, now};
    answer.source = open ? Source::open : Source::closed;
    answer.decided_at = now;
    answer.binding = *at;
  } else if (const auto closed = smallest(asked, WithoutStore::closed)) {
    answer = denied(asked.claims[*closed], now);
    answer.binding = *closed;
  } else if (smallest(asked, WithoutStore::share)) {
    answer = by_share(question, asked, now);
  } else {
    answer.binding = smallest(asked, WithoutStore::open).value();
    const Cost limit = capacity_of(asked.claims[answer.binding].subject);
    answer.decision = {Verdict::granted, now, limit, limit, now};
    answer.source = Source::open;
    answer.decided_at = now;
  }
  return answer;
}

/// Of what is open nothing is counted.
RemoteAnswer StandIn::by_share(Question question, const Asked& asked, Instant now) {
  std::array<Claim, Table::most_claims> shares{};
  std::array<Machine::Config, Table::most_claims> configs{};
  std::array<std::size_t, Table::most_claims> claim_of{};
  std::size_t count = 0;
  for (std::size_t at = 0; at < asked.claims.size(); ++at) {
    if (asked.without_store[at] != WithoutStore::share) continue;
    const Claim& claim = asked.claims[at];
    claim_of[count] = at;
    shares[count] = claim;
    Subject& subject = shares[count].subject;
    subject.hash.reset();
    if (subject.config == nullptr) {
      subject.rule = share_of(*subject.rule);
      if (subject.rule == nullptr) return denied(claim, now);
    } else {
      const auto share = divided(*subject.config, policy_.members);
      if (!share) return denied(claim, now);
      configs[count] = *share;
      subject.config = &configs[count];
    }
    ++count;
  }
  RemoteAnswer answer{.source = Source::fallback};
  const bool peek = question == Question::peek;
  if (count == 1) {
    const Request one{now, shares[0].cost, asked.patience};
    const Answer told =
        peek ? table_.peek(shares[0].subject, one) : table_.take(shares[0].subject, one);
    answer.decision = told.decision;
    answer.decided_at = told.decided_at;
    answer.binding = claim_of[0];
  } else {
    const auto claims = std::span(shares).first(count);
    const Request all{now, 0, asked.patience};
    const JointAnswer told = peek ? table_.peek_all(claims, all) : table_.take_all(claims, all);
    answer.decision = told.decision;
    answer.decided_at = told.decided_at;
    answer.binding = claim_of[told.binding];
  }
  if (answer.decision.verdict == Verdict::impossible) {
    answer.decision.verdict = Verdict::denied;
    answer.decision.ready_at =
        answer.decided_at + std::chrono::ceil<Span>(policy_.breaker.probe_every);
  }
  return answer;
}

/// Until the store is asked again.
RemoteAnswer StandIn::denied(const Claim& claim, Instant now) const {
  const Instant asked_again_at = now + std::chrono::ceil<Span>(policy_.breaker.probe_every);
  return {
      .decision = {Verdict::denied, asked_again_at, capacity_of(claim.subject), 0, asked_again_at},
      .decided_at = now,
      .source = Source::closed};
}

const Rule* StandIn::share_of(const Rule& rule) {
  const std::lock_guard lock(mutex_);
  const auto found = shares_.find(rule.name + '\n' + rule.limit.text());
  if (found != shares_.end()) return found->second.get();
  if (shares_.size() == most_shares) return nullptr;
  auto share =
      std::make_unique<const Rule>(Rule{static_cast<std::uint32_t>(shares_.size()), rule.name,
                                        divided(rule.limit, policy_.members), rule.named});
  return shares_.emplace(rule.name + '\n' + rule.limit.text(), std::move(share))
      .first->second.get();
}

}  // namespace weir::redis
