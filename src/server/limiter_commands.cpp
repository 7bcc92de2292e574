// CL.THROTTLE and the WEIR commands.
#include <array>

#include "server/asking.hpp"
#include "server/commands.hpp"
#include "server/grant_token.hpp"
#include "weir/algorithm/redis_cell.hpp"
#include "wire/limiter_command.hpp"

namespace weir::server {
namespace {

using wire::Arguments;
using wire::ReplyWriter;
using Machine = Limit::Machine;

wire::CommandArguments behind_name(const Arguments& arguments) {
  return wire::CommandArguments(arguments).subspan(1);
}

void fail(CommandContext& context, ReplyWriter& reply, std::string_view message) {
  context.metrics.command_errors.add(1);
  reply.error("ERR " + std::string(message));
}

/// Apart from fits(), so that the busiest command pays a comparison alone.
[[gnu::cold, gnu::noinline]] bool refuse_key(CommandContext& context, ReplyWriter& reply) {
  context.metrics.hit(LimitHit::key_bytes);
  fail(context, reply,
       "key: expected at most " + std::to_string(context.service.key_bytes) + " bytes");
  return false;
}

/// Whether the key is one that is kept; false after an error reply.
inline bool fits(CommandContext& context, std::string_view key, ReplyWriter& reply) {
  return key.size() <= context.service.key_bytes || refuse_key(context, reply);
}

/// The rule that the client means; null after an error reply.
const Rule* find_rule(CommandContext& context, std::string_view limit, ReplyWriter& reply) {
  auto found = context.rules.find(limit);
  if (found) return *found;
  fail(context, reply,
       "limit: column " + std::to_string(found.error().column) + ": " + found.error().message);
  return nullptr;
}

/// Counts a decision.
void note(WorkerContext& worker, const Decided& decided, Cost cost) {
  const auto& [subject, decision, decided_at, grant, shared] = decided;
  worker.metrics.decided(*subject.rule, decision.verdict, cost);
  worker.hot_keys.saw(*subject.rule, subject.key, decision.verdict);
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
    note(worker, decided, std::max<Cost>(call.quantity, 0));
    told.integers(RedisCell::reply(config, call, decided.decision, decided.grant->marks[0],
                                   decided.decided_at));
  };
  if (call.quantity >= 0) return ask_to_take(context, subject, {call.quantity}, reply, tell);
  context.service.table.refund(subject, context.now, -call.quantity);
  ask_to_peek(context, subject, {0}, reply, tell);
}

std::optional<std::uint64_t> fetch_throttled(const CommandContext& context,
                                             const Arguments& arguments) {
  return context.service.table.prefetch({&context.service.rules.redis_cell(), arguments[1]});
}

/// The fields that every decision has. Requires the map to be announced, `grant` to follow.
void write_decision(const Decision& decision, Instant now, ReplyWriter& reply) {
  const auto field = [&](std::string_view name, std::int64_t value) {
    reply.bulk(name);
    reply.integer(value);
  };
  const Span until_ready =
      decision.verdict == Verdict::impossible ? Span{-1} : decision.ready_at - now;
  reply.bulk("verdict");
  reply.bulk(name(decision.verdict));
  field("limit", decision.limit);
  field("remaining", decision.remaining);
  field("retry_after_us", taken(decision.verdict) ? 0 : until_ready.count());
  field("ready_after_us", taken(decision.verdict) ? until_ready.count() : -1);
  field("reset_after_us", (decision.reset_at - now).count());
}

constexpr std::size_t decision_fields = 7;

void write_grant(WorkerContext& worker, const Rule& rule, const Grant& grant, ReplyWriter& reply) {
  const std::uint64_t number = worker.service.next_grant.fetch_add(1, std::memory_order_relaxed);
  reply.bulk(print({number, grant}, rule.limit.terms().size()));
}

void take(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_take(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const Rule* rule = find_rule(context, read->limit, reply);
  if (!rule || !fits(context, read->key, reply)) return;
  const Subject subject{rule, read->key, nullptr, context.key_hash};
  const auto tell = [cost = read->cost](WorkerContext& worker, const Decided& decided,
                                        ReplyWriter& told) {
    note(worker, decided, cost);
    told.map(decision_fields);
    write_decision(decided.decision, decided.decided_at, told);
    told.bulk("grant");
    if (taken(decided.decision.verdict) && cost > 0) {
      write_grant(worker, *decided.subject.rule, *decided.grant, told);
    } else {
      told.null();
    }
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
    told.map(decision_fields);
    write_decision(decided.decision, decided.decided_at, told);
    told.bulk("grant");
    told.null();
  };
  ask_to_peek(context, {rule, read->key}, {read->cost}, reply, tell);
}

void tell_all(WorkerContext& worker, const JointlyDecided& decided, ReplyWriter& reply) {
  const auto& [claims, answer, grants] = decided;
  for (const auto& [subject, cost] : claims) {
    worker.metrics.decided(*subject.rule, answer.decision.verdict, cost);
    worker.hot_keys.saw(*subject.rule, subject.key, answer.decision.verdict);
  }
  reply.map(decision_fields + 2);
  write_decision(answer.decision, answer.decided_at, reply);
  // One grant for each key, in the order of the request; each is given back by itself.
  reply.bulk("grant");
  if (taken(answer.decision.verdict)) {
    reply.array(claims.size());
    for (std::size_t at = 0; at < claims.size(); ++at) {
      if (claims[at].cost > 0) {
        write_grant(worker, *claims[at].subject.rule, grants[at], reply);
      } else {
        reply.null();
      }
    }
  } else {
    reply.null();
  }
  reply.bulk("key");
  reply.bulk(claims[answer.binding].subject.key);
  reply.bulk("atomic");
  reply.integer(1);
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

void cancel(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_cancel(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const Rule* rule = find_rule(context, read->limit, reply);
  if (!rule || !fits(context, read->key, reply)) return;
  const auto token = read_grant_token(read->grant, rule->limit.terms().size());
  if (!token || token->grant.cost > Machine::capacity(rule->limit.config())) {
    return fail(context, reply, "grant: expected the grant that WEIR.TAKE gave for this limit");
  }
  Cost back = 0;
  // What an earlier run of the server has taken back already only it knew.
  if (token->number >= context.service.first_grant &&
      context.service.spent_ids.spend({rule->id, read->key, read->grant})) {
    back = context.service.table.cancel({rule, read->key}, context.now, token->grant);
  }
  reply.integer(back);
}

void refund(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_refund(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const Rule* rule = find_rule(context, read->limit, reply);
  if (!rule || !fits(context, read->key, reply)) return;
  Cost back = 0;
  if (!read->id || context.service.spent_ids.spend({rule->id, read->key, *read->id})) {
    // More than the capacity is never owed to one key.
    const Cost units = std::min(read->units, Machine::capacity(rule->limit.config()));
    back = context.service.table.refund({rule, read->key}, context.now, units);
  }
  reply.integer(back);
}

void reset(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_reset(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const Rule* rule = find_rule(context, read->limit, reply);
  if (!rule || !fits(context, read->key, reply)) return;
  reply.integer(context.service.table.reset({rule, read->key}) ? 1 : 0);
}

/// The rule that the client means, and which of its terms hands out permits; null after an error
/// reply.
struct PermitRule {
  const Rule* rule = nullptr;
  std::size_t term = 0;
};
PermitRule find_permit_rule(CommandContext& context, std::string_view limit, ReplyWriter& reply) {
  const Rule* rule = find_rule(context, limit, reply);
  if (!rule) return {};
  const auto term = rule->limit.permit_term();
  if (term) return {rule, *term};
  fail(context, reply, "limit: expected one with a concurrency, as in 'concurrency 10/30s'");
  return {};
}

void enter(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_enter(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const auto [rule, term] = find_permit_rule(context, read->limit, reply);
  if (!rule || !fits(context, read->key, reply)) return;
  const Subject subject{rule, read->key, nullptr, context.key_hash};
  const auto tell = [weight = read->weight, term = term](
                        WorkerContext& worker, const Decided& decided, ReplyWriter& told) {
    note(worker, decided, weight);
    told.map(decision_fields + 1);
    write_decision(decided.decision, decided.decided_at, told);
    told.bulk("permit");
    if (taken(decided.decision.verdict) && weight > 0) {
      const PermitId permit =
          decided.shared ? PermitId::none : Concurrency::permit_of(decided.grant->marks.at(term));
      told.bulk(std::to_string(static_cast<std::int64_t>(permit)));
    } else {
      told.null();
    }
    told.bulk("lease_us");
    told.integer(decided.subject.rule->limit.terms()[term].period.count());
  };
  ask_to_take(context, subject, {read->weight}, reply, tell);
}

void leave(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_leave(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const Rule* rule = find_permit_rule(context, read->limit, reply).rule;
  if (!rule || !fits(context, read->key, reply)) return;
  const Subject subject{rule, read->key, nullptr, context.key_hash};
  const Cost back = context.service.table.leave(subject, context.now, read->permit);
  if (read->permit != PermitId::none) {
    context.metrics.showed(back > 0 ? PermitUse::left : PermitUse::left_late);
  }
  reply.integer(back);
}

void renew(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_renew(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const Rule* rule = find_permit_rule(context, read->limit, reply).rule;
  if (!rule || !fits(context, read->key, reply)) return;
  const Subject subject{rule, read->key, nullptr, context.key_hash};
  const Span left = context.service.table.renew(subject, context.now, read->permit);
  if (read->permit != PermitId::none) {
    context.metrics.showed(left > Span{0} ? PermitUse::renewed : PermitUse::renewed_late);
  }
  reply.integer(left.count());
}

/// As one forgets a key of redis-cell.
void del(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  for (const std::string_view key : behind_name(arguments)) {
    if (!fits(context, key, reply)) return;
  }
  std::int64_t forgotten = 0;
  for (const std::string_view key : behind_name(arguments)) {
    if (context.service.table.reset({&context.service.rules.redis_cell(), key})) ++forgotten;
  }
  reply.integer(forgotten);
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
