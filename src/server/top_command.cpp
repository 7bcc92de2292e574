#include "server/top_command.hpp"

#include <fmt/format.h>

#include "wire/integer.hpp"
#include "wire/limiter_command.hpp"

namespace weir::server {
namespace {

using wire::ReplyWriter;

void write_limits(const Metrics& metrics, ReplyWriter& reply) {
  const auto limits = metrics.decisions();
  reply.array(limits.size());
  for (const auto& [label, decisions] : limits) {
    reply.map(1 + decisions.size());
    reply.bulk("limit");
    reply.bulk(label);
    for (std::size_t at = 0; at < decisions.size(); ++at) {
      reply.bulk(name(static_cast<Verdict>(at)));
      reply.integer(static_cast<std::int64_t>(decisions[at]));
    }
  }
}

void write_keys(const std::vector<KeyRate>& keys, const Rules& rules, ReplyWriter& reply) {
  reply.array(keys.size());
  for (const KeyRate& each : keys) {
    reply.map(5);
    reply.bulk("key");
    reply.bulk(each.key_begin);
    reply.bulk("key_bytes");
    reply.integer(static_cast<std::int64_t>(each.key_bytes));
    reply.bulk("limit");
    reply.bulk(limit_named(rules, *each.rule));
    reply.bulk("calls_per_s");
    reply.bulk(fmt::format("{:.1f}", each.calls_per_s));
    reply.bulk("error_per_s");
    reply.bulk(fmt::format("{:.1f}", each.error_per_s));
  }
}

}  // namespace

std::string limit_named(const Rules& rules, const Rule& rule) {
  if (&rule == &rules.redis_cell()) return "cl.throttle";
  return rule.named ? "@" + rule.name : rule.name;
}

void top(CommandContext& context, const wire::Arguments& arguments, ReplyWriter& reply) {
  std::int64_t count = top_keys_unless_said;
  if (arguments.size() > 1) {
    const bool counted = arguments.size() == 3 && wire::is_word(arguments[1], "COUNT");
    const auto number = counted ? wire::strict_integer(arguments[2]) : std::nullopt;
    if (!number || *number < 1 || *number > most_top_keys) {
      context.metrics.command_errors.add(1);
      return reply.error("ERR COUNT must be between 1 and 128; usage: WEIR.TOP [COUNT n]");
    }
    count = *number;
  }
  const Service& service = context.service;
  const KeyRates keys = service.hot_keys.top(static_cast<std::size_t>(count));
  reply.map(4);
  reply.bulk("at_us");
  reply.integer(context.now.time_since_epoch().count());
  reply.bulk("limits");
  write_limits(service.metrics, reply);
  reply.bulk("hottest");
  write_keys(keys.hottest, service.rules, reply);
  reply.bulk("most_refused");
  write_keys(keys.most_refused, service.rules, reply);
}

}  // namespace weir::server
