// A service that is asked for more than it can do, under a virtual clock.
#pragma once

#include <chrono>
#include <vector>

#include "cli/protection.hpp"

namespace weir::cli {

/// A stretch of the time line.
struct Phase {
  std::chrono::seconds lasts_for{};
  double load = 1;      ///< calls come at this share of what the service can do at its usual pace
  double slowdown = 1;  ///< a call takes so many times as long as usual; >= 1
  bool operator==(const Phase&) const = default;
};

/// Calls come in a Poisson process, whether or not the service keeps up. They wait in one line
/// without an end, and `servers` of them are served at a time, whether or not anybody still waits
/// for the answer.
struct Service {
  std::int64_t servers = 20;
  std::chrono::nanoseconds service_time = std::chrono::milliseconds{10};  ///< on average
  /// How much of a service time is chance: 0 none, 1 all of it (exponential).
  double spread = 0.5;
  /// An answer that takes longer is worth nothing: the caller has gone.
  std::chrono::nanoseconds timeout = std::chrono::milliseconds{250};
  /// How often a caller asks again that was refused or has given up, and after how long.
  std::int64_t retries = 0;
  std::chrono::nanoseconds retry_after = std::chrono::milliseconds{100};
  std::vector<Phase> phases{};
  std::uint64_t seed = 1;

  /// Calls a second, at its usual pace.
  double capacity() const {
    return static_cast<double>(servers) / std::chrono::duration<double>(service_time).count();
  }
  std::chrono::seconds length() const {
    std::chrono::seconds sum{};
    for (const Phase& phase : phases) sum += phase.lasts_for;
    return sum;
  }
};

/// What became of the calls.
struct ServiceRun {
  struct Answer {
    std::chrono::nanoseconds at;       ///< since the beginning
    std::chrono::nanoseconds latency;  ///< since it was asked for
  };
  struct Second {
    std::int64_t offered = 0;
    std::int64_t refused = 0;
    std::int64_t in_time = 0;  ///< answers, when they come
    std::int64_t late = 0;     ///< answers, when they come
    std::int64_t limit = 0;    ///< at its end
    bool operator==(const Second&) const = default;
  };

  std::vector<Second> seconds;
  std::vector<Answer> answers;  ///< in order of time
  std::int64_t unanswered = 0;  ///< still in the service at the end
};

/// The same service and the same protection always give the same run; and whatever the protection,
/// the same calls come at the same instants with the same work (retries aside).
ServiceRun run_service(const Service& service, Protection& protection);

}  // namespace weir::cli
