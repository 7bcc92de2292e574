#include "server/http/admin_changes.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/override_check.hpp"
#include "gateway/rule_file.hpp"
#include "server/asking.hpp"
#include "server/http/asked_domain.hpp"
#include "server/http/subject_json.hpp"
#include "weir/duration.hpp"
#include "wire/json.hpp"
#include "wire/utf8.hpp"

namespace weir::server {
namespace {

using gateway::EdgeRule;
using gateway::Quota;

/// A key of a rule in force, as a body names it.
struct FoundKey {
  const gateway::Domain* domain;
  const EdgeRule* rule;
  std::string_view key;
};

Expected<FoundKey, HttpAnswer> find_key(const AdminContext& admin, const JsonPlace& body) {
  const auto domain = body.text_of("domain");
  const auto name = body.text_of("rule");
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

HttpAnswer answer_of(const ReloadReport& report) {
  wire::Json reloaded = wire::Json::array();
  for (const std::string& what : report.reloaded) reloaded.element(what);
  if (report.kept.empty()) {
    wire::Json body = wire::Json::object();
    body.member("generation", report.generation).member("reloaded", reloaded);
    return json_answer(200, body.text());
  }
  std::string reasons;
  for (const std::string& reason : report.kept) {
    reasons += (reasons.empty() ? "kept " : "; kept ") + reason;
  }
  return problem(422, wire::in_utf8(reasons));
}

}  // namespace

void reset_key(const AdminContext& admin, const HttpRequest& request, const JsonPlace& body,
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
  if (*quota) {
    const std::string trouble = gateway::trouble_with_override(
        *found->rule, found->domain->clients.grouping, found->key, **quota);
    if (!trouble.empty()) return reply.send(problem(400, "the override: " + trouble));
  }
  note(admin, request);
  OverrideWish wish{.of = {found->domain->name, found->rule->identity, std::string(found->key)},
                    .quota = std::move(quota).value(),
                    .lasting = *lasting};
  const auto tell = [](WorkerContext&, const OverrideReport& done, const HttpLater& told) {
    if (!done.error.empty()) return told.send(problem(422, done.error));
    wire::Json answer = wire::Json::object();
    answer.member("generation", done.generation);
    told.send(json_answer(200, answer.member("overrides", done.overrides).text()));
  };
  admin.control.override_key(std::move(wish),
                             [later = later_for(admin.http, reply), tell](OverrideReport&& report) {
                               later.write(std::move(report), tell);
                             });
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

void reload(const AdminContext& admin, const HttpRequest& request, HttpReply& reply) {
  if (!request.body.empty()) return reply.send(problem(400, "expected no body"));
  note(admin, request);
  admin.control.reload([later = later_for(admin.http, reply)](ReloadReport&& report) {
    later.write(std::move(report), [](WorkerContext&, const ReloadReport& read,
                                      const HttpLater& told) { told.send(answer_of(read)); });
  });
}

}  // namespace weir::server
