// Behaviour told in rows: what is asked, and what must be answered.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "weir/algorithm/concept.hpp"

namespace weir {

/// Patience that the caller does not state.
inline constexpr std::nullopt_t unstated = std::nullopt;

/// Times are spans since the story's beginning; `ready_at` of "never" is forever.
inline constexpr Span forever = Span::max();

struct Row {
  Span at;
  Cost cost;
  std::optional<Span> patience;
  Verdict verdict;
  Span ready_at;
  Cost remaining;
};

/// Runs the rows in order on one state; checks each answer, and that a refusal and a probe change
/// nothing (unless the algorithm punishes refusals). Returns the state at the end.
template <typename M>
typename M::State expect_story(const typename M::Config& config, const std::vector<Row>& rows,
                               typename M::State state = {}) {
  const Instant begin{};
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const Row& row = rows[at];
    const Request request{begin + row.at, row.cost, row.patience};
    const typename M::State before = state;
    const Decision decision = step<M>(config, state, request);
    SCOPED_TRACE("row " + std::to_string(at) + ", at " + std::to_string(row.at.count()) + "us");
    EXPECT_STREQ(name(decision.verdict), name(row.verdict));
    EXPECT_EQ(decision.ready_at == never ? forever : decision.ready_at - begin, row.ready_at);
    EXPECT_EQ(decision.remaining, row.remaining);
    const bool punishes = Punishing<M> && decision.verdict == Verdict::denied;
    if ((!taken(decision.verdict) && !punishes) || row.cost == 0) {
      EXPECT_TRUE(state == before);
    }
  }
  return state;
}

/// The verdicts of calls of cost 1 that do not wait: G granted, D denied.
template <typename M>
std::string verdicts(const typename M::Config& config, const std::vector<Span>& calls) {
  typename M::State state{};
  std::string told;
  for (const Span at : calls) {
    const Decision decision = step<M>(config, state, {Instant{} + at, 1, Span{0}});
    told += decision.verdict == Verdict::granted ? 'G' : 'D';
  }
  return told;
}

struct Every {
  Span interval;
  int count;
  Span start{0};
};

inline std::vector<Span> calls(const Every& every) {
  std::vector<Span> instants;
  for (int at = 0; at < every.count; ++at) instants.push_back(every.start + every.interval * at);
  return instants;
}

}  // namespace weir
