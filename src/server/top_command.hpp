// WEIR.TOP: what the server decides, under which limits and for which keys.
#pragma once

#include <cstdint>
#include <string>

#include "server/commands.hpp"

namespace weir::server {

/// Of keys that are told of.
inline constexpr std::int64_t top_keys_unless_said = 10;
inline constexpr std::int64_t most_top_keys = FrequentKeys::room;

/// As a request names it.
std::string limit_named(const Rules& rules, const Rule& rule);

void top(CommandContext& context, const wire::Arguments& arguments, wire::ReplyWriter& reply);

}  // namespace weir::server
