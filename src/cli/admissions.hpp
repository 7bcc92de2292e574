// What has acted, as steps over time, and what the bound leaves room for.
#pragma once

#include <functional>
#include <vector>

#include "weir/vocabulary.hpp"

namespace weir::cli {

/// From this instant to the next step the value holds.
struct Step {
  Instant at;
  Cost value;

  bool operator==(const Step&) const = default;
};

/// The instants that a line is drawn from and to.
struct Frame {
  Instant first;
  Instant last;
  std::size_t columns;  ///< > 0; finer than a column nothing shows
};

/// Units that have acted, summed up from the start.
class Admissions {
 public:
  /// In order of time.
  void add(Instant at, Cost cost);

  /// In all, up to and with this instant.
  Cost until(Instant at) const;
  Cost total() const { return steps_.empty() ? 0 : steps_.back().value; }

  /// until(), as steps.
  std::vector<Step> in_all(const Frame& frame) const;
  /// What acted in (t - length, t], as steps; where there are more than columns, a column shows its
  /// most.
  std::vector<Step> within(Span length, const Frame& frame) const;
  /// The most that in_all() could be, had the bound alone been kept: at each t the least, over all
  /// windows (s, t], of what acted until s and the bound of the window. Never below in_all().
  std::vector<Step> allowed(const std::function<Cost(Span)>& bound, const Frame& frame) const;

 private:
  bool crowded(const Frame& frame) const { return steps_.size() > frame.columns; }
  std::vector<Instant> samples(const Frame& frame) const;

  std::vector<Step> steps_;
};

}  // namespace weir::cli
