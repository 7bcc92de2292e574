// Grants as clients hold them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/algorithm/concept.hpp"

namespace weir::redis {

/// What WEIR.TAKE hands out and WEIR.CANCEL takes: a grant and its number, which makes it one of a
/// kind, so that it can be spent once.
struct GrantToken {
  std::uint64_t number = 0;
  Grant grant;
};

/// Text without blanks: number.cost.instant.turn, then .whole.rest for each term's mark.
std::string print(const GrantToken& token, std::size_t terms);

/// Nothing where the text is no token for a limit of so many terms.
std::optional<GrantToken> read_grant_token(std::string_view text, std::size_t terms);

}  // namespace weir::redis
