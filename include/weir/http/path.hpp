// The path of a request target.
#pragma once

#include <string>
#include <string_view>

namespace weir::http {

/// The path that a request target names, without query, in one spelling: %61 is a, and %2f is %2F,
/// which stay apart from the slash (RFC 3986, 6.2.2.1 and 6.2.2.2); a percent sign that begins no
/// escape is %25. So nobody gets another count for another spelling. Dots are left to the router.
std::string path_of(std::string_view target);

}  // namespace weir::http
