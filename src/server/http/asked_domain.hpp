// Which domain's rules a request is about.
#pragma once

#include <string_view>

#include "server/gateway/decider.hpp"
#include "server/http/http_message.hpp"

namespace weir::server {

/// What is answered where a server has no rules.
HttpAnswer no_rules();

/// The rules of the domain, or of the usual one where none is named; else what is answered.
Expected<const gateway::RuleIndex*, HttpAnswer> asked_domain(const Decider& decider,
                                                             std::string_view domain);

}  // namespace weir::server
