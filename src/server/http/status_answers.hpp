// What is told of the server's health: on the status page, and beside the API.
#pragma once

#include <optional>

#include "server/http/http_message.hpp"
#include "server/http/router.hpp"
#include "server/service.hpp"

namespace weir::server {

/// A path and what stands behind its '?'.
struct StatusPath {
  std::string_view path;
  std::string_view query{};
};

/// The answer to GET of /metrics, /livez or /readyz; none to that of another path.
std::optional<HttpAnswer> status_answer(const Service& service, StatusPath asked);

void add_status(Router& router, const Service& service);

}  // namespace weir::server
