// A request to a remote table, while it is under way.
#pragma once

#include <cassert>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "redis/remote_table.hpp"
#include "redis/script_reply.hpp"
#include "redis/stand_in.hpp"

namespace weir::redis {

/// A request that outlives its caller's words.
struct RemoteRequest {
  struct Part {
    const Rule* rule;
    std::string key;
    std::optional<Limit::Machine::Config> config;
    Cost cost;
    std::optional<WithoutStore> without_store;  ///< else the policy's
  };

  StandIn::Question question = StandIn::Question::take;
  std::vector<Part> parts;
  std::vector<ToldKey> told;
  std::optional<Span> patience;
  RemoteTable::Then then;
  SteadyInstant asked_at{};
  std::uint64_t forgotten = 0;  ///< of denials, then
  bool alone = false;           ///< asks for itself, whatever others lease
  bool bare = false;            ///< trouble is told as it is, and nobody stands in

  std::vector<Claim> claims() const {
    std::vector<Claim> claims;
    for (const Part& part : parts) {
      claims.push_back(
          {{part.rule, part.key, part.config ? &*part.config : nullptr, {}}, part.cost});
    }
    return claims;
  }
};
using RemoteRequestPtr = std::shared_ptr<RemoteRequest>;

inline RemoteRequest::Part owned(const Claim& claim, std::optional<WithoutStore> without_store) {
  const auto& [subject, cost] = claim;
  assert(cost >= 0);
  RemoteRequest::Part part{subject.rule, std::string(subject.key), {}, cost, without_store};
  if (subject.config != nullptr) part.config = *subject.config;
  return part;
}

inline RemoteRequestPtr owned(StandIn::Question question, const Subject& subject,
                              const RemoteTable::Ask& ask, RemoteTable::Then then) {
  auto asked = std::make_shared<RemoteRequest>();
  asked->question = question;
  asked->parts.push_back(owned({subject, ask.cost}, ask.without_store));
  asked->patience = ask.patience;
  asked->then = std::move(then);
  return asked;
}

inline RemoteRequestPtr owned(StandIn::Question question, std::span<const Claim> claims,
                              const RemoteTable::JointAsk& ask, RemoteTable::Then then) {
  assert(!claims.empty() && claims.size() <= Table::most_claims);
  assert(ask.without_store.empty() || ask.without_store.size() == claims.size());
  auto asked = std::make_shared<RemoteRequest>();
  asked->question = question;
  asked->parts.reserve(claims.size());
  for (std::size_t at = 0; at < claims.size(); ++at) {
    std::optional<WithoutStore> word;
    if (!ask.without_store.empty()) word = ask.without_store[at];
    asked->parts.push_back(owned(claims[at], word));
  }
  asked->patience = ask.patience;
  asked->then = std::move(then);
  return asked;
}

}  // namespace weir::redis
