// Limits of their own that would do nothing, or refuse for ever.
#pragma once

#include <string>
#include <string_view>

#include "gateway/rule.hpp"

namespace weir::gateway {

/// Why the limit never grants what one call costs; empty: it does.
std::string trouble_with_cost(Cost cost, const Quota& quota);

/// Why a limit of its own for this key of the rule is a mistake: no call has the key, or all of its
/// calls are refused by a limit that is meant to grant some. Empty: it is none.
std::string trouble_with_override(const EdgeRule& rule, const Grouping& grouping,
                                  std::string_view key, const Quota& quota);

}  // namespace weir::gateway
