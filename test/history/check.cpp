#include "test/history/check.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "test/history/suffix_tree.hpp"
#include "test/history/wide.hpp"

namespace weir::history {
namespace {

using Records = std::span<const Record>;

/// Calls `visit` with the records of each key, sorted by return.
template <typename Visit>
void for_each_key(const History& history, Visit visit) {
  History sorted = history;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Record& one, const Record& other) {
    return std::pair(one.key, one.returned_at_ns) < std::pair(other.key, other.returned_at_ns);
  });
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin + 1;
    while (end < sorted.size() && sorted[end].key == sorted[begin].key) ++end;
    visit(Records(sorted).subspan(begin, end - begin));
    begin = end;
  }
}

/// A probe takes nothing. (A request that never returned lies inside no interval, and is harmless.)
bool counts_as_admitted(const Record& record) { return record.admitted && record.cost > 0; }

/// The distinct instants at which something was called that was admitted, in order.
std::vector<std::int64_t> call_instants(Records records) {
  std::vector<std::int64_t> instants;
  for (const Record& record : records) {
    if (counts_as_admitted(record)) instants.push_back(record.called_at_ns);
  }
  std::sort(instants.begin(), instants.end());
  instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
  return instants;
}

std::size_t place_of(const std::vector<std::int64_t>& instants, std::int64_t instant) {
  const auto place = std::lower_bound(instants.begin(), instants.end(), instant);
  return static_cast<std::size_t>(place - instants.begin());
}

void note(Report& report, const Violation& violation) {
  ++report.violations;
  if (!report.first || violation.until_ns < report.first->until_ns) report.first = violation;
}

/// Says how the first violation reads, with `allowed_means` between the cost and what is allowed.
Report explained(Report report, std::string_view happened, std::string_view allowed_means) {
  if (!report.first) return report;
  const Violation& first = *report.first;
  std::ostringstream text;
  text << "key " << first.key << ": " << first.cost << ' ' << happened << " [" << first.from_ns
       << ", " << first.until_ns << "] ns (" << first.until_ns - first.from_ns << " ns long), "
       << allowed_means << ' ' << first.allowed << "; violations in all: " << report.violations;
  report.explanation = text.str();
  return report;
}

Report explained_admissions(Report report) {
  return explained(std::move(report), "admitted wholly inside", "where the limit allows");
}

Report explained_denials(Report report) {
  return explained(std::move(report), "denied in", "where there was room for at least");
}

/// What others may have taken, by the two instants that bound when.
class PossibleAdmissions {
 public:
  explicit PossibleAdmissions(Records records) {
    for (const Record& record : records) {
      if (!counts_as_admitted(record)) continue;
      calls_.push_back({record.called_at_ns, record.cost});
      returns_.push_back({record.returned_at_ns, record.cost});
    }
    accumulate(calls_);
    accumulate(returns_);
  }

  struct Instants {
    std::int64_t from_ns;
    std::int64_t until_ns;  ///< >= from_ns
  };

  /// The cost of all that may have been admitted in [from, until]: called by `until` and not yet
  /// returned before `from`. Who returned before `from` was called before `until` too, so that two
  /// running sums suffice.
  Wide within(const Instants& instants) const {
    return before(calls_, instants.until_ns + 1) - before(returns_, instants.from_ns);
  }

  struct Sum {
    std::int64_t at_ns;
    Wide cost;  ///< of everything up to and including at_ns
  };

  const std::vector<Sum>& returns() const { return returns_; }

 private:
  static void accumulate(std::vector<Sum>& sums) {
    std::sort(sums.begin(), sums.end(),
              [](const Sum& one, const Sum& other) { return one.at_ns < other.at_ns; });
    Wide total = 0;
    for (Sum& sum : sums) sum.cost = total += sum.cost;
  }

  static Wide before(const std::vector<Sum>& sums, std::int64_t instant_ns) {
    const auto place =
        std::lower_bound(sums.begin(), sums.end(), instant_ns,
                         [](const Sum& sum, std::int64_t instant) { return sum.at_ns < instant; });
    return place == sums.begin() ? 0 : std::prev(place)->cost;
  }

  std::vector<Sum> calls_;
  std::vector<Sum> returns_;
};

