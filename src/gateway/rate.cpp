// "5/1m per ip": a rule in a line.
#include "gateway/rule_file.hpp"

namespace weir::gateway {
namespace {

constexpr std::string_view per = " per ";
constexpr std::string_view conjunction = " and ";

}  // namespace

Expected<Domain, LimitError> read_rate(std::string_view text) {
  const std::size_t split = std::min(text.find(per), text.size());
  auto limit = Limit::parse(text.substr(0, split));
  if (!limit) return limit.error();
  if (!limit->starts_full()) {
    return LimitError{1, "initial is for a single limiter; a key must start full"};
  }
  std::string key;
  for (std::size_t at = split; at < text.size();) {
    at += at == split ? per.size() : conjunction.size();
    const std::size_t end = std::min(text.find(conjunction, at), text.size());
    const auto attribute = read_attribute(text.substr(at, end - at));
    if (!attribute) return LimitError{at + 1, attribute.error()};
    if (attribute->kind == Attribute::Kind::user) {
      return LimitError{at + 1,
                        "who the user is says a header, which a rule file names (user_header); "
                        "expected ip, or header.NAME"};
    }
    key += (key.empty() ? "{" : " {") + print(*attribute) + '}';
    at = end;
  }
  EdgeRule rule;
  rule.name = rule.identity = rule.label = "rate";
  rule.key = KeyTemplate::read(key).value();
  rule.quota.limit = std::move(limit).value();
  Domain domain;
  domain.name = "default";
  domain.clients = usual_clients();
  domain.rules.push_back(std::move(rule));
  return domain;
}

}  // namespace weir::gateway
