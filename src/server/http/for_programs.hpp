// What pages in a browser may not ask.
#pragma once

#include "server/http/router.hpp"

namespace weir::server {

/// The handler, for programs alone. Any page that somebody visits can have the browser send
/// requests to this machine or network; without leave it cannot say application/json of a body, nor
/// hide where it comes from.
///
/// Errors  403 where a browser says that a page asks; 415 for a body that is not called JSON
HttpHandler for_programs(HttpHandler handler);

}  // namespace weir::server
