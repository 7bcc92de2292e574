// Whose state a client means, read from its JSON.
#pragma once

#include <optional>
#include <string_view>

#include "server/http/http_context.hpp"
#include "server/http/json.hpp"

namespace weir::server {

/// What a client said, and where.
struct Said {
  std::string_view place;
  std::string_view text;
};

/// An error for a key above the server's bound, which is counted.
std::optional<JsonError> check_key(HttpContext& context, const Said& key);

/// The rule that a client means by a limit's text or "@name".
Expected<const Rule*, JsonError> find_rule(HttpContext& context, const Said& limit);

/// "key" and "limit" of an object. The key lies in the request.
Expected<Subject, JsonError> read_subject(HttpContext& context, const JsonPlace& object);

}  // namespace weir::server
