// From a command to its states, and from their answer to the reply.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "server/connection.hpp"

namespace weir::server {

/// How much, and how long it may take.
struct Wanted {
  Cost cost = 1;
  std::optional<Span> patience{};
};

/// What was decided on one key.
struct Decided {
  const Subject& subject;
  const Decision& decision;
  Instant decided_at;
  const Grant* grant;   ///< of the state after the step; null where nothing is known of it
  bool shared = false;  ///< on states of many keys: nothing can be given back
};

/// What was decided on several keys together.
struct JointlyDecided {
  std::span<const Claim> claims;
  const JointAnswer& answer;
  std::span<const Grant> grants;  ///< one for each claim
};

/// The states are asked, then tell(worker, decided, reply) writes exactly one reply.
template <typename Tell>
void ask_to_take(CommandContext& context, const Subject& subject, const Wanted& wanted,
                 wire::ReplyWriter& reply, Tell&& tell) {
  const Answer answer = context.service.table.take(
      subject, {context.now, wanted.cost, wanted.patience}, &context.grant);
  tell(static_cast<WorkerContext&>(context),
       Decided{subject, answer.decision, answer.decided_at, &context.grant, answer.shared}, reply);
}

/// The same, and nothing is taken.
template <typename Tell>
void ask_to_peek(CommandContext& context, const Subject& subject, const Wanted& wanted,
                 wire::ReplyWriter& reply, Tell&& tell) {
  const Answer answer = context.service.table.peek(
      subject, {context.now, wanted.cost, wanted.patience}, &context.grant);
  tell(static_cast<WorkerContext&>(context),
       Decided{subject, answer.decision, answer.decided_at, &context.grant}, reply);
}

/// All claims or none. Requires 1 to Table::most_claims claims.
template <typename Tell>
void ask_to_take_all(CommandContext& context, std::span<const Claim> claims,
                     std::optional<Span> patience, wire::ReplyWriter& reply, Tell&& tell) {
  std::array<Grant, Table::most_claims> grants;
  const JointAnswer answer =
      context.service.table.take_all(claims, {context.now, 0, patience}, grants.data());
  tell(static_cast<WorkerContext&>(context),
       JointlyDecided{claims, answer, std::span(grants).first(claims.size())}, reply);
}

}  // namespace weir::server
