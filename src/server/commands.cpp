#include "server/commands.hpp"

#include "wire/limiter_command.hpp"

namespace weir::server {
namespace {

const Command* find_in(std::span<const Command> commands, std::string_view name) {
  for (const Command& command : commands) {
    if (wire::is_word(name, command.name)) return &command;
  }
  return nullptr;
}

bool fits(int arity, std::size_t arguments) {
  return arity < 0 ? arguments >= static_cast<std::size_t>(-arity)
                   : arguments == static_cast<std::size_t>(arity);
}

/// The client's word, fit for an error of one line.
std::string shown(std::string_view word) {
  std::string text;
  for (const char c : word.substr(0, 64)) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

}  // namespace

const Command* find_command(std::string_view name) {
  const Command* command = find_in(limiter_commands(), name);
  return command ? command : find_in(connection_commands(), name);
}

Call prepare(const CommandContext& context, const wire::Arguments& arguments) {
  const Command* command = find_command(arguments[0]);
  if (!command) return {};
  if (!fits(command->arity, arguments.size())) return {command};
  if (!command->prefetch) return {command, true};
  return {command, true, command->prefetch(context, arguments)};
}

void run(const Call& call, CommandContext& context, const wire::Arguments& arguments,
         wire::ReplyWriter& reply) {
  if (!call.command) {
    context.metrics.command_errors.add(1);
    reply.error("ERR unknown command '" + shown(arguments[0]) +
                "'; COMMAND DOCS lists those known");
  } else if (!call.fits) {
    context.metrics.command_errors.add(1);
    reply.error("ERR wrong number of arguments; usage: " + std::string(call.command->name) + " " +
                std::string(call.command->arguments));
  } else {
    context.key_hash = call.key_hash;
    call.command->run(context, arguments, reply);
  }
}

void run_command(CommandContext& context, const wire::Arguments& arguments,
                 wire::ReplyWriter& reply) {
  run(prepare(context, arguments), context, arguments, reply);
}

void run_before_password(CommandContext& context, const wire::Arguments& arguments,
                         wire::ReplyWriter& reply) {
  for (const std::string_view open : {"AUTH", "HELLO", "QUIT"}) {
    if (wire::is_word(arguments[0], open)) return run_command(context, arguments, reply);
  }
  context.metrics.command_errors.add(1);
  reply.error("NOAUTH Authentication required.");
}

}  // namespace weir::server
