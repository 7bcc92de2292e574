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

#include "gateway/rule_file.hpp"
#include "gateway/told_call.hpp"
#include "limit/characters.hpp"
#include "server/asking.hpp"
#include "server/http/asked_domain.hpp"
#include "server/http/decision_json.hpp"
#include "server/http/for_programs.hpp"
#include "server/http/query.hpp"
#include "server/http/subject_json.hpp"
#include "server/top_command.hpp"
#include "weir/duration.hpp"
#include "wire/integer.hpp"
#include "wire/utf8.hpp"

namespace weir::server {
namespace {

using gateway::EdgeRule;
using gateway::Quota;
using gateway::ToldCall;

constexpr std::int64_t most_rules = 1000;  ///< in one answer
constexpr JsonRange pairs{0, 64};

std::int64_t number(std::size_t count) { return static_cast<std::int64_t>(count); }

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
  object.member("line", number(rule.at.line));
  object.member("limit", print(rule.quota));
  object.member("key", wire::in_utf8(rule.key.text()));
  object.member("overrides", number(rule.overrides.size()));
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
  answer.member("generation", number(generation->number)).member("total", total);
  reply.send(json_answer(200, answer.member("rules", listed).text()));
}

/// Empty where the object does not have it.
Expected<std::string, JsonError> read_text(const JsonPlace& object, std::string_view name) {
  const auto member = object.member(name);
  if (!member) return std::string{};
  const auto text = member->text();
  if (!text) return text.error();
  return std::string(*text);
}

/// An array of objects with two texts each, or nothing.
struct PairWords {
  std::string_view list;
  std::string_view name;
};
Expected<std::vector<ToldCall::Pair>, JsonError> read_pairs(const JsonPlace& body,
                                                            const PairWords& words) {
  std::vector<ToldCall::Pair> read;
  const auto list = body.member(words.list);
  if (!list) return read;
  const auto size = list->size_of_array(pairs);
  if (!size) return size.error();
  for (std::size_t at = 0; at < *size; ++at) {
    const JsonPlace element = list->element(at);
    if (auto wrong = element.check_members({words.name, "value"})) return *std::move(wrong);
    auto name = read_text(element, words.name);
    auto value = read_text(element, "value");
    if (!name) return name.error();
    if (!value) return value.error();
    if (name->empty()) {
      return element.expected("an object with \"" + std::string(words.name) + "\" and \"value\"");
    }
    read.push_back({std::move(name).value(), std::move(value).value()});
  }
  return read;
}

Expected<ToldCall, JsonError> read_call(const JsonPlace& body) {
  ToldCall told;
  for (const auto& [name, text] : {std::pair{"method", &told.method}, std::pair{"uri", &told.uri},
                                   std::pair{"host", &told.host}, std::pair{"user", &told.user}}) {
    auto read = read_text(body, name);
    if (!read) return read.error();
    *text = std::move(read).value();
  }
  if (const auto member = body.member("ip")) {
    const auto text = member->text();
    if (!text) return text.error();
    const auto ip = gateway::parse_address(*text);
    if (!ip) {
      return member->expected(std::string(ip.error().expected) + " in column " +
                              std::to_string(ip.error().column));
    }
    told.ip = *ip;
  }
  auto headers = read_pairs(body, {"headers", "name"});
  if (!headers) return headers.error();
  told.headers = std::move(headers).value();
  auto entries = read_pairs(body, {"entries", "key"});
  if (!entries) return entries.error();
  told.entries = std::move(entries).value();
  return told;
}

wire::Json json_of(const Judged& judged, Instant decided_at) {
  const EdgeRule& rule = *judged.rule;
  wire::Json object = wire::Json::object();
  object.member("rule", wire::in_utf8(rule.identity));
  object.member("line", number(rule.at.line));
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
  body.member("generation", number(answer.generation->number));
  body.member("domain", wire::in_utf8(domain));
  body.member("allowed", answer.allowed);
  return json_answer(200, body.member("rules", met).text());
}

void peek(const AdminContext& admin, const HttpRequest&, const JsonPlace& body, HttpReply& reply) {
  if (const auto wrong = body.check_members(
          {"domain", "method", "uri", "host", "ip", "user", "headers", "entries"})) {
    return reply.send(problem(400, wrong->message));
  }
  const auto domain = read_text(body, "domain");
  if (!domain) return reply.send(problem(400, domain.error().message));
  const auto rules = asked_domain(admin.decider, *domain);
  if (!rules) return reply.send(rules.error());
  auto told = read_call(body);
  if (!told) return reply.send(problem(400, told.error().message));
  ToldCall call = std::move(told).value();
  const std::array<gateway::Call, 1> calls{call.call((*rules)->domain().clients)};
  constexpr std::array<Cost, 1> once{1};
  admin.decider.decide({.rules = *rules, .calls = calls, .hits = once, .verb = GateAsk::Verb::peek},
                       [later = reply.later(), name = (*rules)->domain().name](
                           GateAnswer&& answer) { later.send(answer_of(answer, name)); });
}

/// A key of a rule in force, as a body names it.
struct FoundKey {
  const gateway::Domain* domain;
  const EdgeRule* rule;
  std::string_view key;
};

Expected<FoundKey, HttpAnswer> find_key(const AdminContext& admin, const JsonPlace& body) {
  const auto domain = read_text(body, "domain");
  const auto name = read_text(body, "rule");
  if (!domain) return problem(400, domain.error().message);
  if (!name) return problem(400, name.error().message);
  const auto key_member = body.member("key");
  if (!key_member || name->empty()) {
    return problem(400, body.expected("a key and a rule, or a key and a limit").message);
  }
  const auto key = key_member->text();
  if (!key) return problem(400, key.error().message);
  if (auto wrong = check_key(admin.http, {key_member->pointer(), *key})) {
    return problem(400, wrong->message);
  }
  const auto rules = asked_domain(admin.decider, *domain);
  if (!rules) return rules.error();
  const std::vector<EdgeRule>& all = (*rules)->domain().rules;
  const auto rule = std::ranges::find(all, *name, &EdgeRule::identity);
  if (rule == all.end()) {
    return problem(404, "/rule: the domain has no rule of this name; GET /v1/admin/rules has all");
  }
  return FoundKey{&(*rules)->domain(), &*rule, *key};
}

/// Of what may change something. The key is not told.
void note(const AdminContext& admin, const HttpRequest& request) {
  admin.http.service.log.write(LogKind::administered,
                               {{"client", request.peer}, {"path", request.path}});
}

/// What the key of a rule is limited by, and what is tried beside it.
Expected<std::vector<Subject>, HttpAnswer> subjects_of_rule(const AdminContext& admin,
                                                            const JsonPlace& body) {
  const auto found = find_key(admin, body);
  if (!found) return found.error();
  const EdgeRule& rule = *found->rule;
  std::vector<Subject> subjects;
  const auto add = [&](const Quota& quota) {
    if (quota.states) subjects.push_back({quota.states, found->key});
  };
  const auto own = rule.overrides.find(found->key);
  add(own != rule.overrides.end() ? own->second : rule.quota);
  for (const Quota& candidate : rule.candidates) add(candidate);
  return subjects;
}

Expected<std::vector<Subject>, HttpAnswer> read_subjects(const AdminContext& admin,
                                                         const JsonPlace& body) {
  if (const auto wrong = body.check_members({"domain", "rule", "key", "limit"})) {
    return problem(400, wrong->message);
  }
  if (!body.member("limit")) return subjects_of_rule(admin, body);
  if (body.member("rule") || body.member("domain")) {
    return problem(400, body.expected("a limit, or a rule and its domain, not both").message);
  }
  const auto subject = read_subject(admin.http, body);
  if (!subject) return problem(400, subject.error().message);
  return std::vector<Subject>{*subject};
}

void reset(const AdminContext& admin, const HttpRequest& request, const JsonPlace& body,
           HttpReply& reply) {
  const auto subjects = read_subjects(admin, body);
  if (!subjects) return reply.send(subjects.error());
  note(admin, request);
  const auto tell = [](WorkerContext&, Cost forgotten, auto& told) {
    told.send(json_answer(200, wire::Json::object().member("forgotten", forgotten).text()));
  };
  // A rule may be unlimited, or block: nothing is kept of its keys.
  if (subjects->empty()) return tell(admin.http, 0, reply);
  ask_to_reset(admin.http, *subjects, reply, tell);
}

wire::Json json_of(const std::vector<KeyRate>& keys, const Rules& rules) {
  const auto tenths = [](double value) { return std::round(value * 10) / 10; };
  wire::Json list = wire::Json::array();
  for (const KeyRate& each : keys) {
    wire::Json object = wire::Json::object();
    object.member("key", wire::in_utf8(each.key_begin));
    object.member("key_bytes", number(each.key_bytes));
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

/// "for" of an override: at least a second, for they are ended once a second.
Expected<std::optional<Span>, JsonError> read_lasting(const JsonPlace& body) {
  const auto member = body.member("for");
  if (!member) return std::optional<Span>{};
  const auto text = member->text();
  if (!text) return text.error();
  const auto span = parse_duration(*text);
  if (!span || *span < std::chrono::seconds(1)) {
    return member->expected("a length of time of a second or more, such as \"10m\"");
  }
  return std::optional<Span>{*span};
}

/// None where "limit" is null.
Expected<std::optional<Quota>, JsonError> read_quota(const JsonPlace& body) {
  const auto member = body.member("limit");
  if (!member) return body.expected("a limit, such as \"9/1h\"; null takes an override away");
  if (member->is_null()) return std::optional<Quota>{};
  const auto text = member->text();
  if (!text) return text.error();
  auto quota = gateway::read_quota(*text);
  if (quota) return std::optional<Quota>{std::move(quota).value()};
  return JsonError{"/limit: column " + std::to_string(quota.error().column) + ": " +
                   quota.error().message};
}

void override_key(const AdminContext& admin, const HttpRequest& request, const JsonPlace& body,
                  HttpReply& reply) {
  if (const auto wrong = body.check_members({"domain", "rule", "key", "limit", "for"})) {
    return reply.send(problem(400, wrong->message));
  }
  const auto found = find_key(admin, body);
  if (!found) return reply.send(found.error());
  auto quota = read_quota(body);
  if (!quota) return reply.send(problem(400, quota.error().message));
  const auto lasting = read_lasting(body);
  if (!lasting) return reply.send(problem(400, lasting.error().message));
  if (found->domain->of_envoy) {
    return reply.send(problem(400, "/rule: rules of envoyproxy/ratelimit files have no overrides"));
  }
  note(admin, request);
  OverrideWish wish{.of = {found->domain->name, found->rule->identity, std::string(found->key)},
                    .quota = std::move(quota).value(),
                    .lasting = *lasting};
  const auto tell = [](WorkerContext&, const OverrideReport& done, const HttpLater& told) {
    if (!done.error.empty()) return told.send(problem(422, done.error));
    wire::Json answer = wire::Json::object();
    answer.member("generation", number(done.generation));
    told.send(json_answer(200, answer.member("overrides", number(done.overrides)).text()));
  };
  admin.control.override_key(std::move(wish),
                             [later = later_for(admin.http, reply), tell](OverrideReport&& report) {
                               later.write(std::move(report), tell);
                             });
}

HttpAnswer answer_of(const std::vector<LaidOverride>& overrides, Instant now) {
  wire::Json list = wire::Json::array();
  for (const LaidOverride& each : overrides) {
    wire::Json object = wire::Json::object();
    object.member("domain", wire::in_utf8(each.of.domain));
    object.member("rule", wire::in_utf8(each.of.rule));
    object.member("key", wire::in_utf8(each.of.key));
    object.member("limit", print(each.quota));
    if (each.until) {
      const auto left = std::max(Span{0}, *each.until - now);
      object.member("ends_in", std::chrono::ceil<std::chrono::seconds>(left).count());
    }
    list.element(object);
  }
  return json_answer(200, wire::Json::object().member("overrides", list).text());
}

void list_overrides(const AdminContext& admin, const HttpRequest& request, HttpReply& reply) {
  if (!request.query.empty()) return reply.send(problem(400, "query: expected none"));
  admin.control.list_overrides(
      [later = later_for(admin.http, reply)](std::vector<LaidOverride>&& all) {
        later.write(std::move(all),
                    [](WorkerContext& worker, const auto& overrides, const HttpLater& told) {
                      told.send(answer_of(overrides, worker.service.clock.now()));
                    });
      });
}

HttpAnswer answer_of(const ReloadReport& report) {
  wire::Json reloaded = wire::Json::array();
  for (const std::string& what : report.reloaded) reloaded.element(what);
  if (report.kept.empty()) {
    wire::Json body = wire::Json::object();
    body.member("generation", number(report.generation)).member("reloaded", reloaded);
    return json_answer(200, body.text());
  }
  std::string reasons;
  for (const std::string& reason : report.kept) {
    reasons += (reasons.empty() ? "kept " : "; kept ") + reason;
  }
  return problem(422, wire::in_utf8(reasons));
}

void reload(const AdminContext& admin, const HttpRequest& request, HttpReply& reply) {
  if (!request.body.empty()) return reply.send(problem(400, "expected no body"));
  note(admin, request);
  admin.control.reload([later = later_for(admin.http, reply)](ReloadReport&& report) {
    later.write(std::move(report), [](WorkerContext&, const ReloadReport& read,
                                      const HttpLater& told) { told.send(answer_of(read)); });
  });
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

void write_trouble(WorkerContext&, const redis::Trouble& trouble, const HttpLater& reply) {
  reply.send(problem(503, wire::in_utf8(told(trouble))));
}

void add_admin_api(Router& router, const AdminContext& context) {
  const auto add = [&](HttpRoute route, const Verb& verb) {
    router.add(route, for_programs([context, verb](const HttpRequest& request, HttpReply& reply) {
                 if (may_administer(context.http, request, reply)) verb(context, request, reply);
               }));
  };
  add({"GET", "/v1/admin/rules"}, rules);
  add({"GET", "/v1/admin/top"}, top_keys);
  add({"POST", "/v1/admin/peek"}, on_body(peek));
  add({"POST", "/v1/admin/reset"}, on_body(reset));
  add({"GET", "/v1/admin/override"}, list_overrides);
  add({"POST", "/v1/admin/override"}, on_body(override_key));
  add({"POST", "/v1/admin/reload"}, reload);
}

}  // namespace weir::server
