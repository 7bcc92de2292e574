// The limit grammar's parser.
#pragma once

#include <string_view>
#include <vector>

#include "weir/limit.hpp"

namespace weir {

/// The terms of a limit's text, checked: each of them configures.
Expected<std::vector<LimitTerm>, LimitError> parse_terms(std::string_view text);

}  // namespace weir
