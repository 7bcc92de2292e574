// From a command to its states, and from their answer to the reply.
//
// States lie in the table of this process, which answers at once, or in a store that processes
// share, which answers later. Who asks does not see which, but says what to tell of the answer; and
// later_for(context, reply) makes of a protocol's reply one that may come later.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/remote_table.hpp"
#include "server/connection.hpp"
#include "server/later.hpp"

namespace weir::server {

/// How much, and how long it may take.
using Wanted = redis::RemoteTable::Ask;

/// What was decided on one key.
struct Decided {
  const Subject& subject;
  const Decision& decision;
  Instant decided_at;
  const Grant* grant;   ///< of the state after the step; null where there is none
  bool shared = false;  ///< on states of many keys: nothing of it can be given back
  std::optional<redis::Source> source{};  ///< none: the table of a server without a store
};

/// What was decided on several keys together.
struct JointlyDecided {
  std::span<const Claim> claims;
  const Decision& decision;
  Instant decided_at;
  std::span<const Grant> grants{};  ///< one for each claim, or none
  std::size_t binding;
  bool atomic = true;
  std::optional<redis::Source> source{};
};

/// Tells in the log when the store ceases to answer, and when it does again.
void note_health(WorkerContext& worker, const redis::RemoteAnswer& answer);
void note_health(WorkerContext& worker, const redis::RemoteGift& gift);

/// Whether a call to the store certainly changed nothing there.
bool nothing_ran(const redis::Trouble& trouble) noexcept;

/// Why the store does not say what was given back, or forgotten.
std::string told(const redis::Trouble& trouble);
void write_trouble(WorkerContext& worker, const redis::Trouble& trouble, wire::ReplyWriter& reply);

/// Counts a decision that charges so much.
void count(WorkerContext& worker, const Decided& decided, Cost cost);
void count(WorkerContext& worker, const JointlyDecided& decided);

/// What CANCEL takes to give the grant back.
std::string grant_text(WorkerContext& worker, const Rule& rule, const Grant& grant);

/// The reply to a command, to be written when its answer comes.
inline Later later_for(CommandContext& context, wire::ReplyWriter&) { return Later(context); }

/// A subject that outlives its command.
struct KeptSubject {
  const Rule* rule;
  std::string key;

