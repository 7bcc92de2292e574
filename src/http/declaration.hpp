// What a declaration of an access limit must be.
#pragma once

#include <string>

#include "weir/http/access_limit.hpp"

namespace weir::http {

/// The handler that it is for: "POST /reply", "any /search".
std::string name_of(const AccessLimit& declared);

/// The limit that it declares, or why it is none, without the handler's name.
Expected<Limit, std::string> limit_of(const AccessLimit& declared);

}  // namespace weir::http
