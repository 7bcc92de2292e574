#include "server/http/limit_api.hpp"

#include <optional>
#include <string>
#include <utility>

#include "server/asking.hpp"
#include "server/http/decision_json.hpp"
#include "server/http/for_programs.hpp"
#include "server/http/limit_ask.hpp"
#include "server/rate_policy.hpp"

namespace weir::server {
namespace {

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

void take_one(HttpContext& context, const OneAsked& asked, HttpReply& reply) {
  const auto tell = [cost = asked.claim.cost](WorkerContext& worker, const Decided& decided,
                                              auto& told) {
    count(worker, decided, cost);
    wire::Json answer = wire::Json::object();
    add_decision(answer, decided.decision, decided.decided_at);
    if (const auto grant = grant_of(worker, decided, cost)) answer.member("grant", *grant);
    told.send(answer_of(decided, answer));
  };
  ask_to_take(context, asked.claim.subject, {asked.claim.cost, asked.patience}, reply, tell);
}

void peek_one(HttpContext& context, const OneAsked& asked, HttpReply& reply) {
  const auto tell = [](WorkerContext&, const Decided& decided, auto& told) {
    wire::Json answer = wire::Json::object();
    add_decision(answer, decided.decision, decided.decided_at);
    told.send(answer_of(decided, answer));
  };
  ask_to_peek(context, asked.claim.subject, {asked.claim.cost, asked.patience}, reply, tell);
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

wire::Json body_of(const JointlyDecided& decided) {
  wire::Json body = wire::Json::object();
  add_decision(body, decided.decision, decided.decided_at);
  return body;
}

void add_binding(wire::Json& body, const JointlyDecided& decided) {
  body.member("key", decided.claims[decided.binding].subject.key);
  body.member("atomic", decided.atomic);
}

void take_all(HttpContext& context, const SeveralAsked& asked, HttpReply& reply) {
  const auto tell = [](WorkerContext& worker, const JointlyDecided& decided, auto& told) {
    count(worker, decided);
    wire::Json answer = body_of(decided);
    if (taken(decided.decision.verdict)) answer.member("grant", grants_of(worker, decided));
    add_binding(answer, decided);
    told.send(answer_of(decided, answer));
  };
  ask_to_take_all(context, asked.all(), asked.patience, reply, tell);
}

void peek_all(HttpContext& context, const SeveralAsked& asked, HttpReply& reply) {
  const auto tell = [](WorkerContext&, const JointlyDecided& decided, auto& told) {
    wire::Json answer = body_of(decided);
    add_binding(answer, decided);
    told.send(answer_of(decided, answer));
  };
  ask_to_peek_all(context, asked.all(), asked.patience, reply, tell);
}

/// A body that asks for one key goes to One, for several to Several.
template <auto One, auto Several>
void read_and_ask(HttpContext& context, const HttpRequest& request, HttpReply& reply) {
  JsonText text;
  if (const auto wrong = text.read(request.body)) return reply.send(problem(400, wrong->message));
  const JsonPlace body(text.value(), "");
  const auto ask = [&](const auto& asked, auto then) {
    if (!asked) return reply.send(problem(400, asked.error().message));
    then(context, *asked, reply);
  };
  if (text.value().is_object() && body.member("all")) {
    return ask(read_several(context, body), Several);
  }
  ask(read_one(context, body), One);
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
  const auto claim = read_claim(context, *members);
  if (!claim) return reply.send(plain_text(400, claim.error().message));
  const auto tell = [cost = claim->cost](WorkerContext& worker, const Decided& decided,
                                         auto& told) {
    count(worker, decided, cost);
    HttpAnswer answer = plain_text(status_of(decided.decision, decided.source), sentence(decided));
    answer.fields = "Cache-Control: no-store\r\n";
    told.send(with_rate_fields(std::move(answer), decided));
  };
  ask_to_take(context, claim->subject, {claim->cost, Span{0}}, reply, tell);
}

}  // namespace

void add_limit_api(Router& router, HttpContext& context) {
  const auto add = [&](HttpRoute route, auto handler) {
    router.add(route,
               for_programs([&context, handler](const HttpRequest& request, HttpReply& reply) {
                 handler(context, request, reply);
               }));
  };
  add({"POST", "/v1/take"}, read_and_ask<take_one, take_all>);
  add({"POST", "/v1/peek"}, read_and_ask<peek_one, peek_all>);
  add({"GET", "/v1/check"}, check);
}

}  // namespace weir::server