  explicit KeptSubject(const Subject& subject) : rule(subject.rule), key(subject.key) {}
  Subject subject() const { return {rule, key}; }
};

/// Brings a store's decision on one key to `tell`.
template <typename AnyLater, typename Tell>
redis::RemoteTable::Then telling(const AnyLater& later, const Subject& subject, Tell tell) {
  return [later, kept = KeptSubject(subject),
          tell = std::move(tell)](redis::RemoteAnswer&& remote) {
    later.write(std::move(remote), [kept, tell](WorkerContext& worker,
                                                const redis::RemoteAnswer& answer, auto& reply) {
      note_health(worker, answer);
      const Subject asked = kept.subject();
      const Grant* grant = answer.grants.empty() ? nullptr : answer.grants.data();
      tell(worker,
           Decided{.subject = asked,
                   .decision = answer.decision,
                   .decided_at = answer.decided_at,
                   .grant = grant,
                   .source = answer.source},
           reply);
    });
  };
}

/// The same, of several keys.
template <typename AnyLater, typename Tell>
redis::RemoteTable::Then telling(const AnyLater& later, std::span<const Claim> claims, Tell tell) {
  std::vector<std::pair<KeptSubject, Cost>> kept;
  for (const Claim& claim : claims) kept.emplace_back(KeptSubject(claim.subject), claim.cost);
  return [later, kept = std::move(kept), tell](redis::RemoteAnswer&& remote) {
    later.write(std::move(remote), [kept, tell](WorkerContext& worker,
                                                const redis::RemoteAnswer& answer, auto& reply) {
      note_health(worker, answer);
      std::vector<Claim> asked;
      for (const auto& [subject, cost] : kept) asked.push_back({subject.subject(), cost});
      tell(worker,
           JointlyDecided{.claims = asked,
                          .decision = answer.decision,
                          .decided_at = answer.decided_at,
                          .grants = answer.grants,
                          .binding = answer.binding,
                          .atomic = answer.atomic,
                          .source = answer.source},
           reply);
    });
  };
}

/// The states are asked, then tell(worker, decided, reply) writes exactly one reply.
template <typename Context, typename Reply, typename Tell>
void ask_to_take(Context& context, const Subject& subject, const Wanted& wanted, Reply& reply,
                 const Tell& tell) {
  if (context.service.store) {
    return context.service.store->take(subject, wanted,
                                       telling(later_for(context, reply), subject, tell));
  }
  const Answer answer = context.service.table.take(
      subject, {context.now, wanted.cost, wanted.patience}, &context.grant);
  tell(static_cast<WorkerContext&>(context),
       Decided{subject, answer.decision, answer.decided_at, &context.grant, answer.shared}, reply);
}

/// The same, and nothing is taken.
template <typename Context, typename Reply, typename Tell>
void ask_to_peek(Context& context, const Subject& subject, const Wanted& wanted, Reply& reply,
                 const Tell& tell) {
  if (context.service.store) {
    return context.service.store->peek(subject, wanted,
                                       telling(later_for(context, reply), subject, tell));
  }
  const Answer answer = context.service.table.peek(
      subject, {context.now, wanted.cost, wanted.patience}, &context.grant);
  tell(static_cast<WorkerContext&>(context),
       Decided{subject, answer.decision, answer.decided_at, &context.grant}, reply);
}

/// All claims or none. Requires 1 to Table::most_claims claims.
template <typename Context, typename Reply, typename Tell>
void ask_to_take_all(Context& context, std::span<const Claim> claims, std::optional<Span> patience,
                     Reply& reply, const Tell& tell) {
  if (context.service.store) {
    return context.service.store->take_all(claims, {.patience = patience},
                                           telling(later_for(context, reply), claims, tell));
  }
  std::array<Grant, Table::most_claims> grants;
  const JointAnswer answer =
      context.service.table.take_all(claims, {context.now, 0, patience}, grants.data());
  tell(static_cast<WorkerContext&>(context),
       JointlyDecided{.claims = claims,
                      .decision = answer.decision,
                      .decided_at = answer.decided_at,
                      .grants = std::span(grants).first(claims.size()),
                      .binding = answer.binding},
       reply);
}

/// The same, and nothing is taken.
template <typename Context, typename Reply, typename Tell>
void ask_to_peek_all(Context& context, std::span<const Claim> claims, std::optional<Span> patience,
                     Reply& reply, const Tell& tell) {
  if (context.service.store) {
    return context.service.store->peek_all(claims, {.patience = patience},
                                           telling(later_for(context, reply), claims, tell));
  }
  const JointAnswer answer = context.service.table.peek_all(claims, {context.now, 0, patience});
  tell(static_cast<WorkerContext&>(context),
       JointlyDecided{.claims = claims,
                      .decision = answer.decision,
                      .decided_at = answer.decided_at,
                      .binding = answer.binding},
       reply);
}

/// Gives something back: here(table) or there(store, given), then tell(worker, units, reply) writes
/// exactly one reply. Where the store does not say how much, the reply is an error.
template <typename Context, typename Reply, typename Here, typename There, typename Tell>
void ask_to_give_back(Context& context, Reply& reply, const Here& here, const There& there,
                      Tell tell) {
  if (!context.service.store) {
    return tell(static_cast<WorkerContext&>(context), here(context.service.table), reply);
  }
  there(*context.service.store,
        [later = later_for(context, reply), tell](redis::RemoteGift&& remote) {
          later.write(std::move(remote),
                      [tell](WorkerContext& worker, const redis::RemoteGift& gift, auto& told) {
                        note_health(worker, gift);
                        if (!gift.given) return write_trouble(worker, gift.trouble, told);
                        tell(worker, *gift.given, told);
                      });
        });
}

/// Has the store forget them all; `given` is called once, with how many of them it knew.
void forget(redis::RemoteTable& store, std::span<const Subject> subjects,
            const redis::RemoteTable::Given& given);

/// Forgets the states; tell(worker, how many there were, reply) writes exactly one reply.
template <typename Context, typename Reply, typename Tell>
void ask_to_reset(Context& context, std::span<const Subject> subjects, Reply& reply, Tell tell) {
  ask_to_give_back(
      context, reply,
      [&](Table& table) {
        return std::ranges::count_if(subjects,
                                     [&](const Subject& subject) { return table.reset(subject); });
      },
      [&](redis::RemoteTable& store, const redis::RemoteTable::Given& given) {
        forget(store, subjects, given);
      },
      tell);
}

}  // namespace weir::server
