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
  std::vector<http::RatePolicy> policies{};
  std::size_t binding = 0;
  std::optional<Span> retry_after{};

  http::RateStanding shown() const { return {policies, binding, retry_after}; }
};

/// Of the rule that binds: others that were taken with it may be unknown, and a client that keeps
/// to this one keeps to all.
Standing standing_of(const GateAnswer& answer);

}  // namespace weir::server
