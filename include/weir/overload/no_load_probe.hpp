// When an estimator measures anew what a call takes while nothing queues, and which calls tell.
#pragma once

#include "weir/overload/estimator.hpp"

namespace weir {

/// Measures the no-load latency anew, now and then, in a service that is drained for it.
///
/// A law that compares latencies with the least it knows has to forget that one at times, or a
/// service that became slower for good would look overloaded for ever. But a measure taken under
/// load holds the queue that the law itself keeps, and each one would allow a longer queue. So the
/// limit is halved while it is measured, and only calls count that were let in with no more in
/// flight than that: they did not wait for the queue, whatever clocks say.
///
/// It is due after `multiplier` times as many samples as the limit, less up to half by chance, and
/// once the limit has fallen to half of what it was: with the queue gone by then, what still looks
/// like one is a service that takes longer.
struct NoLoadProbe {
  static constexpr double multiplier = 30;

  /// Two limits with one seed probe at the same time; give each process its own.
  std::uint64_t seed = 1;
  double due_after = 0;             ///< of the limit; 0: not drawn yet
  std::int64_t seen = 0;            ///< samples since the last measure; in a drain, since it began
  std::int64_t highest = 0;         ///< limit since then
  std::int64_t measured_under = 0;  ///< limit then; 0: not measured
  bool draining = false;
  bool operator==(const NoLoadProbe&) const = default;

  /// A sample came under this limit.
  constexpr void count(std::int64_t limit) noexcept {
    if (due_after == 0) due_after = next_jitter(seed) * multiplier;
    if (seen < std::numeric_limits<std::int64_t>::max()) ++seen;
    if (draining) return;
    highest = std::max(highest, limit);
    const bool due = static_cast<double>(seen) >= due_after * static_cast<double>(limit);
    if (due || limit <= highest / 2) drain();
  }

  constexpr void drain() noexcept {
    draining = true;
    seen = 0;
  }

  /// The limit to hold calls to.
  constexpr std::int64_t in_force(std::int64_t limit, const auto& settings) const noexcept {
    return draining ? std::max(settings.minimum, limit / 2) : limit;
  }

  /// Whether the drain lasts too long: its limit is not enforced, or calls are too heavy for it.
  constexpr bool overdue(std::int64_t limit) const noexcept { return seen > 4 * limit + 64; }

  constexpr void measured(std::int64_t limit) noexcept {
    draining = false;
    seen = 0;
    highest = measured_under = limit;
    due_after = next_jitter(seed) * multiplier;
  }
};

}  // namespace weir
