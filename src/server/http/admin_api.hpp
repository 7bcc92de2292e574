// What operators ask and change while the server runs: /v1/admin/...
#pragma once

#include "server/control.hpp"
#include "server/gateway/decider.hpp"
#include "server/http/http_context.hpp"
#include "server/http/router.hpp"

namespace weir::server {

struct AdminContext {
  HttpContext& http;
  Decider& decider;
  Control& control;
};

/// For who shows the admin token; each wrong one is counted and ends its connection. What the
/// context refers to must outlive the router's requests. docs/http.md has the bodies.
void add_admin_api(Router& router, const AdminContext& context);

}  // namespace weir::server
