// The rules in force, as Envoy's rate limit service asks for them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "server/gateway/decider.hpp"
#include "server/grpc/rate_limit_service.hpp"

namespace weir::server {

/// Of a domain that an envoyproxy/ratelimit file describes each descriptor counts by itself, as
/// there; of one of weir's own all descriptors of a request are taken or none. A call never waits.
/// A limit that a descriptor brings along counts by its unit: what was used under other numbers
/// counts on.
///
/// Threads  the worker's
/// Memory   most_quotas limits that descriptors brought
class RateLimits final : public grpc::RateLimitDecider {
 public:
  static constexpr std::size_t most_quotas = 4096;

  /// Requires that the decider outlives it.
  explicit RateLimits(Decider& decider) : decider_(decider) {}

  void decide(const grpc::RateLimitAsk& ask, grpc::RateLimitReply reply) override;

 private:
  using QuotaOfCall = std::shared_ptr<const gateway::Quota>;
  QuotaOfCall quota_of(const grpc::RateLimitOverride& wanted, const Generation& generation);

  Decider& decider_;
  std::map<std::pair<std::uint32_t, grpc::RateLimitUnit>, QuotaOfCall> quotas_;
};

}  // namespace weir::server
