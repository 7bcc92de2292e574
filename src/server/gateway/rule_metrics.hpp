// Metrics of the rules in force.
#pragma once

#include <span>
#include <string>

#include "server/gateway/generation.hpp"
#include "server/gateway/rule_counts.hpp"

namespace weir::server {

/// Rules that have labels of their own; those behind them in the files are "other" together.
inline constexpr std::size_t most_labelled_rules = 2'000;

/// Appends them in Prometheus' text format: the sums of all workers' counts. Requires counts of
/// every rule of the generation.
void write_rule_metrics(std::string& text, const Generation& generation,
                        std::span<const RuleCounts* const> counts);

}  // namespace weir::server
