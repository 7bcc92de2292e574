#include "server/http/limit_api.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "server/asking.hpp"
#include "server/http/decision_json.hpp"
#include "server/http/for_programs.hpp"
#include "server/http/query.hpp"
#include "server/http/subject_json.hpp"
#include "server/rate_policy.hpp"
#include "weir/duration.hpp"
#include "wire/integer.hpp"

namespace weir::server {
namespace {

constexpr JsonRange costs{0, longest_span.count()};

/// Bad input: what was expected, and where.
using Wrong = JsonError;

/// One key and how much of it. The key lies in the request.
struct Asked {
  Subject subject{};
  Cost cost = 1;
};

/// "key", "limit" and "cost" of an object.
Expected<Asked, Wrong> read_asked(HttpContext& context, const JsonPlace& object) {
  const auto subject = read_subject(context, object);
  if (!subject) return subject.error();
  Asked asked{.subject = *subject};
  if (const auto cost_member = object.member("cost")) {
    const auto cost = cost_member->whole_number(costs);
    if (!cost) return cost.error();
    asked.cost = *cost;
  }
  return asked;
}

/// Absent where the limit's own is meant.
Expected<std::optional<Span>, Wrong> read_patience(const JsonPlace& object) {
  const auto member = object.member("patience");
  if (!member) return std::optional<Span>{};
  const auto text = member->text();
  if (!text) return Wrong{text.error().message};
  const auto span = parse_duration(*text);
  if (!span) return Wrong{member->expected("a length of time, such as \"50ms\"").message};
  return std::optional<Span>{*span};
}

/// 200, 429, or 503 where nobody decided.
int status_of(const Decision& decision, const std::optional<redis::Source>& source) {
  if (taken(decision.verdict)) return 200;
  return source == redis::Source::closed ? 503 : 429;
}

/// How a caller stands with the limit that decided: RateLimit-Policy, RateLimit, Retry-After.
HttpAnswer with_rate_fields(HttpAnswer answer, const Rule& rule, const Decision& decision,
                            Instant decided_at) {
  const http::RatePolicy policy = policy_of(rule.name, rule.limit, decision, decided_at);
  http::RateStanding standing{.policies = {&policy, 1}};
  if (decision.verdict == Verdict::denied) standing.retry_after = decision.ready_at - decided_at;
  answer.fields += rate_lines(http::RateDialect::ietf, standing);
  return answer;
}

HttpAnswer with_rate_fields(HttpAnswer answer, const Decided& decided) {
  return with_rate_fields(std::move(answer), *decided.subject.rule, decided.decision,
                          decided.decided_at);
}

/// Of the limit that binds.
HttpAnswer with_rate_fields(HttpAnswer answer, const JointlyDecided& decided) {
  return with_rate_fields(std::move(answer), *decided.claims[decided.binding].subject.rule,
                          decided.decision, decided.decided_at);
}

template <typename AnyDecided>
HttpAnswer answer_of(const AnyDecided& decided, wire::Json& body) {
  if (decided.source) body.member("source", redis::name(*decided.source));
  return with_rate_fields(json_answer(status_of(decided.decision, decided.source), body.text()),
                          decided);
}

/// Whose grant can be given back.
std::optional<std::string> grant_of(WorkerContext& worker, const Decided& decided, Cost cost) {
  if (!taken(decided.decision.verdict) || cost == 0 || !decided.grant) return {};
  return grant_text(worker, *decided.subject.rule, *decided.grant);
}

void take_one(HttpContext& context, const JsonPlace& body, HttpReply& reply) {
  const auto asked = read_asked(context, body);
  if (!asked) return reply.send(problem(400, asked.error().message));
  const auto patience = read_patience(body);
  if (!patience) return reply.send(problem(400, patience.error().message));
  const auto tell = [cost = asked->cost](WorkerContext& worker, const Decided& decided,
                                         auto& told) {
    count(worker, decided, cost);
    wire::Json answer = wire::Json::object();
    add_decision(answer, decided.decision, decided.decided_at);
    if (const auto grant = grant_of(worker, decided, cost)) answer.member("grant", *grant);
    told.send(answer_of(decided, answer));
  };
  ask_to_take(context, asked->subject, {asked->cost, *patience}, reply, tell);
}

wire::Json grants_of(WorkerContext& worker, const JointlyDecided& decided) {
  wire::Json grants = wire::Json::array();
  for (std::size_t at = 0; at < decided.claims.size(); ++at) {
    const auto& [subject, cost] = decided.claims[at];
    if (cost > 0 && at < decided.grants.size()) {
      grants.element(grant_text(worker, *subject.rule, decided.grants[at]));
    } else {
      grants.element("");
    }
  }
  return grants;
}

void take_all(HttpContext& context, const JsonPlace& body, HttpReply& reply) {
  const auto refuse = [&reply](const std::string& message) { reply.send(problem(400, message)); };
  const JsonPlace list = *body.member("all");
  const auto size = list.size_of_array({1, std::int64_t{Table::most_claims}});
  if (!size) return refuse(size.error().message);
  std::array<Claim, Table::most_claims> claims{};
  for (std::size_t at = 0; at < *size; ++at) {
    const JsonPlace element = list.element(at);
    if (auto wrong = element.check_members({"key", "limit", "cost"})) return refuse(wrong->message);
    const auto asked = read_asked(context, element);
    if (!asked) return refuse(asked.error().message);
    claims[at] = {asked->subject, asked->cost};
  }
  const auto patience = read_patience(body);
  if (!patience) return refuse(patience.error().message);
  const auto tell = [](WorkerContext& worker, const JointlyDecided& decided, auto& told) {
    count(worker, decided);
    wire::Json answer = wire::Json::object();
    add_decision(answer, decided.decision, decided.decided_at);
    if (taken(decided.decision.verdict)) answer.member("grant", grants_of(worker, decided));
    answer.member("key", decided.claims[decided.binding].subject.key);
    answer.member("atomic", decided.atomic);
    told.send(answer_of(decided, answer));
  };
  ask_to_take_all(context, std::span(claims).first(*size), *patience, reply, tell);
}

void take(HttpContext& context, const HttpRequest& request, HttpReply& reply) {
  JsonText text;
  if (const auto wrong = text.read(request.body)) return reply.send(problem(400, wrong->message));
  const JsonPlace body(text.value(), "");
  const bool several = text.value().is_object() && body.member("all");
  const auto wrong = several ? body.check_members({"all", "patience"})
                             : body.check_members({"key", "limit", "cost", "patience"});
  if (wrong) return reply.send(problem(400, wrong->message));
  if (several) return take_all(context, body, reply);
  take_one(context, body, reply);
}

void peek(HttpContext& context, const HttpRequest& request, HttpReply& reply) {
  JsonText text;
  if (const auto wrong = text.read(request.body)) return reply.send(problem(400, wrong->message));
  const JsonPlace body(text.value(), "");
  if (const auto wrong = body.check_members({"key", "limit", "cost", "patience"})) {
    return reply.send(problem(400, wrong->message));
  }
  const auto asked = read_asked(context, body);
  if (!asked) return reply.send(problem(400, asked.error().message));
  const auto patience = read_patience(body);
  if (!patience) return reply.send(problem(400, patience.error().message));
  const auto tell = [](WorkerContext&, const Decided& decided, auto& told) {
    wire::Json answer = wire::Json::object();
    add_decision(answer, decided.decision, decided.decided_at);
    told.send(answer_of(decided, answer));
  };
  ask_to_peek(context, asked->subject, {asked->cost, *patience}, reply, tell);
}

/// "key", "limit" and "cost" of a query.
Expected<Asked, Wrong> read_asked(HttpContext& context, const QueryMembers& members) {
  std::optional<std::string_view> key;
  std::optional<std::string_view> limit;
  Cost cost = 1;
  for (const auto& [name, value] : members) {
    if (name == "key") {
      key = value;
    } else if (name == "limit") {
      limit = value;
    } else if (name == "cost") {
      const auto number = wire::strict_integer(value);
      if (!number || *number < costs.least || *number > costs.most) {
        return Wrong{"cost: expected a whole number from 0 to " + std::to_string(costs.most)};
      }
      cost = *number;
    } else {
      return Wrong{"query: expected none but key, limit, cost"};
    }
  }
  if (!key || !limit) return Wrong{"query: expected key=...&limit=..., as in key=alice&limit=5/1m"};
  if (auto wrong = check_key(context, {"key", *key})) return *std::move(wrong);
  const auto rule = find_rule(context, {"limit", *limit});
  if (!rule) return rule.error();
  return Asked{.subject = {*rule, *key}, .cost = cost};
}

std::string sentence(const Decided& decided) {
  const Decision& decision = decided.decision;
  if (decision.verdict == Verdict::impossible) return "impossible: costs more than the limit holds";
  if (taken(decision.verdict)) {
    return std::string(name(decision.verdict)) + ": " + std::to_string(decision.remaining) +
           " of " + std::to_string(decision.limit) + " left";
  }
  if (decided.source == redis::Source::closed) return "denied: the store does not answer";
  return "denied: again in " + std::to_string(retry_after_s(decision, decided.decided_at)) + "s";
}

void check(HttpContext& context, const HttpRequest& request, HttpReply& reply) {
  const auto members = read_query(request.query);
  if (!members) return reply.send(plain_text(400, members.error().message));
  const auto asked = read_asked(context, *members);
  if (!asked) return reply.send(plain_text(400, asked.error().message));
  const auto tell = [cost = asked->cost](WorkerContext& worker, const Decided& decided,
                                         auto& told) {
    count(worker, decided, cost);
    HttpAnswer answer = plain_text(status_of(decided.decision, decided.source), sentence(decided));
    answer.fields = "Cache-Control: no-store\r\n";
    told.send(with_rate_fields(std::move(answer), decided));
  };
  ask_to_take(context, asked->subject, {asked->cost, Span{0}}, reply, tell);
}

}  // namespace

void add_limit_api(Router& router, HttpContext& context) {
  const auto add = [&](HttpRoute route, auto handler) {
    router.add(route,
               for_programs([&context, handler](const HttpRequest& request, HttpReply& reply) {
                 handler(context, request, reply);
               }));
  };
  add({"POST", "/v1/take"}, take);
  add({"POST", "/v1/peek"}, peek);
  add({"GET", "/v1/check"}, check);
}

}  // namespace weir::server
