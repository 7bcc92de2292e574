// Whether a policy's numbers make one.
#pragma once

#include "weir/redis/policy.hpp"

namespace weir::redis {

/// The policy itself. Throws std::invalid_argument that names the setting where they do not; spans
/// have an end, so that no instant reckoned from them overflows.
const Policy& checked(const Policy& policy);

}  // namespace weir::redis
