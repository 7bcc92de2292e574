#include "server/giving_back.hpp"

#include <string>
#include <utility>
#include <vector>

#include "redis/grant_token.hpp"
#include "server/asking.hpp"
#include "server/limiter_arguments.hpp"

namespace weir::server {
namespace {

using redis::RemoteGift;
using redis::RemoteTable;
using wire::Arguments;
using wire::ReplyWriter;

void tell_units(WorkerContext&, Cost back, ReplyWriter& reply) { reply.integer(back); }

/// What was spent on a call that never ran may be spent again.
RemoteTable::Given spent_if_it_ran(Service& service, const SpentIds::Id& spent,
                                   RemoteTable::Given given) {
  return [&service, rule = spent.rule, key = std::string(spent.key), id = std::string(spent.id),
          given = std::move(given)](RemoteGift&& gift) {
    if (!gift.given && nothing_ran(gift.trouble)) service.spent_ids.forget({rule, key, id});
    given(std::move(gift));
  };
}

}  // namespace

void cancel(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_cancel(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const Rule* rule = find_rule(context, read->limit, reply);
  if (!rule || !fits(context, read->key, reply)) return;
  const auto token = redis::read_grant_token(read->grant, rule->limit.terms().size());
  if (!token || token->grant.cost > Limit::Machine::capacity(rule->limit.config())) {
    return fail(context, reply, "grant: expected the grant that WEIR.TAKE gave for this limit");
  }
  Service& service = context.service;
  // What an earlier run of the server has taken back already only it knew. The grants of a shared
  // store are those of other servers too.
  const bool ours = service.store || token->number >= service.first_grant;
  const SpentIds::Id id{rule->id, read->key, read->grant};
  if (!ours || !service.spent_ids.spend(id)) return reply.integer(0);
  const Subject subject{rule, read->key};
  ask_to_give_back(
      context, reply,
      [&](Table& table) { return table.cancel(subject, context.now, token->grant); },
      [&](RemoteTable& store, RemoteTable::Given given) {
        store.cancel(subject, token->grant, spent_if_it_ran(service, id, std::move(given)));
      },
      tell_units);
}

void refund(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_refund(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const Rule* rule = find_rule(context, read->limit, reply);
  if (!rule || !fits(context, read->key, reply)) return;
  Service& service = context.service;
  const SpentIds::Id id{rule->id, read->key, read->id.value_or("")};
  if (read->id && !service.spent_ids.spend(id)) return reply.integer(0);
  const Cost units = read->units;
  const Subject subject{rule, read->key};
  ask_to_give_back(
      context, reply, [&](Table& table) { return table.refund(subject, context.now, units); },
      [&](RemoteTable& store, RemoteTable::Given given) {
        if (read->id) given = spent_if_it_ran(service, id, std::move(given));
        store.refund(subject, units, std::move(given));
      },
      tell_units);
}

void reset(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_reset(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const Rule* rule = find_rule(context, read->limit, reply);
  if (!rule || !fits(context, read->key, reply)) return;
  const Subject subject{rule, read->key};
  ask_to_reset(context, std::span(&subject, 1), reply, tell_units);
}

void leave(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_leave(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const Rule* rule = find_permit_rule(context, read->limit, reply).rule;
  if (!rule || !fits(context, read->key, reply)) return;
  const Subject subject{rule, read->key, nullptr, context.key_hash};
  const PermitId permit = read->permit;
  ask_to_give_back(
      context, reply, [&](Table& table) { return table.leave(subject, context.now, permit); },
      [&](RemoteTable& store, RemoteTable::Given given) {
        store.leave(subject, permit, std::move(given));
      },
      [permit](WorkerContext& worker, Cost back, ReplyWriter& told) {
        if (permit != PermitId::none) {
          worker.metrics.showed(back > 0 ? PermitUse::left : PermitUse::left_late);
        }
        told.integer(back);
      });
}

void renew(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto read = wire::read_renew(behind_name(arguments));
  if (!read) return fail(context, reply, read.error().message);
  const Rule* rule = find_permit_rule(context, read->limit, reply).rule;
  if (!rule || !fits(context, read->key, reply)) return;
  const Subject subject{rule, read->key, nullptr, context.key_hash};
  const PermitId permit = read->permit;
  ask_to_give_back(
      context, reply,
      [&](Table& table) { return table.renew(subject, context.now, permit).count(); },
      [&](RemoteTable& store, RemoteTable::Given given) {
        store.renew(subject, permit, std::move(given));
      },
      [permit](WorkerContext& worker, std::int64_t left_us, ReplyWriter& told) {
        if (permit != PermitId::none) {
          worker.metrics.showed(left_us > 0 ? PermitUse::renewed : PermitUse::renewed_late);
        }
        told.integer(left_us);
      });
}

/// As one forgets a key of redis-cell.
void del(CommandContext& context, const Arguments& arguments, ReplyWriter& reply) {
  const auto keys = behind_name(arguments);
  for (const std::string_view key : keys) {
    if (!fits(context, key, reply)) return;
  }
  const Rule& rule = context.service.rules.redis_cell();
  std::vector<Subject> subjects;
  for (const std::string_view key : keys) subjects.push_back({&rule, key});
  ask_to_reset(context, subjects, reply, tell_units);
}

}  // namespace weir::server
