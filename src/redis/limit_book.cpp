#include "redis/limit_book.hpp"

#include <mutex>

#include "redis/scripts.hpp"

namespace weir::redis {
namespace {

StoreLimit made_of(const Rule& rule) {
  const Limit& limit = rule.limit;
  return {config_text(limit), machine_letter(limit), limit.terms().size(),
          Limit::Machine::capacity(limit.config())};
}

}  // namespace

StoreLimit LimitBook::of(const Subject& subject) {
  if (subject.config != nullptr) {
    const Limit::Machine::Config& config = *subject.config;
    return {config_text(config), machine_letter(config), subject.rule->limit.terms().size(),
            Limit::Machine::capacity(config)};
  }
  {
    const std::shared_lock lock(mutex_);
    const auto known = known_.find(subject.rule);
    if (known != known_.end()) return known->second;
  }
  StoreLimit limit = made_of(*subject.rule);
  const std::unique_lock lock(mutex_);
  known_.emplace(subject.rule, limit);
  return limit;
}

}  // namespace weir::redis
