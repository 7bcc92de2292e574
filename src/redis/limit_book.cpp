#include "redis/limit_book.hpp"

#include <algorithm>
#include <mutex>

#include "redis/scripts.hpp"
#include "redis/told_limit.hpp"

namespace weir::redis {
namespace {

bool denials_hold(const Limit& limit) {
  const auto has_penalty = [](const LimitTerm& term) { return term.block > Span{0}; };
  return !limit.permit_term() && std::ranges::none_of(limit.terms(), has_penalty);
}

}  // namespace

Span patience_of(const Subject& subject, Cost cost, std::optional<Span> patience) {
  const auto& config = subject.config ? *subject.config : subject.rule->limit.config();
  const auto own = Limit::Machine::own_wait(config, cost);
  const Span counts = weir::patience_of({.cost = cost, .patience = patience}, own);
  return std::clamp(counts, Span{0}, std::max(usual_slack, own.value_or(Span{0})));
}

StoreLimit LimitBook::of(const Subject& subject) {
  const Limit& limit = subject.rule->limit;
  if (subject.config != nullptr) {
    const Limit::Machine::Config& config = *subject.config;
    return {config_text(config),
            machine_letter(config),
            limit.terms().size(),
            Limit::Machine::capacity(config),
            denials_hold(limit),
            false,
            true};
  }
  {
    const std::shared_lock lock(mutex_);
    const auto known = known_.find(subject.rule->id);
    if (known != known_.end()) return known->second;
  }
  StoreLimit made{config_text(limit),
                  machine_letter(limit),
                  limit.terms().size(),
                  Limit::Machine::capacity(limit.config()),
                  denials_hold(limit),
                  limit.leasable(),
                  false};
  made.by_module = made.text && read_told_limit(*made.text).has_value();
  const std::unique_lock lock(mutex_);
  if (known_.size() == most_known) known_.clear();
  known_.emplace(subject.rule->id, made);
  return made;
}

}  // namespace weir::redis
