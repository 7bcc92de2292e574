#include "redis/telling.hpp"

#include <algorithm>
#include <chrono>

namespace weir::redis {
namespace {

using std::chrono::steady_clock;

/// An instant as far after `now` as it was after the decision.
SteadyInstant steady(Instant instant, Instant decided_at, SteadyInstant now) {
  if (instant == never) return SteadyInstant::max();
  return now + std::clamp(instant - decided_at, Span{0}, 2 * longest_span);
}

constexpr const char* would_wait_for_itself =
    "a verb that waits was called by who was called back, and would wait for itself: give it a "
    "function to call";

}  // namespace

Outcome outcome_of(RemoteAnswer&& answer) {
  const Decision& decision = answer.decision;
  const SteadyInstant now = steady_clock::now();
  Outcome outcome;
  outcome.verdict = decision.verdict;
  outcome.refusal = taken(decision.verdict) ? Refusal::none : Refusal::limit;
  outcome.ready_at = steady(decision.ready_at, answer.decided_at, now);
  outcome.limit = decision.limit;
  outcome.remaining = decision.remaining;
  outcome.reset_at = steady(decision.reset_at, answer.decided_at, now);
  outcome.source = answer.source;
  outcome.trouble = std::move(answer.trouble);
  return outcome;
}

Outcome never_taken() {
  Outcome outcome;
  outcome.verdict = Verdict::impossible;
  outcome.ready_at = SteadyInstant::max();
  outcome.reset_at = steady_clock::now();
  return outcome;
}

bool& called_back() noexcept {
  thread_local bool within = false;
  return within;
}

template <>
Outcome would_hang() {
  Outcome outcome;
  outcome.ready_at = steady_clock::now();
  outcome.reset_at = outcome.ready_at;
  outcome.source = Source::closed;
  outcome.trouble = {TroubleKind::refused, would_wait_for_itself};
  return outcome;
}
template <>
Joint would_hang() {
  return {.outcome = would_hang<Outcome>()};
}
template <>
Gift would_hang() {
  return {.given = {}, .trouble = {TroubleKind::refused, would_wait_for_itself}};
}

}  // namespace weir::redis
