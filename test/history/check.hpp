// Does a recorded history keep a limit's promise? Sound: a correct limiter is never blamed, however
// long its answers took, because its decision lies somewhere between the call and the return.
//
// Instants of decision are not known, so a fault smaller than the clients' own uncertainty (the
// rate times the time their answers took) cannot be seen. Nothing else is forgiven but the quantum:
// a store decides at whole microseconds, so two decisions may lie nearer to each other on its clock
// than on ours, or further apart, by less than one microsecond.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "test/history/history.hpp"

namespace weir::history {

/// What the store rounds its instants down to.
inline constexpr std::int64_t quantum_ns = 1000;

/// Token bucket or GCRA, full at first: at most burst + rate * (b - a) within any [a, b].
struct Bucket {
  std::int64_t burst = 0;      ///< > 0, most that is admitted at one instant
  std::int64_t count = 0;      ///< > 0, admitted in each period
  std::int64_t period_ns = 0;  ///< > 0
};

/// Sliding log, and sliding window whose parts all count: at most `limit` in any window.
struct SlidingWindow {
  std::int64_t limit = 0;
  std::int64_t length_ns = 0;  ///< a multiple of quantum_ns
};

/// Fixed window: at most `limit` in each window of the store's grid.
struct AlignedWindow {
  std::int64_t limit = 0;
  std::int64_t length_ns = 0;
  std::int64_t boundary_at_ns = 0;  ///< any boundary of the grid, on the history's clock
  /// How far off boundary_at_ns may be. Admissions that near to a boundary may belong to either
  /// window and count for neither.
  std::int64_t uncertainty_ns = 0;
};

/// How the store's decisions on one key follow its readings of the clock.
enum class ClockReading {
  in_order,  ///< read where the state is changed (one thread, or under the key's lock)
  apart,     ///< read before that, so that a later reading may be applied first
};

/// One broken promise. For admissions: `cost` was admitted wholly inside [from_ns, until_ns],
/// where `allowed` is the most. For denials: a request called at from_ns and answered at until_ns
/// was denied `cost`, where at least `allowed` was free however the others' decisions fell.
struct Violation {
  std::uint64_t key = 0;
  std::int64_t from_ns = 0;
  std::int64_t until_ns = 0;
  std::int64_t cost = 0;
  std::int64_t allowed = 0;
};

/// What a check found. A check of admissions counts each admission at whose return some window had
/// taken too much; a check of denials counts each wrong denial.
struct Report {
  std::int64_t violations = 0;
  std::optional<Violation> first;  ///< the one that could be known the earliest
  std::string explanation;         ///< of the first, for people; empty if there is none

  bool kept() const noexcept { return violations == 0; }
};

/// Was more admitted than the limit allows? Each key has a limit of its own. O(n log n).
Report check_admissions(const History& history, const Bucket& limit);
Report check_admissions(const History& history, const SlidingWindow& limit);
Report check_admissions(const History& history, const AlignedWindow& limit);

/// Was anything denied that had to be admitted? The limit must take nothing when it denies, and no
/// caller may have had patience. O(n log n).
Report check_denials(const History& history, const Bucket& limit,
                     ClockReading clock = ClockReading::in_order);
Report check_denials(const History& history, const SlidingWindow& limit);

/// How much of one key a saturated limit admits. Saturated: from its first denial on the key is
/// never full again, so every token that drips in is taken.
struct Saturation {
  std::int64_t admitted = 0;
  /// The burst, which was gone at the first denial, and what has dripped in from then to the last.
  /// 0 if nothing was denied.
  std::int64_t least = 0;
  /// The burst and what dripped in between the first call and the last return of an admission.
  std::int64_t most = 0;

  bool kept() const noexcept { return least <= admitted && admitted <= most; }
};

/// Requires that all requests in `history` are for one key, cost 1 and were answered.
Saturation saturation_of(const History& history, const Bucket& limit);

}  // namespace weir::history