/// The least that a bucket can have held when a request was decided, in units of 1 / period.
///
/// A bucket was full at some instant a, and has since gained rate * (now - a) and lost what was
/// admitted in [a, now]. Which a, and which admissions, nobody knows: the least over all of them is
/// certain. That least lies at an admission's return (what it took counts up to there, while the
/// gain shrinks) or at the end of the instants that a can be.
class LeastFree {
 public:
  LeastFree(const PossibleAdmissions& possible, const Bucket& limit, ClockReading clock)
      : possible_(possible), limit_(limit), clock_(clock) {
    Wide returned = 0;
    for (const PossibleAdmissions::Sum& sum : possible.returns()) {
      const Wide here = returned * limit.period_ns - Wide{sum.at_ns} * limit.count;
      least_until_.push_back(least_until_.empty() ? here : std::min(least_until_.back(), here));
      returned = sum.cost;
    }
  }

  Wide at(const Record& denial) const {
    // The two instants, rounded down, may be a quantum nearer to each other than they are.
    const std::int64_t now_ns = denial.called_at_ns - quantum_ns;
    const std::int64_t end_ns = denial.returned_at_ns;
    const std::int64_t latest_full_ns = clock_ == ClockReading::in_order ? now_ns : end_ns;
    const Wide capacity = Wide{limit_.burst} * limit_.period_ns;

    Wide least = capacity - taken_in({.from_ns = now_ns, .until_ns = end_ns});
    const Wide taken_at_end = taken_in({.from_ns = end_ns, .until_ns = end_ns});
    if (clock_ == ClockReading::apart && taken_at_end > 0) {
      least = std::min(least, capacity - (Wide{end_ns} - now_ns) * limit_.count - taken_at_end);
    }
    const auto& returns = possible_.returns();
    const auto after =
        std::upper_bound(returns.begin(), returns.end(), latest_full_ns,
                         [](std::int64_t instant, const PossibleAdmissions::Sum& sum) {
                           return instant < sum.at_ns;
                         });
    if (after != returns.begin()) {
      const auto last = static_cast<std::size_t>(after - returns.begin()) - 1;
      const Wide all_called = taken_in({.from_ns = first_instant, .until_ns = end_ns});
      least =
          std::min(least, capacity + Wide{now_ns} * limit_.count - all_called + least_until_[last]);
    }
    return least;
  }

 private:
  static constexpr std::int64_t first_instant = std::numeric_limits<std::int64_t>::min();

  Wide taken_in(const PossibleAdmissions::Instants& instants) const {
    return possible_.within(instants) * limit_.period_ns;
  }

  const PossibleAdmissions& possible_;
  const Bucket& limit_;
  ClockReading clock_;
  /// For each return, the least of (cost returned before - rate * instant) up to it.
  std::vector<Wide> least_until_;
};

std::int64_t narrow(Wide value) { return static_cast<std::int64_t>(value); }

}  // namespace

Report check_admissions(const History& history, const Bucket& limit) {
  Report report;
  for_each_key(history, [&](Records records) {
    const std::vector<std::int64_t> calls = call_instants(records);
    SuffixTree tree(calls.size());
    for (const Record& record : records) {
      if (!counts_as_admitted(record)) continue;
      tree.add(place_of(calls, record.called_at_ns),
               {.cost = Wide{record.cost} * limit.period_ns,
                .head_start = Wide{record.called_at_ns} * limit.count});
      const Wide allowed = Wide{limit.burst} * limit.period_ns +
                           (Wide{record.returned_at_ns} + quantum_ns) * limit.count;
      const SuffixTree::Best best = tree.best();
      if (best.value <= allowed) continue;
      const Wide head_start = Wide{calls[best.place]} * limit.count;
      note(report, {.key = record.key,
                    .from_ns = calls[best.place],
                    .until_ns = record.returned_at_ns,
                    .cost = narrow((best.value - head_start) / limit.period_ns),
                    .allowed = narrow(floor_divide(allowed - head_start, limit.period_ns))});
    }
  });
  return explained_admissions(std::move(report));
}

