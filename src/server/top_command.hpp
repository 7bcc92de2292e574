// WEIR.TOP: what the server decides, under which limits and for which keys.
#pragma once

#include "server/commands.hpp"

namespace weir::server {

void top(CommandContext& context, const wire::Arguments& arguments, wire::ReplyWriter& reply);

}  // namespace weir::server
