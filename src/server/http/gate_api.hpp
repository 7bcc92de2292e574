// /v1/forward, by any method: may this request go on? Asked by proxies, answered by the rules.
#pragma once

#include "server/gateway/decider.hpp"
#include "server/http/router.hpp"

namespace weir::server {

/// The decider must outlive the router's requests. docs/gateway.md has what is read and answered.
void add_gate_api(Router& router, Decider& decider);

}  // namespace weir::server
