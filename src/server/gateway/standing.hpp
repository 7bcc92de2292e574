// What a client is told of how it stands with the rules it met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "server/gateway/decider.hpp"
#include "weir/http/rate_fields.hpp"

namespace weir::server {

/// The limits behind an answer, for http::RateFields. Views hold as long as the answer.
struct Standing {
  static constexpr std::size_t most_policies = 8;

  std::vector<http::RatePolicy> policies{};  ///< the one that binds first
  std::optional<Span> retry_after{};

  http::RateStanding shown() const { return {.policies = policies, .retry_after = retry_after}; }
};

/// Of the rule that binds and, where that one has numbers, of those that it is known of how they
/// stand, the ones with least left first. A rule that was met several times stands there once.
Standing standing_of(const GateAnswer& answer);

}  // namespace weir::server
