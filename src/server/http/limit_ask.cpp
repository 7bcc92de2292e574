#include "server/http/limit_ask.hpp"

#include <string>
#include <utility>

#include "server/http/subject_json.hpp"
#include "weir/duration.hpp"
#include "wire/integer.hpp"

namespace weir::server {
namespace {

constexpr JsonRange costs{0, longest_span.count()};

Expected<Claim, JsonError> read_claim(HttpContext& context, const JsonPlace& object) {
  const auto subject = read_subject(context, object);
  if (!subject) return subject.error();
  Claim claim{.subject = *subject};
  if (const auto member = object.member("cost")) {
    const auto cost = member->whole_number(costs);
    if (!cost) return cost.error();
    claim.cost = *cost;
  }
  return claim;
}

Expected<std::optional<Span>, JsonError> read_patience(const JsonPlace& object) {
  const auto member = object.member("patience");
  if (!member) return std::optional<Span>{};
  const auto text = member->text();
  if (!text) return text.error();
  const auto span = parse_duration(*text);
  if (!span) return member->expected("a length of time, such as \"50ms\"");
  return std::optional<Span>{*span};
}

}  // namespace

Expected<OneAsked, JsonError> read_one(HttpContext& context, const JsonPlace& object) {
  if (auto wrong = object.check_members({"key", "limit", "cost", "patience"})) {
    return *std::move(wrong);
  }
  const auto claim = read_claim(context, object);
  if (!claim) return claim.error();
  const auto patience = read_patience(object);
  if (!patience) return patience.error();
  return OneAsked{*claim, *patience};
}

Expected<SeveralAsked, JsonError> read_several(HttpContext& context, const JsonPlace& object) {
  if (auto wrong = object.check_members({"all", "patience"})) return *std::move(wrong);
  const JsonPlace list = *object.member("all");
  const auto size = list.size_of_array({1, std::int64_t{Table::most_claims}});
  if (!size) return size.error();
  SeveralAsked asked{.count = *size};
  for (std::size_t at = 0; at < *size; ++at) {
    const JsonPlace element = list.element(at);
    if (auto wrong = element.check_members({"key", "limit", "cost"})) return *std::move(wrong);
    const auto claim = read_claim(context, element);
    if (!claim) return claim.error();
    asked.claims[at] = *claim;
  }
  const auto patience = read_patience(object);
  if (!patience) return patience.error();
  asked.patience = *patience;
  return asked;
}

Expected<Claim, JsonError> read_claim(HttpContext& context, const QueryMembers& members) {
  std::optional<std::string_view> key;
  std::optional<std::string_view> limit;
  Claim claim;
  for (const auto& [name, value] : members) {
    if (name == "key") {
      key = value;
    } else if (name == "limit") {
      limit = value;
    } else if (name == "cost") {
      const auto number = wire::strict_integer(value);
      if (!number || *number < costs.least || *number > costs.most) {
        return JsonError{"cost: expected a whole number from 0 to " + std::to_string(costs.most)};
      }
      claim.cost = *number;
    } else {
      return JsonError{"query: expected none but key, limit, cost"};
    }
  }
  if (!key || !limit) {
    return JsonError{"query: expected key=...&limit=..., as in key=alice&limit=5/1m"};
  }
  if (auto wrong = check_key(context, {"key", *key})) return *std::move(wrong);
  const auto rule = find_rule(context, {"limit", *limit});
  if (!rule) return rule.error();
  claim.subject = {*rule, *key};
  return claim;
}

}  // namespace weir::server
