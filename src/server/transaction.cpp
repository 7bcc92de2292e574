#include "server/transaction.hpp"

#include <utility>

#include "wire/limiter_command.hpp"

namespace weir::server {
namespace {

using wire::Arguments;
using wire::ReplyWriter;

/// What a client may have the server keep between MULTI and EXEC; as much as for one frame.
constexpr std::size_t most_waiting_bytes = 262'144;

void fail(CommandContext& context, ReplyWriter& reply, std::string_view message) {
  context.metrics.command_errors.add(1);
  reply.error(message);
}

}  // namespace

void multi(CommandContext& context, const Arguments&, ReplyWriter& reply) {
  auto& transaction = context.connection->transaction;
  if (transaction) return fail(context, reply, "ERR MULTI calls can not be nested");
  transaction = std::make_unique<Transaction>();
  reply.simple("OK");
}

void discard(CommandContext& context, const Arguments&, ReplyWriter& reply) {
  auto& transaction = context.connection->transaction;
  if (!transaction) return fail(context, reply, "ERR DISCARD without MULTI");
  transaction.reset();
  reply.simple("OK");
}

void exec(CommandContext& context, const Arguments&, ReplyWriter& reply) {
  const auto transaction = std::exchange(context.connection->transaction, nullptr);
  if (!transaction) return fail(context, reply, "ERR EXEC without MULTI");
  if (transaction->spoilt) {
    return fail(context, reply,
                "EXECABORT Transaction discarded because of previous errors; nothing was taken");
  }
  reply.array(transaction->sizes.size());
  std::string_view rest = transaction->bytes;
  std::size_t length = 0;
  Arguments arguments;
  for (const std::uint32_t count : transaction->sizes) {
    arguments.clear();
    for (std::uint32_t at = 0; at < count; ++at) {
      const std::size_t size = transaction->lengths[length++];
      arguments.push_back(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    // Where the one before is answered later, this one is written behind its place.
    ReplyWriter next(context.connection->replies.tail(), reply.protocol());
    run_command(context, arguments, next);
  }
}

bool waits_for_exec(CommandContext& context, const Command& command, const Arguments& arguments,
                    ReplyWriter& reply) {
  Transaction* transaction = context.connection->transaction.get();
  for (const std::string_view at_once : {"EXEC", "DISCARD", "MULTI", "RESET", "QUIT"}) {
    if (command.name == at_once) return false;
  }
  if (command.keys == Keys::none) {
    transaction->spoilt = true;
    fail(context, reply, "ERR only commands that have keys can wait for EXEC");
    return true;
  }
  std::size_t more = (arguments.size() + 1) * sizeof(std::uint32_t);
  for (const std::string_view argument : arguments) more += argument.size();
  if (transaction->kept() + more > most_waiting_bytes) {
    transaction->spoilt = true;
    fail(context, reply, "ERR too much waits for EXEC; use a pipeline without MULTI");
    return true;
  }
  for (const std::string_view argument : arguments) {
    transaction->bytes += argument;
    transaction->lengths.push_back(static_cast<std::uint32_t>(argument.size()));
  }
  transaction->sizes.push_back(static_cast<std::uint32_t>(arguments.size()));
  reply.simple("QUEUED");
  return true;
}

}  // namespace weir::server
