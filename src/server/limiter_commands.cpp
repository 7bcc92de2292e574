// CL.THROTTLE and the WEIR commands.
#include <array>

#include "server/asking.hpp"
#include "server/commands.hpp"
#include "server/giving_back.hpp"
#include "server/limiter_arguments.hpp"
#include "weir/algorithm/redis_cell.hpp"
#include "wire/decision_fields.hpp"
#include "wire/limiter_command.hpp"

namespace weir::server {
namespace {

using wire::Arguments;
using wire::ReplyWriter;
using Machine = Limit::Machine;

/// What CL.THROTTLE with a quantity below 0 means.
template <typename Tell>
void refund_and_peek(CommandContext& context, const Subject& subject, Cost units,
                     ReplyWriter& reply, const Tell& tell) {
  redis::RemoteTable* const store = context.service.store;
  if (!store) {
    context.service.table.refund(subject, context.now, units);
    return ask_to_peek(context, subject, {0}, reply, tell);
  }
  const auto given = [store, later = Later(context), kept = KeptSubject(subject),
                      config = *subject.config, tell](redis::RemoteGift&& gift) {
    if (!gift.given) return later.write(std::move(gift.trouble), write_trouble);
    const Subject refunded{kept.rule, kept.key, &config};
    store->peek(refunded, {0}, telling(later, refunded, tell));
  };
  store->refund(subject, units, given);
}

void throttle(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_throttle(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  if (!fits(context, read->key, reply)) return;
  const RedisCell::Call call{read->max_burst, read->count, read->period_s, read->quantity};
  auto& last = context.last_throttle;
  if (call.quantity < 0 || !last || !last->is(call)) {
    const auto configured = RedisCell::configure(call);
    if (!configured) return fail(context, reply, RedisCell::describe(configured.error()));
    last = {call, *configured};
  }
  const Subject subject{&context.service.rules.redis_cell(), read->key, &last->config,
                        context.key_hash};
  const auto tell = [call, config = std::get<Gcra::Config>(last->config)](
                        WorkerContext& worker, const Decided& decided, ReplyWriter& told) {
    count(worker, decided, std::max<Cost>(call.quantity, 0));
    // Where no state is told, the instant at which it will be fresh says the same to a microsecond.
    const FineInstant repaid_at =
        decided.grant ? decided.grant->marks[0] : FineInstant{decided.decision.reset_at, 0};
    told.integers(RedisCell::reply(config, call, decided.decision, repaid_at, decided.decided_at));
  };
  if (call.quantity >= 0) return ask_to_take(context, subject, {call.quantity}, reply, tell);
  refund_and_peek(context, subject, -call.quantity, reply, tell);
}

std::optional<std::uint64_t> fetch_throttled(const CommandContext& context,
                                             const Arguments& arguments) {
  return context.service.table.prefetch({&context.service.rules.redis_cell(), arguments[1]});
}

/// Announces the map of a decision that has so many fields of its own command.
template <typename AnyDecided>
void begin_map(const AnyDecided& decided, std::size_t more, ReplyWriter& reply) {
  reply.map(wire::decision_fields + more + (decided.source ? 1 : 0));
  wire::write_decision(decided.decision, decided.decided_at, reply);
}

/// Who decided, where that is a question.
void write_source(const std::optional<redis::Source>& source, ReplyWriter& reply) {
  if (!source) return;
  reply.bulk("source");
  reply.bulk(name(*source));
}

void take(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_take(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const Rule* rule = find_rule(context, read->limit, reply);
  if (!rule || !fits(context, read->key, reply)) return;
  const Subject subject{rule, read->key, nullptr, context.key_hash};
  const auto tell = [cost = read->cost](WorkerContext& worker, const Decided& decided,
                                        ReplyWriter& told) {
    count(worker, decided, cost);
    begin_map(decided, 0, told);
    told.bulk("grant");
    if (taken(decided.decision.verdict) && cost > 0 && decided.grant) {
      told.bulk(grant_text(worker, *decided.subject.rule, *decided.grant));
    } else {
      told.null();
    }
    write_source(decided.source, told);
  };
  ask_to_take(context, subject, {read->cost, read->patience}, reply, tell);
}

std::optional<std::uint64_t> fetch_taken(const CommandContext& context,
                                         const Arguments& arguments) {
  const Rule* rule = context.rules.known(arguments[2]);
  if (!rule) return {};
  return context.service.table.prefetch({rule, arguments[1]});
}

void peek(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_peek(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const Rule* rule = find_rule(context, read->limit, reply);
  if (!rule || !fits(context, read->key, reply)) return;
  const auto tell = [](WorkerContext&, const Decided& decided, ReplyWriter& told) {
    begin_map(decided, 0, told);
    told.bulk("grant");
    told.null();
    write_source(decided.source, told);
  };
  ask_to_peek(context, {rule, read->key}, {read->cost}, reply, tell);
}

void tell_all(WorkerContext& worker, const JointlyDecided& decided, ReplyWriter& reply) {
  const auto& claims = decided.claims;
  const Verdict verdict = decided.decision.verdict;
  count(worker, decided);
  begin_map(decided, 2, reply);
  // One grant for each key, in the order of the request; each is given back by itself.
  reply.bulk("grant");
  if (taken(verdict)) {
    reply.array(claims.size());
    for (std::size_t at = 0; at < claims.size(); ++at) {
      if (claims[at].cost > 0 && at < decided.grants.size()) {
        reply.bulk(grant_text(worker, *claims[at].subject.rule, decided.grants[at]));
      } else {
        reply.null();
      }
    }
  } else {
    reply.null();
  }
  reply.bulk("key");
  reply.bulk(claims[decided.binding].subject.key);
  reply.bulk("atomic");
  reply.integer(decided.atomic ? 1 : 0);
  write_source(decided.source, reply);
}

void take_all(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_take_all(behind_name(arguments), Table::most_claims);
  if (!read) return fail(context, reply, read.error().message);
  std::array<Claim, Table::most_claims> claims{};
  const std::size_t count = read->keys.size();
  for (std::size_t at = 0; at < count; ++at) {
    const Rule* rule = find_rule(context, read->limits[at], reply);
    if (!rule || !fits(context, read->keys[at], reply)) return;
    claims[at] = {{rule, read->keys[at]}, read->costs[at]};
  }
  ask_to_take_all(context, std::span(claims).first(count), read->patience, reply, tell_all);
}

void enter(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_enter(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const auto [rule, term] = find_permit_rule(context, read->limit, reply);
  if (!rule || !fits(context, read->key, reply)) return;
  const Subject subject{rule, read->key, nullptr, context.key_hash};
  const auto tell = [weight = read->weight, term = term](
                        WorkerContext& worker, const Decided& decided, ReplyWriter& told) {
    count(worker, decided, weight);
    begin_map(decided, 1, told);
    told.bulk("permit");
    if (taken(decided.decision.verdict) && weight > 0) {
      const PermitId permit = decided.shared || !decided.grant
                                  ? PermitId::none
                                  : Concurrency::permit_of(decided.grant->marks.at(term));
      told.bulk(std::to_string(static_cast<std::int64_t>(permit)));
    } else {
      told.null();
    }
    told.bulk("lease_us");
    told.integer(decided.subject.rule->limit.terms()[term].period.count());
    write_source(decided.source, told);
  };
  ask_to_take(context, subject, {read->weight}, reply, tell);
}

constexpr std::array commands{
    Command{"CL.THROTTLE", -5, true, Keys::first, "Takes from a key as redis-cell does.",
            "key max_burst count period [quantity]", throttle, fetch_throttled},
    Command{"WEIR.TAKE", -3, true, Keys::first, "Takes from a key under a limit.",
            "key limit [COST n] [PATIENCE ms]", take, fetch_taken},
    Command{"WEIR.PEEK", -3, false, Keys::first, "Tells what WEIR.TAKE would answer.",
            "key limit [COST n]", peek},
    Command{"WEIR.TAKEALL", -4, true, Keys::numbered, "Takes from several keys, all or none.",
            "numkeys key... limit... [COST n | COSTS n...] [PATIENCE ms]", take_all},
    Command{"WEIR.CANCEL", 4, true, Keys::first, "Gives a grant back before its instant.",
            "key limit grant", cancel},
    Command{"WEIR.REFUND", -4, true, Keys::first, "Gives back units that were taken but not used.",
            "key limit n [ID id]", refund},
    Command{"WEIR.RESET", 3, true, Keys::first, "Forgets what a key has used.", "key limit", reset},
    Command{"WEIR.ENTER", -3, true, Keys::first, "Takes a permit to be inside, under a lease.",
            "key limit [WEIGHT n]", enter, fetch_taken},
    Command{"WEIR.LEAVE", 4, true, Keys::first, "Gives a permit back.", "key limit permit", leave,
            fetch_taken},
    Command{"WEIR.RENEW", 4, true, Keys::first, "Has a permit's lease begin anew.",
            "key limit permit", renew, fetch_taken},
    Command{"DEL", -2, true, Keys::every, "Forgets keys of CL.THROTTLE.", "key [key...]", del},
};

}  // namespace

std::span<const Command> limiter_commands() { return commands; }

}  // namespace weir::server
