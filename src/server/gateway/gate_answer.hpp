// What the rules in force are asked about calls, and what they say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/gateway/generation.hpp"
#include "weir/local/table.hpp"
#include "weir/redis/policy.hpp"

namespace weir::server {

/// What is asked: calls that are let through together or not at all. A proxy's request is one call;
/// of RateLimitService each descriptor is one.
struct GateAsk {
  enum class Verb : std::uint8_t { take, peek };
  enum class Leasing : std::uint8_t { never, as_rules_say };

  const gateway::RuleIndex* rules;  ///< of the generation in force
  std::span<const gateway::Call> calls;
  /// One for each call; what a rule takes for it is so many times the rule's cost.
  std::span<const Cost> hits;
  Verb verb = Verb::take;
  Span patience{0};  ///< an answer is kept back so long at most, and so long as rules say
  Leasing leasing = Leasing::never;
};

/// A rule that a call met.
struct Judged {
  std::size_t call = 0;
  const gateway::EdgeRule* rule = nullptr;
  const gateway::Quota* quota = nullptr;
  std::string key{};
  Cost cost = 0;
  /// None for what has no limit, and where rules that were taken together in a store leave it
  /// untold.
  std::optional<Decision> decision{};
  redis::Source source = redis::Source::store;
  bool refuses = false;
};

/// Whose state it asks for.
inline Subject subject_of(const Judged& judged) {
  const gateway::Quota& quota = *judged.quota;
  return {quota.states, judged.key, quota.of_call ? &quota.limit->config() : nullptr, {}};
}

/// Calls like one that was asked, that whoever asked may let through without asking again.
struct GateLease {
  std::size_t call;
  Cost calls;  ///< with the one that was asked
  Instant valid_until;
};

struct GateAnswer {
  std::shared_ptr<const Generation> generation;
  Instant decided_at{};
  bool allowed = true;
  std::vector<Judged> judged{};          ///< in the order of the calls; without candidates
  std::optional<std::size_t> binding{};  ///< of judged: what refuses longest, else has least left
  std::vector<GateLease> leases{};

  /// When the same would be allowed; never where it never would, none where it is.
  std::optional<Instant> retry_at() const;

  /// Finds out from what was judged what is allowed and what binds.
  void conclude();
};

}  // namespace weir::server
