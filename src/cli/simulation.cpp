#include "cli/simulation.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace weir::cli {

void WindowMeter::add(Instant at, Cost cost) {
  if (cost == 0) return;
  assert(inside_.empty() || at >= inside_.back().at);
  while (!inside_.empty() && at - inside_.front().at >= length_) {
    sum_ -= inside_.front().cost;
    inside_.pop_front();
  }
  if (!inside_.empty() && inside_.back().at == at) {
    inside_.back().cost += cost;
  } else {
    inside_.push_back({at, cost});
  }
  sum_ += cost;
  most_ = std::max(most_, sum_);
}

Tally::Tally(const Simulation& simulation) : simulation_(simulation) {
  for (const Span period : periods_of(simulation.limit)) meters_.emplace_back(period);
}

void Tally::add(const Decision& decision) {
  ++counts_[static_cast<std::size_t>(decision.verdict)];
  if (!taken(decision.verdict)) return;
  for (WindowMeter& meter : meters_) meter.add(decision.ready_at, simulation_.cost);
}

std::int64_t Tally::calls() const noexcept {
  return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

std::vector<Tally::Window> Tally::windows() const {
  std::vector<Window> windows;
  for (const WindowMeter& meter : meters_) {
    const Cost bound =
        Limit::Machine::bound(simulation_.limit.config(), meter.length(), simulation_.cost);
    windows.push_back({meter.length(), meter.most(), bound});
  }
  return windows;
}

std::vector<Span> periods_of(const Limit& limit) {
  std::vector<Span> periods;
  for (const LimitTerm& term : limit.terms()) periods.push_back(term.period);
  std::ranges::sort(periods);
  periods.erase(std::unique(periods.begin(), periods.end()), periods.end());
  return periods;
}

}  // namespace weir::cli
