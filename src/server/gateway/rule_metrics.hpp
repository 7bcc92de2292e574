// Metrics of the rules in force.
#pragma once

#include <span>
#include <string>

#include "server/gateway/generation.hpp"
#include "server/gateway/rule_counts.hpp"

namespace weir::server {

/// Rules that have labels of their own; those behind them in the files are "other" together.
inline constexpr std::size_t most_labelled_rules = 2'000;

/// Rules and the counts of all workers, of every rule of the generation.
struct CountedRules {
  const Generation& generation;
  std::span<const RuleCounts* const> counts;
  Instant now;
};

/// Appends them in Prometheus' text format; of families that limits have too the lines alone.
void write_rule_metrics(std::string& text, OfRules what, const CountedRules& counted);

}  // namespace weir::server
