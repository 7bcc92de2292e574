#include "server/commands.hpp"

#include "server/transaction.hpp"
#include "wire/limiter_command.hpp"

namespace weir::server {
namespace {

const Command* find_in(std::span<const Command> commands, std::string_view name) {
  for (const Command& command : commands) {
    if (wire::is_word(name, command.name)) return &command;
  }
  return nullptr;
}

bool is_of_scripts(std::string_view name) {
  for (const char* each : {"EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "SCRIPT", "FCALL"}) {
    if (wire::is_word(name, each)) return true;
  }
  return false;
}

/// Most of those who ask for another command took weir for a Redis: name what there is. Redisson
/// repeats a script for ever where its command is called unknown.
std::string unknown(std::string_view name) {
  std::string message =
      is_of_scripts(name) ? "ERR no scripts: " : "ERR unknown command '" + shown(name) + "'; ";
  message += "this server limits rates with";
  for (const Command& command : limiter_commands()) message += ' ' + std::string(command.name);
  return message + "; COMMAND DOCS lists all";
}

std::string misused(const Command& command) {
  return "ERR wrong number of arguments; usage: " + std::string(command.name) + " " +
         std::string(command.arguments);
}

}  // namespace

bool takes(const Command& command, std::size_t arguments) noexcept {
  const int arity = command.arity;
  return arity < 0 ? arguments >= static_cast<std::size_t>(-arity)
                   : arguments == static_cast<std::size_t>(arity);
}

std::string shown(std::string_view word) {
  std::string text;
  for (const char c : word.substr(0, 64)) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

const Command* find_command(std::string_view name) {
  const Command* command = find_in(limiter_commands(), name);
  return command ? command : find_in(connection_commands(), name);
}

Call prepare(const CommandContext& context, const wire::Arguments& arguments) {
  const Command* command = find_command(arguments[0]);
  if (!command) return {};
  if (!takes(*command, arguments.size())) return {command};
  if (!command->prefetch) return {command, true};
  return {command, true, command->prefetch(context, arguments)};
}

void run(const Call& call, CommandContext& context, const wire::Arguments& arguments,
         wire::ReplyWriter& reply) {
  Transaction* transaction = context.connection->transaction.get();
  if (!call.fits) {
    context.metrics.command_errors.add(1);
    if (transaction) transaction->spoilt = true;
    reply.error(!call.command ? unknown(arguments[0]) : misused(*call.command));
  } else if (!transaction || !waits_for_exec(context, *call.command, arguments, reply)) {
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
