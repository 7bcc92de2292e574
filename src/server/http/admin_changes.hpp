// What operators change while the server runs; the verbs of admin_api.hpp that do.
#pragma once

#include "server/http/admin_api.hpp"
#include "server/http/json.hpp"

namespace weir::server {

/// Forgets what a rule or a limit knows of a key.
void reset_key(const AdminContext& admin, const HttpRequest& request, const JsonPlace& body,
               HttpReply& reply);

/// Sets or takes away a key's own limit.
void override_key(const AdminContext& admin, const HttpRequest& request, const JsonPlace& body,
                  HttpReply& reply);

void list_overrides(const AdminContext& admin, const HttpRequest& request, HttpReply& reply);

/// Of all that SIGHUP reads anew.
void reload(const AdminContext& admin, const HttpRequest& request, HttpReply& reply);

}  // namespace weir::server
