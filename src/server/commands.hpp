// Commands by name.
#pragma once

#include <span>
#include <string_view>

#include "server/connection.hpp"

namespace weir::server {

/// One command: what COMMAND tells of it, and what runs it.
struct Command {
  using Run = void (*)(CommandContext&, const wire::Arguments&, wire::ReplyWriter&);

  std::string_view name;  ///< in capitals
  int arity;              ///< as Redis counts: the name included, negative for "at least"
  bool writes;
  int first_key;  ///< the argument that is the key; 0 for none
  std::string_view summary;
  std::string_view arguments;  ///< their form, for people
  Run run;
};

std::span<const Command> limiter_commands();
std::span<const Command> connection_commands();

/// Null where there is none of the name, which may be in any case.
const Command* find_command(std::string_view name);

/// Runs the command that the arguments name; writes exactly one reply. Requires arguments.
void run_command(CommandContext& context, const wire::Arguments& arguments,
                 wire::ReplyWriter& reply);

/// The same for a client that has not shown the password yet: AUTH, HELLO and QUIT alone.
void run_before_password(CommandContext& context, const wire::Arguments& arguments,
                         wire::ReplyWriter& reply);

}  // namespace weir::server
