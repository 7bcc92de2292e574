// The rules in force, as Envoy's rate limit service asks for them.
#pragma once

#include "server/gateway/decider.hpp"
#include "server/grpc/rate_limit_service.hpp"
#include "server/service.hpp"

namespace weir::server {

/// Of a domain that an envoyproxy/ratelimit file describes each descriptor counts by itself, as
/// there; of one of weir's own all descriptors of a request are taken or none. A call never waits.
///
/// Threads  the worker's
class RateLimits final : public grpc::RateLimitDecider {
 public:
  /// Both outlive it.
  RateLimits(Decider& decider, RuleCache& rules) : decider_(decider), rules_(rules) {}

  void decide(const grpc::RateLimitAsk& ask, grpc::RateLimitReply reply) override;

 private:
  Decider& decider_;
  RuleCache& rules_;
};

}  // namespace weir::server
