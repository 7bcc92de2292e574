// What a run of a simulated service comes to, in figures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/service_model.hpp"

namespace weir::cli {

/// Over a stretch of whole seconds.
struct ServiceFigures {
  std::chrono::seconds length{};
  std::int64_t offered = 0;
  std::int64_t refused = 0;
  std::int64_t in_time = 0;
  std::int64_t late = 0;
  std::chrono::nanoseconds p50{};  ///< of all answers, in time or late; 0 where there are none
  std::chrono::nanoseconds p99{};

  std::int64_t answered() const { return in_time + late; }
  /// Answers in time, a second.
  std::int64_t goodput() const { return length.count() == 0 ? 0 : in_time / length.count(); }
};

/// One protection's run.
struct ServiceResult {
  std::string protection;
  ServiceFigures whole;
  std::vector<ServiceFigures> phases;
  std::vector<ServiceFigures> seconds;
  std::vector<std::int64_t> limits;  ///< at the end of each second
  std::int64_t unanswered = 0;
  /// After each phase that is slower than the next, how long until three seconds on end each
  /// brought 90 % of what the service can do, or of what was asked for where that is less: until
  /// then in whole seconds. Absent for the others, and where it did not recover before the end or
  /// the next such phase.
  std::vector<std::optional<std::chrono::seconds>> recovered_after;
};

ServiceResult result_of(const Service& service, const std::string& protection,
                        const ServiceRun& run);

/// Answers a second: what is asked for in the phase, as far as the service can do it.
double most_possible(const Service& service, const Phase& phase);

/// Whether the phase is slower than the one that follows it.
bool ends_a_slowdown(const Service& service, std::size_t phase);

}  // namespace weir::cli
