#include "server/gateway/laid_overrides.hpp"

#include <algorithm>
#include <utility>

namespace weir::server {
namespace {

using gateway::Domain;
using gateway::EdgeRule;

EdgeRule* rule_of(std::vector<Domain>& domains, const KeyOfRule& of) {
  const auto domain = std::ranges::find(domains, of.domain, &Domain::name);
  if (domain == domains.end()) return nullptr;
  const auto rule = std::ranges::find(domain->rules, of.rule, &EdgeRule::identity);
  return rule == domain->rules.end() ? nullptr : &*rule;
}

bool ended(const LaidOverride& laid, Instant now) { return laid.until && *laid.until <= now; }

}  // namespace

bool LaidOverrides::set(LaidOverride wanted) {
  const auto same = std::ranges::find(all_, wanted.of, &LaidOverride::of);
  if (same != all_.end()) {
    *same = std::move(wanted);
    return true;
  }
  if (all_.size() == most) return false;
  all_.push_back(std::move(wanted));
  return true;
}

bool LaidOverrides::remove(const KeyOfRule& of) {
  return std::erase_if(all_, [&](const LaidOverride& each) { return each.of == of; }) > 0;
}

bool LaidOverrides::has(const KeyOfRule& of) const {
  return std::ranges::find(all_, of, &LaidOverride::of) != all_.end();
}

bool LaidOverrides::any_ended(Instant now) const {
  return std::ranges::any_of(all_, [now](const LaidOverride& each) { return ended(each, now); });
}

void LaidOverrides::end(Instant now) {
  std::erase_if(all_, [now](const LaidOverride& each) { return ended(each, now); });
}

void LaidOverrides::lay(std::vector<Domain>& domains) {
  std::erase_if(all_, [&](LaidOverride& each) {
    EdgeRule* const rule = rule_of(domains, each.of);
    if (!rule) return true;
    const auto known = rule->overrides.find(each.of.key);
    each.of_file.reset();
    if (known != rule->overrides.end()) each.of_file = known->second;
    rule->overrides.insert_or_assign(each.of.key, each.quota);
    return false;
  });
}

void LaidOverrides::lift(std::vector<Domain>& domains) const {
  for (const LaidOverride& each : all_) {
    EdgeRule* const rule = rule_of(domains, each.of);
    if (!rule) continue;
    if (each.of_file) {
      rule->overrides.insert_or_assign(each.of.key, *each.of_file);
    } else {
      rule->overrides.erase(each.of.key);
    }
  }
}

}  // namespace weir::server
