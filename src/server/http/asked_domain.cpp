#include "server/http/asked_domain.hpp"

#include <string>

namespace weir::server {

HttpAnswer no_rules() {
  return problem(404,
                 "there are no rules; start weir serve with --rules FILE, or with --rate '100/s "
                 "per ip'");
}

Expected<const gateway::RuleIndex*, HttpAnswer> asked_domain(const Decider& decider,
                                                             std::string_view domain) {
  const auto& generation = decider.generation();
  if (!generation) return no_rules();
  const gateway::RuleIndex* const rules =
      domain.empty() ? generation->rules.usual() : generation->rules.find(domain);
  if (rules) return rules;
  return problem(404, domain.empty() ? "there are several domains; expected the name of one"
                                     : "there is no domain '" + std::string(domain) + "'");
}

}  // namespace weir::server
