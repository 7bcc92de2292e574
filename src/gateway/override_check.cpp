#include "gateway/override_check.hpp"

namespace weir::gateway {

std::string trouble_with_cost(Cost cost, const Quota& quota) {
  if (!quota.limit || cost <= Limit::Machine::capacity(quota.limit->config())) return {};
  return '\'' + quota.limit->text() + "' never grants the rule's cost of " + std::to_string(cost);
}

std::string trouble_with_override(const EdgeRule& rule, const Grouping& grouping,
                                  std::string_view key, const Quota& quota) {
  if (rule.key.attributes().empty()) {
    return "the rule counts all calls together; expected a key, as \"{user}\", whose values can "
           "have limits of their own";
  }
  if (rule.key.text() == "{ip}" && rule.missing != WhenMissing::share) {
    const auto network = parse_network(key);
    if (!network) return "the rule's key is an address, '" + std::string(key) + "' is none";
    std::string counted;
    rule.key.append(counted, {.ip = network->first}, grouping);
    if (counted != key) {
      return "no call has the key '" + std::string(key) + "'; expected '" + counted +
             "', as these addresses are counted";
    }
  }
  return trouble_with_cost(rule.cost, quota);
}

}  // namespace weir::gateway
