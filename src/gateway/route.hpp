// The path that rules see of a request.
#pragma once

#include <string>
#include <string_view>

namespace weir::gateway {

/// One spelling for all paths that most servers answer alike: without query, escapes in one form
/// (http::path_of), "//" one slash, "." and ".." followed. Nobody passes a rule for /login as
/// /%6cogin, //login or /x/../login. What climbs above the root is at the root.
std::string route_of(std::string_view target);

}  // namespace weir::gateway
