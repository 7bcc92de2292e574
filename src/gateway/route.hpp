// The path and the host that rules see of a request.
#pragma once

#include <string>
#include <string_view>

namespace weir::gateway {

/// One spelling for all paths that most servers answer alike: without query, escapes in one form
/// (http::path_of), "//" one slash, "." and ".." followed. Nobody passes a rule for /login as
/// /%6cogin, //login or /x/../login. What climbs above the root is at the root.
std::string route_of(std::string_view target);

/// One spelling for all that name one host: in lower case, without a port and a dot at its end.
/// The view is of either text.
std::string_view host_of(std::string_view said, std::string& scratch);

}  // namespace weir::gateway
