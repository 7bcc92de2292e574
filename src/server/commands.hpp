// Commands by name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/connection.hpp"

namespace weir::server {

/// Which of a command's arguments are keys.
enum class Keys {
  none,
  first,     ///< the one behind the name
  every,     ///< all behind the name
  numbered,  ///< as many as the first argument says, behind it
};

/// One command: what COMMAND tells of it, and what runs it.
struct Command {
  using Run = void (*)(CommandContext&, const wire::Arguments&, wire::ReplyWriter&);

  std::string_view name;  ///< in capitals
  int arity;              ///< as Redis counts: the name included, negative for "at least"
  bool writes;
  Keys keys;
  std::string_view summary;
  std::string_view arguments;  ///< their form, for people
  Run run;
  /// Has the key's state fetched, for a run a little later; returns the key's hash where it can be
  /// known. Null for commands that are seldom in a hurry.
  using Prefetch = std::optional<std::uint64_t> (*)(const CommandContext&, const wire::Arguments&);
  Prefetch prefetch = nullptr;
};

std::span<const Command> limiter_commands();
std::span<const Command> connection_commands();

/// Null where there is none of the name, which may be in any case.
const Command* find_command(std::string_view name);

/// Whether a call of so many arguments, the name included, is one of this command.
bool takes(const Command& command, std::size_t arguments) noexcept;

/// A client's word, fit for an error of one line.
std::string shown(std::string_view word);

/// What the arguments name, and whether they may be given to it.
struct Call {
  const Command* command = nullptr;  ///< null where there is none
  bool fits = false;
  std::optional<std::uint64_t> key_hash{};  ///< where its state was fetched
};
/// Requires arguments. The key's state is fetched meanwhile.
Call prepare(const CommandContext& context, const wire::Arguments& arguments);

/// Runs the call; writes exactly one reply.
void run(const Call& call, CommandContext& context, const wire::Arguments& arguments,
         wire::ReplyWriter& reply);

/// Prepares and runs at once.
void run_command(CommandContext& context, const wire::Arguments& arguments,
                 wire::ReplyWriter& reply);

/// The same for a client that has not shown the password yet: AUTH, HELLO and QUIT alone.
void run_before_password(CommandContext& context, const wire::Arguments& arguments,
                         wire::ReplyWriter& reply);

}  // namespace weir::server
