// POST /json: Envoy's rate limit service without gRPC, as envoyproxy/ratelimit has it.
#pragma once

#include "server/gateway/decider.hpp"
#include "server/grpc/services.hpp"
#include "server/http/router.hpp"

namespace weir::server {

/// The body is a RateLimitRequest and the answer a RateLimitResponse, both in the JSON of Protocol
/// Buffers: 200 where the request may go on, 429 where it is over a limit, 400 with the reason
/// where there is no answer. Requires that the services have the method, which asks the decider,
/// and that both outlive the router.
void add_json_api(Router& router, const grpc::Services& services, const Decider& decider);

}  // namespace weir::server
