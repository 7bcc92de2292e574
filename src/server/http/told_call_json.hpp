// A call that somebody tells of, read from JSON.
#pragma once

#include "gateway/told_call.hpp"
#include "server/http/json.hpp"

namespace weir::server {

/// "method", "uri", "host", "ip", "user", "headers" and "entries" of an object, each of which may
/// be left out.
Expected<gateway::ToldCall, JsonError> read_told_call(const JsonPlace& body);

}  // namespace weir::server
