// What a client of the limit API asks, read from its JSON or its query.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "server/http/http_context.hpp"
#include "server/http/json.hpp"
#include "server/http/query.hpp"
#include "weir/local/table.hpp"

namespace weir::server {

/// One key, and how much of it. The key lies in the request.
struct OneAsked {
  Claim claim{};
  std::optional<Span> patience{};  ///< absent where the limit's own is meant
};

/// Several keys, all or none.
struct SeveralAsked {
  std::array<Claim, Table::most_claims> claims{};
  std::size_t count = 0;
  std::optional<Span> patience{};

  std::span<const Claim> all() const { return std::span(claims).first(count); }
};

/// "key", "limit", "cost" and "patience" of an object.
Expected<OneAsked, JsonError> read_one(HttpContext& context, const JsonPlace& object);

/// "all", a list of "key", "limit" and "cost", and "patience". Requires an object with "all".
Expected<SeveralAsked, JsonError> read_several(HttpContext& context, const JsonPlace& object);

/// "key", "limit" and "cost" of a query.
Expected<Claim, JsonError> read_claim(HttpContext& context, const QueryMembers& members);

}  // namespace weir::server
