// MULTI ... EXEC: commands of one connection that wait, then run one behind the other.
#pragma once

#include "server/commands.hpp"

namespace weir::server {

void multi(CommandContext& context, const wire::Arguments& arguments, wire::ReplyWriter& reply);
void exec(CommandContext& context, const wire::Arguments& arguments, wire::ReplyWriter& reply);
void discard(CommandContext& context, const wire::Arguments& arguments, wire::ReplyWriter& reply);

/// Has a command of the limiter wait for EXEC and refuses most others, with a reply; false without
/// one, where the command is to run now. Requires a transaction.
bool waits_for_exec(CommandContext& context, const Command& command,
                    const wire::Arguments& arguments, wire::ReplyWriter& reply);

}  // namespace weir::server
