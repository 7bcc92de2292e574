// A limit under a virtual clock.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "cli/schedule.hpp"
#include "weir/limit.hpp"

namespace weir::cli {

/// Calls against one key of a limit. The clock begins at 0, the epoch to which windows are aligned,
/// and so does the key's state.
struct Simulation {
  Limit limit;
  Schedule schedule;
  Cost cost = 1;                   ///< of each call
  std::optional<Span> patience{};  ///< of each call; absent: the limit's own
};

/// Calls observe(Instant now, const Decision&) for each call in turn. The same simulation always
/// decides the same, so whoever needs to see it twice runs it twice.
template <typename Observe>
void for_each_decision(const Simulation& simulation, Observe&& observe) {
  const Limit::Machine::Config& config = simulation.limit.config();
  Limit::State state = simulation.limit.first_state(Instant{});
  for (const Calls& calls : simulation.schedule) {
    Request request{calls.first_at, simulation.cost, simulation.patience};
    for (std::int64_t call = 0; call < calls.count; ++call, request.now += calls.every) {
      observe(request.now, step<Limit::Machine>(config, state, request));
    }
  }
}

/// The most that acted within any half-open window of one length, for acts in order of time.
class WindowMeter {
 public:
  explicit WindowMeter(Span length) : length_(length) {}

  void add(Instant at, Cost cost);

  Span length() const noexcept { return length_; }
  Cost most() const noexcept { return most_; }

 private:
  struct Act {
    Instant at;
    Cost cost;
  };

  Span length_;
  std::deque<Act> inside_;  ///< acts of one instant are one entry
  Cost sum_ = 0;
  Cost most_ = 0;
};

/// What became of all the calls, beside what the limit promises.
class Tally {
 public:
  explicit Tally(const Simulation& simulation);

  void add(const Decision& decision);

  struct Window {
    Span length;
    Cost most;   ///< units that acted within one such window
    Cost bound;  ///< units that may
  };

  std::int64_t calls() const noexcept;
  std::int64_t count(Verdict verdict) const noexcept {
    return counts_[static_cast<std::size_t>(verdict)];
  }
  /// For each length that is a period of the limit, the shortest first.
  std::vector<Window> windows() const;

 private:
  const Simulation& simulation_;
  std::array<std::int64_t, 4> counts_{};
  std::vector<WindowMeter> meters_;
};

/// The periods of a limit's terms, each once, the shortest first.
std::vector<Span> periods_of(const Limit& limit);

}  // namespace weir::cli
