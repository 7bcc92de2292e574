// POST /v1/take, POST /v1/peek and GET /v1/check: limits that come with the request.
#pragma once

#include "server/http/http_context.hpp"
#include "server/http/router.hpp"

namespace weir::server {

/// The context must outlive the router's requests. docs/http.md has the bodies.
void add_limit_api(Router& router, HttpContext& context);

}  // namespace weir::server
