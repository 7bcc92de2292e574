#include "test/history/simulated_store.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "test/history/wide.hpp"

namespace weir::history {
namespace {

struct Event {
  Record record;
  std::int64_t read_at_ns;     ///< when the store read its clock
  std::int64_t decided_at_ns;  ///< when the state was changed
};

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  std::int64_t up_to(std::int64_t most) {
    return static_cast<std::int64_t>(engine_() % (static_cast<std::uint64_t>(most) + 1));
  }

  /// Mostly short and sometimes nothing at all: exact instants are where a checker's own rounding
  /// would show.
  std::int64_t delay(std::int64_t most) {
    switch (up_to(3)) {
      case 0: return 0;
      case 1: return up_to(most);
      default: return up_to(most / 20);
    }
  }

  bool falls(std::int64_t parts_per_million) { return up_to(999'999) < parts_per_million; }

 private:
  std::mt19937_64 engine_;
};

std::vector<Event> calls_of_all_clients(const Simulation& simulation, Dice& dice) {
  std::vector<Event> events;
  for (std::uint32_t client = 0; client < simulation.clients; ++client) {
    std::int64_t now = dice.up_to(simulation.think_ns_max);
    for (std::int64_t i = 0; i < simulation.requests / simulation.clients; ++i) {
      Event event{};
      event.record.client = client;
      event.record.key =
          static_cast<std::uint64_t>(dice.up_to(static_cast<std::int64_t>(simulation.keys) - 1));
      event.record.cost = 1 + dice.up_to(simulation.cost_max - 1);
      event.record.called_at_ns = now;
      event.read_at_ns = now + dice.delay(simulation.way_ns_max);
      event.decided_at_ns = event.read_at_ns + dice.delay(simulation.reading_age_ns_max);
      event.record.returned_at_ns = event.decided_at_ns + dice.delay(simulation.way_ns_max);
      now = event.record.returned_at_ns + dice.delay(simulation.think_ns_max);
      events.push_back(event);
    }
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& one, const Event& other) {
    return one.decided_at_ns < other.decided_at_ns;
  });
  return events;
}

/// A request as the store sees it.
struct Asked {
  std::int64_t now_us;
  std::int64_t cost;
};

/// `has_room(state, asked)` decides; `take(state, asked)` changes the state.
template <typename State, typename HasRoom, typename Take>
History run(const Simulation& simulation, HasRoom has_room, Take take) {
  Dice dice(simulation.seed);
  std::unordered_map<std::uint64_t, State> states;
  History history;
  for (Event& event : calls_of_all_clients(simulation, dice)) {
    State& state = states[event.record.key];
    const Wide read_at_ns = Wide{event.read_at_ns} + simulation.store_epoch_ns;
    const Asked asked{.now_us = static_cast<std::int64_t>(floor_divide(read_at_ns, quantum_ns)),
                      .cost = event.record.cost};
    const bool room = has_room(state, asked);
    event.record.admitted = room ? !dice.falls(simulation.faults.wrong_denials_ppm)
                                 : dice.falls(simulation.faults.extra_admissions_ppm);
    if (room && event.record.admitted) take(state, asked);
    history.push_back(event.record);
  }
  return history;
}

}  // namespace

History simulate(const Simulation& simulation, const Bucket& limit) {
  // GCRA with time counted in 1 / count of a nanosecond, in which an interval is whole.
  const Wide capacity = Wide{limit.burst} * limit.period_ns;
  struct State {
    bool fresh = true;
    Wide repaid_at = 0;
  };
  const auto after = [&](const State& state, const Asked& asked) {
    const Wide now = Wide{asked.now_us} * quantum_ns * limit.count;
    const Wide start = state.fresh ? now : std::max(state.repaid_at, now);
    return std::pair(start + Wide{asked.cost} * limit.period_ns, now);
  };
  return run<State>(
      simulation,
      [&](const State& state, const Asked& asked) {
        const auto [end, now] = after(state, asked);
        return end - now <= capacity;
      },
      [&](State& state, const Asked& asked) {
        state = {.fresh = false, .repaid_at = after(state, asked).first};
      });
}

History simulate(const Simulation& simulation, const SlidingWindow& limit) {
  using Log = std::deque<Asked>;
  return run<Log>(
      simulation,
      [&](Log& log, const Asked& asked) {
        const std::int64_t left_at_us = asked.now_us - limit.length_ns / quantum_ns;
        while (!log.empty() && log.front().now_us <= left_at_us) log.pop_front();
        std::int64_t cost = asked.cost;
        for (const Asked& entry : log) cost += entry.cost;
        return cost <= limit.limit;
      },
      [](Log& log, const Asked& asked) { log.push_back(asked); });
}

History simulate(const Simulation& simulation, const AlignedWindow& limit) {
  using Counts = std::unordered_map<std::int64_t, std::int64_t>;
  const auto window_of = [&](const Asked& asked) {
    return static_cast<std::int64_t>(floor_divide(asked.now_us, limit.length_ns / quantum_ns));
  };
  return run<Counts>(
      simulation,
      [&](Counts& counts, const Asked& asked) {
        return counts[window_of(asked)] + asked.cost <= limit.limit;
      },
      [&](Counts& counts, const Asked& asked) { counts[window_of(asked)] += asked.cost; });
}

}  // namespace weir::history
