// What stands behind the '?' of a target.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/vocabulary.hpp"

namespace weir::server {

struct QueryError {
  std::string message;
};

using QueryMembers = std::vector<std::pair<std::string, std::string>>;

/// name=value&name=value, decoded as browsers and curl encode forms: %XX, and + for a space. At
/// most 16. An error for a '%' without two digits, or a name twice.
Expected<QueryMembers, QueryError> read_query(std::string_view query);

}  // namespace weir::server
