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

inline RemoteRequestPtr owned(StandIn::Question question, std::span<const Claim> claims,
                              std::optional<Span> patience, RemoteTable::Then then) {
  auto asked = std::make_shared<RemoteRequest>();
  asked->question = question;
  for (const auto& [subject, cost] : claims) {
    assert(cost >= 0);
    asked->parts.push_back({subject.rule, std::string(subject.key), {}, cost});
    if (subject.config != nullptr) asked->parts.back().config = *subject.config;
  }
  asked->patience = patience;
  asked->then = std::move(then);
  return asked;
}

}  // namespace weir::redis
