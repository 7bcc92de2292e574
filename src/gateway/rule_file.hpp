// Rule files: weir's own, and envoyproxy/ratelimit's as they are.
#pragma once

#include <string_view>

#include "gateway/fields.hpp"
#include "gateway/rule_set.hpp"
#include "gateway/yaml.hpp"

namespace weir::gateway {

/// The domain that a file describes; whose file it is, its fields tell: `rules`, or `descriptors`.
Expected<Domain, FileError> read_rule_file(std::string_view text);

/// The two kinds. Throw FileError.
Domain read_own_file(const YamlNode& root);
Domain read_envoy_file(const YamlNode& root);

/// "5/1m per ip", "100/s per ip and uri", "10/s" for all calls together: a domain "default" of
/// one rule. Errors name the column.
Expected<Domain, LimitError> read_rate(std::string_view text);

/// Unless a file says otherwise: proxies of this machine are believed.
Clients usual_clients();

/// What both kinds may say of a domain's answers.
void read_answers(Fields& fields, Domain& domain);
/// What both kinds may say of units that a client is given at once.
void read_lease(Fields& fields, EdgeRule& rule);

/// A limit, "unlimited" or "blocked". Errors name the column.
Expected<Quota, LimitError> read_quota(std::string_view text);
/// The same of a node; throws FileError.
Quota read_quota(const YamlNode& node, std::string_view field);

}  // namespace weir::gateway
