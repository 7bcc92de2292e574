// The commands that give back what was taken, or forget it.
#pragma once

#include "server/commands.hpp"

namespace weir::server {

void cancel(CommandContext& context, const wire::Arguments& arguments, wire::ReplyWriter& reply);
void refund(CommandContext& context, const wire::Arguments& arguments, wire::ReplyWriter& reply);
void reset(CommandContext& context, const wire::Arguments& arguments, wire::ReplyWriter& reply);
void leave(CommandContext& context, const wire::Arguments& arguments, wire::ReplyWriter& reply);
void renew(CommandContext& context, const wire::Arguments& arguments, wire::ReplyWriter& reply);
void del(CommandContext& context, const wire::Arguments& arguments, wire::ReplyWriter& reply);

}  // namespace weir::server
