// A limit in words and numbers.
#pragma once

#include <string>
#include <vector>

#include "weir/limit.hpp"

namespace weir::cli {

/// Units that a limit lets through for ever, at most.
struct Rate {
  Cost count;
  Span period;
};

/// The most that acts within any half-open window of this length, in calls of cost 1.
struct BoundRow {
  Span length;
  Cost most;
};

/// Sentences on one term: what it does, what it refuses and what it costs.
std::vector<std::string> sentences_on(const LimitTerm& term);

/// The rate that a caller can keep up for ever: of the slowest term.
Rate sustained_rate(const Limit& limit);

/// An instant, a second, each period and ten of each.
std::vector<BoundRow> bound_table(const Limit& limit);

}  // namespace weir::cli
