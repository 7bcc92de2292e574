// What all commands of the limiter make of their arguments.
#pragma once

#include <string>
#include <string_view>

#include "server/connection.hpp"
#include "wire/limiter_command.hpp"

namespace weir::server {

inline wire::CommandArguments behind_name(const wire::Arguments& arguments) {
  return wire::CommandArguments(arguments).subspan(1);
}

inline void fail(CommandContext& context, wire::ReplyWriter& reply, std::string_view message) {
  context.metrics.command_errors.add(1);
  reply.error("ERR " + std::string(message));
}

/// Apart from fits(), so that the busiest command pays a comparison alone.
[[gnu::cold, gnu::noinline]] inline bool refuse_key(CommandContext& context,
                                                    wire::ReplyWriter& reply) {
  context.metrics.hit(LimitHit::key_bytes);
  fail(context, reply,
       "key: expected at most " + std::to_string(context.service.key_bytes) + " bytes");
  return false;
}

/// Whether the key is one that is kept; false after an error reply.
inline bool fits(CommandContext& context, std::string_view key, wire::ReplyWriter& reply) {
  return key.size() <= context.service.key_bytes || refuse_key(context, reply);
}

/// The rule that the client means; null after an error reply.
inline const Rule* find_rule(CommandContext& context, std::string_view limit,
                             wire::ReplyWriter& reply) {
  auto found = context.rules.find(limit);
  if (found) return *found;
  fail(context, reply,
       "limit: column " + std::to_string(found.error().column) + ": " + found.error().message);
  return nullptr;
}

/// The rule that the client means, and which of its terms hands out permits; null after an error
/// reply.
struct PermitRule {
  const Rule* rule = nullptr;
  std::size_t term = 0;
};
inline PermitRule find_permit_rule(CommandContext& context, std::string_view limit,
                                   wire::ReplyWriter& reply) {
  const Rule* rule = find_rule(context, limit, reply);
  if (!rule) return {};
  const auto term = rule->limit.permit_term();
  if (term) return {rule, *term};
  fail(context, reply, "limit: expected one with a concurrency, as in 'concurrency 10/30s'");
  return {};
}

}  // namespace weir::server
