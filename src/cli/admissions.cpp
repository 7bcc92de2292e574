#include "cli/admissions.hpp"

#include <algorithm>

namespace weir::cli {
namespace {

constexpr Span tick{1};

/// The instant at which a column begins; the column after the last one begins at frame.last.
Instant begin_of(std::size_t column, const Frame& frame) {
  const Span length = frame.last - frame.first;
  const auto columns = static_cast<std::int64_t>(frame.columns);
  const auto number = static_cast<std::int64_t>(column);
  return frame.first + length / columns * number + length % columns * number / columns;
}

void add_step(std::vector<Step>& steps, const Step& step) {
  if (steps.empty() || steps.back().value != step.value) steps.push_back(step);
}

}  // namespace

void Admissions::add(Instant at, Cost cost) {
  if (cost == 0) return;
  if (!steps_.empty() && steps_.back().at == at) {
    steps_.back().value += cost;
  } else {
    steps_.push_back({at, total() + cost});
  }
}

Cost Admissions::until(Instant at) const {
  const auto after = std::ranges::upper_bound(steps_, at, {}, &Step::at);
  return after == steps_.begin() ? 0 : std::prev(after)->value;
}

/// Where a line may change: at each column, and at each act unless there are too many.
std::vector<Instant> Admissions::samples(const Frame& frame) const {
  std::vector<Instant> instants;
  for (std::size_t column = 0; column <= frame.columns; ++column) {
    instants.push_back(begin_of(column, frame));
  }
  if (!crowded(frame)) {
    for (const Step& step : steps_) instants.push_back(step.at);
    std::ranges::sort(instants);
  }
  return instants;
}

std::vector<Step> Admissions::in_all(const Frame& frame) const {
  std::vector<Step> line;
  for (const Instant at : samples(frame)) add_step(line, {at, until(at)});
  return line;
}

std::vector<Step> Admissions::within(Span length, const Frame& frame) const {
  const auto inside = [&](Instant at) { return until(at) - until(at - length); };
  std::vector<Step> line;
  if (!crowded(frame)) {
    std::vector<Instant> changes{frame.first};
    for (const Step& step : steps_) {
      changes.push_back(step.at);
      if (step.at + length < frame.last) changes.push_back(step.at + length);
    }
    std::ranges::sort(changes);
    for (const Instant at : changes) add_step(line, {at, inside(at)});
    return line;
  }
  auto next = steps_.begin();
  for (std::size_t column = 0; column < frame.columns; ++column) {
    const Instant begin = begin_of(column, frame);
    const Instant end = begin_of(column + 1, frame);
    Cost most = inside(begin);
    for (; next != steps_.end() && next->at < end; ++next) most = std::max(most, inside(next->at));
    add_step(line, {begin, most});
  }
  return line;
}

std::vector<Step> Admissions::allowed(const std::function<Cost(Span)>& bound,
                                      const Frame& frame) const {
  // Windows that begin just before an act, for there the sum is least; in a crowd, one a column:
  // to leave windows out raises the line, and it stays a bound.
  std::vector<Step> starts;
  std::size_t column = 0;
  for (std::size_t act = 0; act < steps_.size(); ++act) {
    if (crowded(frame)) {
      if (steps_[act].at < begin_of(column, frame)) continue;
      while (column < frame.columns && begin_of(column + 1, frame) <= steps_[act].at) ++column;
      ++column;
    }
    starts.push_back({steps_[act].at - tick, act == 0 ? 0 : steps_[act - 1].value});
  }
  std::vector<Step> line;
  for (const Instant at : samples(frame)) {
    Cost least = until(at - tick) + bound(tick);
    for (const Step& start : starts) {
      if (start.at >= at) break;
      if (at - start.at > longest_span) continue;
      least = std::min(least, start.value + bound(at - start.at));
    }
    add_step(line, {at, least});
  }
  return line;
}

}  // namespace weir::cli
