#include <algorithm>

#include "gateway/rule.hpp"

namespace weir::gateway {
namespace {

bool any_of(const std::vector<Pattern>& patterns, std::string_view value) {
  return std::ranges::any_of(patterns,
                             [&](const Pattern& pattern) { return pattern.matches(value); });
}

bool says(const std::vector<Pattern>& patterns, const std::optional<std::string_view>& value) {
  return patterns.empty() || (value && any_of(patterns, *value));
}

bool says(const Condition::OfHeader& wanted, std::span<const Header> headers) {
  return std::ranges::any_of(headers, [&](const Header& header) {
    return header.name == wanted.name && any_of(wanted.values, header.value);
  });
}

bool says(const Condition::OfEntry& wanted, std::span<const Entry> descriptor) {
  return std::ranges::any_of(descriptor, [&](const Entry& entry) {
    return entry.key == wanted.key && (wanted.values.empty() || any_of(wanted.values, entry.value));
  });
}

}  // namespace

bool Condition::holds(const Call& call) const {
  return (!whole_descriptor || call.descriptor.size() == entries.size()) &&
         says(routes, call.uri) && says(methods, call.method) && says(hosts, call.host) &&
         (!networks || (call.ip && networks->contains(*call.ip))) &&
         std::ranges::all_of(headers,
                             [&](const OfHeader& wanted) { return says(wanted, call.headers); }) &&
         std::ranges::all_of(entries,
                             [&](const OfEntry& wanted) { return says(wanted, call.descriptor); });
}

}  // namespace weir::gateway
