#include "server/http/admin_api.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "limit/characters.hpp"
#include "server/http/admin_changes.hpp"
#include "server/http/asked_domain.hpp"
#include "server/http/decision_json.hpp"
#include "server/http/for_programs.hpp"
#include "server/http/query.hpp"
#include "server/http/told_call_json.hpp"
#include "server/top_command.hpp"
#include "wire/integer.hpp"
#include "wire/json.hpp"
#include "wire/utf8.hpp"

namespace weir::server {
namespace {

using gateway::EdgeRule;

constexpr std::int64_t most_rules = 1000;  ///< in one answer

/// Whether the request may go on; else it is answered.
bool may_administer(const HttpContext& context, const HttpRequest& request, HttpReply& reply) {
  const Password& token = context.service.admin_token;
  if (!token.required()) {
    reply.send(problem(404,
                       "admin verbs are off; start weir serve with --admin-token FILE, which "
                       "holds a secret"));
    return false;
  }
  constexpr std::string_view scheme = "bearer ";
  const std::string_view shown = request.field("authorization");
  const bool bearer = std::ranges::equal(shown.substr(0, scheme.size()), scheme, {}, small);
  if (bearer && token.matches({"default", shown.substr(scheme.size())})) return true;
  if (!shown.empty()) context.metrics.auth_failures.add(1);
  HttpAnswer answer = problem(401, "expected Authorization: Bearer and the admin token");
  answer.fields = "WWW-Authenticate: Bearer realm=\"weir admin\"\r\n";
  // A connection for each guess keeps guesses slow, and pipelines of them short.
  reply.send_last(answer);
  return false;
}

/// A whole number of a query, from 0.
Expected<std::int64_t, QueryError> read_number(const QueryMembers::value_type& member,
                                               JsonRange range) {
  const auto value = wire::strict_integer(member.second);
  if (value && *value >= range.least && *value <= range.most) return *value;
  return QueryError{"query: " + member.first + ": expected a whole number from " +
                    std::to_string(range.least) + " to " + std::to_string(range.most)};
}

wire::Json json_of(const gateway::Domain& domain, const EdgeRule& rule) {
  wire::Json object = wire::Json::object();
  object.member("domain", wire::in_utf8(domain.name));
  object.member("rule", wire::in_utf8(rule.identity));
  object.member("line", rule.at.line);
  object.member("limit", print(rule.quota));
  object.member("key", wire::in_utf8(rule.key.text()));
  object.member("overrides", rule.overrides.size());
  object.member("shadow", rule.shadow);
  return object;
}

/// What stands behind /v1/admin/rules?
struct Page {
  std::optional<std::string> domain{};
  std::int64_t from = 0;
  std::int64_t count = most_rules;
};

Expected<Page, QueryError> read_page(std::string_view query) {
  const auto members = read_query(query);
  if (!members) return members.error();
  Page page;
  for (const auto& member : *members) {
    if (member.first == "domain") {
      page.domain = member.second;
      continue;
    }
    const bool from = member.first == "from";
    if (!from && member.first != "count") {
      return QueryError{"query: expected none but domain, from, count"};
    }
    const auto value =
        read_number(member, from ? JsonRange{0, std::numeric_limits<std::int32_t>::max()}
                                 : JsonRange{1, most_rules});
    if (!value) return value.error();
    (from ? page.from : page.count) = *value;
  }
  return page;
}

void rules(const AdminContext& admin, const HttpRequest& request, HttpReply& reply) {
  const auto page = read_page(request.query);
  if (!page) return reply.send(problem(400, page.error().message));
  const auto& generation = admin.decider.generation();
  if (!generation) return reply.send(no_rules());
  wire::Json listed = wire::Json::array();
  std::int64_t total = 0;
  for (const gateway::Domain& domain : generation->rules.domains()) {
    if (page->domain && *page->domain != domain.name) continue;
    for (const EdgeRule& rule : domain.rules) {
      const std::int64_t at = total++;
      if (at >= page->from && at - page->from < page->count) listed.element(json_of(domain, rule));
    }
  }
  wire::Json answer = wire::Json::object();
  answer.member("generation", generation->number).member("total", total);
  reply.send(json_answer(200, answer.member("rules", listed).text()));
}

wire::Json json_of(const Judged& judged, Instant decided_at) {
  const EdgeRule& rule = *judged.rule;
  wire::Json object = wire::Json::object();
  object.member("rule", wire::in_utf8(rule.identity));
  object.member("line", rule.at.line);
  object.member("key", wire::in_utf8(judged.key));
  object.member("quota", print(*judged.quota));
  object.member("overridden", judged.quota != &rule.quota);
  object.member("shadow", rule.shadow);
  object.member("refuses", judged.refuses);
  if (!judged.decision) return object;
  // Refused without a state: there are no instants to tell.
  const bool for_good = judged.decision->verdict == Verdict::impossible;
  if (for_good) return std::move(object.member("verdict", name(Verdict::impossible)));
  add_decision(object, *judged.decision, decided_at);
  return object;
}

HttpAnswer answer_of(const GateAnswer& answer, std::string_view domain) {
  wire::Json met = wire::Json::array();
  for (const Judged& judged : answer.judged) met.element(json_of(judged, answer.decided_at));
  wire::Json body = wire::Json::object();
  body.member("generation", answer.generation->number);
  body.member("domain", wire::in_utf8(domain));
  body.member("allowed", answer.allowed);
  return json_answer(200, body.member("rules", met).text());
}

void peek(const AdminContext& admin, const HttpRequest&, const JsonPlace& body, HttpReply& reply) {
  if (const auto wrong = body.check_members(
          {"domain", "method", "uri", "host", "ip", "user", "headers", "entries"})) {
    return reply.send(problem(400, wrong->message));
  }
  const auto domain = body.text_of("domain");
  if (!domain) return reply.send(problem(400, domain.error().message));
  const auto rules = asked_domain(admin.decider, *domain);
  if (!rules) return reply.send(rules.error());
  auto told = read_told_call(body);
  if (!told) return reply.send(problem(400, told.error().message));
  gateway::ToldCall call = std::move(told).value();
  const std::array<gateway::Call, 1> calls{call.call((*rules)->domain().clients)};
  constexpr std::array<Cost, 1> once{1};
  admin.decider.decide({.rules = *rules, .calls = calls, .hits = once, .verb = GateAsk::Verb::peek},
                       [later = reply.later(), name = (*rules)->domain().name](
                           GateAnswer&& answer) { later.send(answer_of(answer, name)); });
}

wire::Json json_of(const std::vector<KeyRate>& keys, const Rules& rules) {
  const auto tenths = [](double value) { return std::round(value * 10) / 10; };
  wire::Json list = wire::Json::array();
  for (const KeyRate& each : keys) {
    wire::Json object = wire::Json::object();
    object.member("key", wire::in_utf8(each.key_begin));
    object.member("key_bytes", each.key_bytes);
    object.member("limit", wire::in_utf8(limit_named(rules, *each.rule)));
    object.member("calls_per_s", tenths(each.calls_per_s));
    list.element(object.member("error_per_s", tenths(each.error_per_s)));
  }
  return list;
}

void top_keys(const AdminContext& admin, const HttpRequest& request, HttpReply& reply) {
  const auto members = read_query(request.query);
  if (!members) return reply.send(problem(400, members.error().message));
  std::int64_t count = top_keys_unless_said;
  for (const auto& member : *members) {
    if (member.first != "count") return reply.send(problem(400, "query: expected none but count"));
    const auto read = read_number(member, {1, most_top_keys});
    if (!read) return reply.send(problem(400, read.error().message));
    count = *read;
  }
  const Service& service = admin.http.service;
  const KeyRates keys = service.hot_keys.top(static_cast<std::size_t>(count));
  wire::Json answer = wire::Json::object();
  answer.member("at_us", std::int64_t{admin.http.now.time_since_epoch().count()});
  answer.member("hottest", json_of(keys.hottest, service.rules));
  answer.member("most_refused", json_of(keys.most_refused, service.rules));
  reply.send(json_answer(200, answer.text()));
}

using Verb = std::function<void(const AdminContext&, const HttpRequest&, HttpReply&)>;
using VerbOnBody = void (*)(const AdminContext&, const HttpRequest&, const JsonPlace&, HttpReply&);

Verb on_body(VerbOnBody verb) {
  return [verb](const AdminContext& admin, const HttpRequest& request, HttpReply& reply) {
    JsonText text;
    if (const auto wrong = text.read(request.body)) return reply.send(problem(400, wrong->message));
    verb(admin, request, JsonPlace(text.value(), ""), reply);
  };
}

}  // namespace

void add_admin_api(Router& router, const AdminContext& context) {
  const auto add = [&](HttpRoute route, const Verb& verb) {
    router.add(route, for_programs([context, verb](const HttpRequest& request, HttpReply& reply) {
                 if (may_administer(context.http, request, reply)) verb(context, request, reply);
               }));
  };
  add({"GET", "/v1/admin/rules"}, rules);
  add({"GET", "/v1/admin/top"}, top_keys);
  add({"POST", "/v1/admin/peek"}, on_body(peek));
  add({"POST", "/v1/admin/reset"}, on_body(reset_key));
  add({"GET", "/v1/admin/override"}, list_overrides);
  add({"POST", "/v1/admin/override"}, on_body(override_key));
  add({"POST", "/v1/admin/reload"}, reload);
}

}  // namespace weir::server