Report check_admissions(const History& history, const SlidingWindow& limit) {
  Report report;
  for_each_key(history, [&](Records records) {
    const std::vector<std::int64_t> calls = call_instants(records);
    SuffixTree tree(calls.size());
    for (const Record& record : records) {
      if (!counts_as_admitted(record)) continue;
      tree.add(place_of(calls, record.called_at_ns), {.cost = record.cost, .head_start = 0});
      // Two decisions this near are less than a window apart on the store's clock too.
      const std::int64_t from_ns = record.returned_at_ns - (limit.length_ns - quantum_ns);
      const Wide cost = tree.sum_from(place_of(calls, from_ns));
      if (cost <= limit.limit) continue;
      note(report, {.key = record.key,
                    .from_ns = from_ns,
                    .until_ns = record.returned_at_ns,
                    .cost = narrow(cost),
                    .allowed = limit.limit});
    }
  });
  return explained_admissions(std::move(report));
}

Report check_admissions(const History& history, const AlignedWindow& limit) {
  Report report;
  for_each_key(history, [&](Records records) {
    std::unordered_map<std::int64_t, Wide> cost_in;
    for (const Record& record : records) {
      if (!counts_as_admitted(record)) continue;
      const Wide into_grid =
          Wide{record.called_at_ns} - limit.boundary_at_ns - limit.uncertainty_ns;
      const std::int64_t window = narrow(floor_divide(into_grid, limit.length_ns));
      const Wide begin_ns = limit.boundary_at_ns + Wide{window} * limit.length_ns;
      const Wide end_ns = begin_ns + limit.length_ns;
      if (record.returned_at_ns >= end_ns - limit.uncertainty_ns) continue;
      const Wide cost = cost_in[window] += record.cost;
      if (cost <= limit.limit) continue;
      note(report, {.key = record.key,
                    .from_ns = narrow(begin_ns),
                    .until_ns = record.returned_at_ns,
                    .cost = narrow(cost),
                    .allowed = limit.limit});
    }
  });
  return explained_admissions(std::move(report));
}

Report check_denials(const History& history, const Bucket& limit, ClockReading clock) {
  Report report;
  for_each_key(history, [&](Records records) {
    const PossibleAdmissions possible(records);
    const LeastFree least_free(possible, limit, clock);
    for (const Record& record : records) {
      if (record.admitted) continue;
      const Wide least = least_free.at(record);
      if (least < Wide{record.cost} * limit.period_ns) continue;
      note(report, {.key = record.key,
                    .from_ns = record.called_at_ns,
                    .until_ns = record.returned_at_ns,
                    .cost = record.cost,
                    .allowed = narrow(floor_divide(least, limit.period_ns))});
    }
  });
  return explained_denials(std::move(report));
}

Report check_denials(const History& history, const SlidingWindow& limit) {
  Report report;
  for_each_key(history, [&](Records records) {
    const PossibleAdmissions possible(records);
    for (const Record& record : records) {
      if (record.admitted) continue;
      const std::int64_t from_ns = record.called_at_ns - limit.length_ns - quantum_ns;
      const Wide least =
          limit.limit - possible.within({.from_ns = from_ns, .until_ns = record.returned_at_ns});
      if (least < record.cost) continue;
      note(report, {.key = record.key,
                    .from_ns = record.called_at_ns,
                    .until_ns = record.returned_at_ns,
                    .cost = record.cost,
                    .allowed = narrow(least)});
    }
  });
  return explained_denials(std::move(report));
}

Saturation saturation_of(const History& history, const Bucket& limit) {
  constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t earliest = std::numeric_limits<std::int64_t>::min();
  Saturation saturation;
  std::int64_t first_call = latest;
  std::int64_t last_return = earliest;
  std::int64_t first_denied_by = latest;
  std::int64_t last_denied_from = earliest;
  for (const Record& record : history) {
    if (record.admitted) {
      ++saturation.admitted;
      first_call = std::min(first_call, record.called_at_ns);
      last_return = std::max(last_return, record.returned_at_ns);
    } else {
      first_denied_by = std::min(first_denied_by, record.returned_at_ns);
      last_denied_from = std::max(last_denied_from, record.called_at_ns);
    }
  }
  const auto gained_in = [&](Wide span_ns) {
    return narrow(floor_divide(std::max(span_ns, Wide{0}) * limit.count, limit.period_ns));
  };
  if (first_denied_by != latest) {
    saturation.least =
        limit.burst + gained_in(Wide{last_denied_from} - first_denied_by - quantum_ns);
  }
  if (saturation.admitted > 0) {
    saturation.most = limit.burst + gained_in(Wide{last_return} - first_call + quantum_ns);
  }
  return saturation;
}

}  // namespace weir::history
