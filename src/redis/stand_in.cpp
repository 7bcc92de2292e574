#include "redis/stand_in.hpp"

#include <algorithm>
#include <array>
#include <variant>

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

}  // namespace

StandIn::StandIn(const Policy& policy, std::function<Instant()> now)
    : policy_(policy), now_(std::move(now)), table_({.max_keys = policy.keys}) {}

RemoteAnswer StandIn::decide(Question question, std::span<const Claim> claims,
                             std::optional<Span> patience) {
  const Instant now = now_();
  if (policy_.without_store == WithoutStore::share && !first_impossible(claims)) {
    return by_share(question, claims, {.now = now, .cost = 0, .patience = patience});
  }
  return by_policy(claims, now);
}

RemoteAnswer StandIn::by_share(Question question, std::span<const Claim> claims,
                               const Request& request) {
  std::array<Claim, Table::most_claims> shares{};
  std::array<Machine::Config, Table::most_claims> configs{};
  for (std::size_t at = 0; at < claims.size(); ++at) {
    shares[at] = claims[at];
    Subject& subject = shares[at].subject;
    subject.hash.reset();
    if (subject.config == nullptr) {
      subject.rule = share_of(*subject.rule);
      if (subject.rule == nullptr) return by_policy(claims, request.now);
      continue;
    }
    const auto* bucket = std::get_if<Gcra::Config>(subject.config);
    const auto share = bucket ? divided(*bucket, policy_.members) : std::nullopt;
    if (!share) return by_policy(claims, request.now);
    configs[at] = *share;
    subject.config = &configs[at];
  }
  const std::span<const Claim> asked = std::span(shares).first(claims.size());
  RemoteAnswer answer{.source = Source::fallback};
  if (claims.size() == 1) {
    const Request one{request.now, claims[0].cost, request.patience};
    const Answer told = question == Question::peek ? table_.peek(asked[0].subject, one)
                                                   : table_.take(asked[0].subject, one);
    answer.decision = told.decision;
    answer.decided_at = told.decided_at;
  } else {
    const JointAnswer told = table_.take_all(asked, request);
    answer.decision = told.decision;
    answer.decided_at = told.decided_at;
    answer.binding = told.binding;
  }
  if (answer.decision.verdict == Verdict::impossible) {
    answer.decision.verdict = Verdict::denied;
    answer.decision.ready_at =
        answer.decided_at + std::chrono::ceil<Span>(policy_.breaker.probe_every);
  }
  return answer;
}

RemoteAnswer StandIn::by_policy(std::span<const Claim> claims, Instant now) const {
  const bool open = policy_.without_store == WithoutStore::open;
  RemoteAnswer answer{.decided_at = now, .source = open ? Source::open : Source::closed};
  const auto impossible = first_impossible(claims);
  for (std::size_t at = 1; at < claims.size(); ++at) {
    if (capacity_of(claims[at].subject) < capacity_of(claims[answer.binding].subject)) {
      answer.binding = at;
    }
  }
  answer.binding = impossible.value_or(answer.binding);
  const Cost limit = capacity_of(claims[answer.binding].subject);
  const Instant asked_again_at = now + std::chrono::ceil<Span>(policy_.breaker.probe_every);
  if (impossible) {
    answer.decision = {Verdict::impossible, never, limit, open ? limit : 0, now};
  } else if (open) {
    answer.decision = {Verdict::granted, now, limit, limit, now};
  } else {
    answer.decision = {Verdict::denied, asked_again_at, limit, 0, asked_again_at};
  }
  return answer;
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
