#include "server/http/subject_json.hpp"

#include <string>

namespace weir::server {

std::optional<JsonError> check_key(HttpContext& context, const Said& key) {
  if (key.text.size() <= context.service.key_bytes) return {};
  context.metrics.hit(LimitHit::key_bytes);
  return JsonError{std::string(key.place) + ": expected at most " +
                   std::to_string(context.service.key_bytes) + " bytes"};
}

Expected<const Rule*, JsonError> find_rule(HttpContext& context, const Said& limit) {
  auto found = context.rules.find(limit.text);
  if (found) return *found;
  return JsonError{std::string(limit.place) + ": column " + std::to_string(found.error().column) +
                   ": " + found.error().message};
}

Expected<Subject, JsonError> read_subject(HttpContext& context, const JsonPlace& object) {
  const auto key_member = object.member("key");
  const auto limit_member = object.member("limit");
  if (!key_member) return object.expected("a key, as in \"key\": \"alice\"");
  if (!limit_member) return object.expected("a limit, as in \"limit\": \"5/1m\"");
  const auto key = key_member->text();
  if (!key) return key.error();
  if (auto wrong = check_key(context, {key_member->pointer(), *key})) return *std::move(wrong);
  const auto limit = limit_member->text();
  if (!limit) return limit.error();
  const auto rule = find_rule(context, {limit_member->pointer(), *limit});
  if (!rule) return rule.error();
  return Subject{*rule, *key};
}

}  // namespace weir::server
