// The circuit breaker: who fails too often, or answers too late, is left alone for a while.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "weir/overload/call.hpp"
#include "weir/overload/outcome_window.hpp"
#include "weir/vocabulary.hpp"

namespace weir {

/// How a breaker stands.
enum class Circuit : std::uint8_t {
  closed,     ///< calls go through, and their ends are counted
  open,       ///< none goes through
  half_open,  ///< a few go through, as probes, and decide what follows
};

constexpr const char* name(Circuit circuit) noexcept {
  constexpr const char* names[] = {"closed", "open", "half_open"};
  return names[static_cast<std::uint8_t>(circuit)];
}

/// A circuit breaker. Closed, it counts how calls end, and opens where a threshold is reached.
/// Open, it refuses for `open_for`. Then it is half-open and lets a few calls through as probes: so
/// many that succeed close it, and one that fails opens it again.
///
/// A threshold is reached by being met (5 of 10 meet a ratio of 0.5), as each end is counted. Late
/// ends say nothing: of calls that were let in before the circuit last turned, of probes that took
/// probe_for or longer and so have lost their place. A probe that is withdrawn or ignored gives its
/// place back, and if it was all that the half-open circuit had, the circuit is as open as before:
/// the next that asks is the probe.
///
/// Bound    open: nothing for open_for; half-open: `probes` at once, not counting those that have
///          lost their place: older than probe_for, or let in before another probe turned it
/// Memory   2.8 kB, no heap
/// Cost     a closed circuit's enter is a compare; an end is a few additions
/// Requires instants within 146 years of the clock's epoch. One that is older than the newest seen
///          is taken for that one
/// Source   the pattern is Nygard's (Release It!); ratios of a window as in Hystrix, resilience4j
///          and Sentinel; tickets against late ends as in gobreaker's generations
struct Breaker {
  static constexpr std::int64_t most_probes = 64;
  static constexpr std::int64_t most_count =
      1'000'000;  ///< of minimum_calls, error_count, successes
  static constexpr std::chrono::nanoseconds longest_window = std::chrono::hours{24};
  static constexpr std::chrono::nanoseconds longest_span = std::chrono::hours{24 * 365};

  /// At least one threshold is set.
  struct Settings {
    double error_ratio = 0;        ///< of calls that fail or are dropped; 0 to 1, 0 is none
    double slow_ratio = 0;         ///< of calls that take longer than slow_after; 0 to 1, 0 is none
    std::int64_t error_count = 0;  ///< calls that fail or are dropped; 0 is none
    std::chrono::nanoseconds slow_after{};
    std::int64_t minimum_calls = 10;  ///< in the window, before any threshold is looked at
    std::chrono::nanoseconds window_for = std::chrono::seconds{10};
    std::int64_t window_parts = 10;  ///< that window_for is cut in: so the window moves; 1 to 60
    std::int64_t window_calls = 0;   ///< above 0: the last so many calls, not those of window_for
    std::chrono::nanoseconds open_for = std::chrono::seconds{5};
    /// Each time that probes fail, the circuit stays open twice as long, up to this. 0: open_for.
    std::chrono::nanoseconds longest_open_for{};
    std::int64_t probes = 1;                                       ///< at once, half-open; 1 to 64
    std::int64_t successes = 1;                                    ///< of probes, that close
    std::chrono::nanoseconds probe_for = std::chrono::minutes{1};  ///< longer than any call takes
  };

  struct Config {
    std::int64_t error_per_million = 0;
    std::int64_t slow_per_million = 0;
    std::int64_t error_count = 0;
    std::chrono::nanoseconds slow_after{};
    std::int64_t minimum_calls = 1;
    std::int64_t window_calls = 0;  ///< 0: by time
    TimeWindow::Shape window;
    std::chrono::nanoseconds open_for{};
    std::chrono::nanoseconds longest_open_for{};
    std::int64_t probes = 1;
    std::int64_t successes = 1;
    std::chrono::nanoseconds probe_for{};
    bool operator==(const Config&) const = default;
  };

  /// Names a call that was let in, and never another one of this breaker; calls of one closed time
  /// share theirs. 0 names none.
  using Ticket = std::uint64_t;

  /// By whom the circuit is held as it is.
  enum class Hold : std::uint8_t { none, open, closed };

  struct Probe {
    Ticket ticket = 0;  ///< 0: the place is free
    SteadyInstant ends_at{};
  };

  struct State {
    Circuit circuit = Circuit::closed;
    Hold hold = Hold::none;
    Ticket closed_ticket = 1;  ///< of calls let in now; 0 where the circuit is not closed
    Ticket last_ticket = 1;
    SteadyInstant seen_at = SteadyInstant::min();  ///< the newest instant
    SteadyInstant since{};                         ///< the circuit is as it is
    SteadyInstant ready_at{};                      ///< open: a probe may go from then on
    std::chrono::nanoseconds open_for{};           ///< how long it was opened for
    std::int64_t succeeded = 0;                    ///< probes of this half-open time
    std::array<Probe, most_probes> probing{};
    CallCountWindow last_calls;
    TimeWindow last_parts;
  };

  /// Let in where there is a ticket. Where not: when to ask again; now where nobody can tell.
  struct Answer {
    Ticket ticket = 0;
    SteadyInstant ready_at{};
  };

  /// How it all stands.
  struct Standing {
    Circuit circuit = Circuit::closed;
    Hold hold = Hold::none;
    SteadyInstant since{};        ///< the circuit is as it is
    SteadyInstant ready_at{};     ///< open: a probe may go from then on
    OutcomeCounts counts;         ///< of the window; empty unless closed
    std::int64_t probing = 0;     ///< probes in flight
    std::int64_t successful = 0;  ///< probes of this half-open time that succeeded
    bool operator==(const Standing&) const = default;
  };

  static constexpr Expected<Config, SettingsError> configure(const Settings& wanted) noexcept {
    if (const char* setting = unlike_ratio(wanted)) {
      return SettingsError{setting, "0 for none, or from 0.000001 to 1"};
    }
    if (wanted.error_count < 0 || wanted.error_count > most_count) {
      return SettingsError{"error_count", "0 for none, or from 1 to 1000000"};
    }
    if (wanted.error_ratio <= 0 && wanted.slow_ratio <= 0 && wanted.error_count == 0) {
      return SettingsError{"error_ratio", "that, slow_ratio or error_count above 0"};
    }
    if (wanted.slow_ratio > 0 && !is_span(wanted.slow_after)) {
      return SettingsError{"slow_after", "from 1 ns to 365 days, where there is a slow_ratio"};
    }
    if (const char* setting = unlike_window(wanted)) {
      return SettingsError{setting,
                           "window_calls from 1 to 1024; or 0, window_for from 1 us to a day "
                           "and window_parts from 1 to 60"};
    }
    const std::int64_t most = wanted.window_calls > 0 ? wanted.window_calls : most_count;
    if (wanted.minimum_calls < 1 || wanted.minimum_calls > most) {
      return SettingsError{"minimum_calls", "from 1 to window_calls, or to 1000000"};
    }
    if (wanted.error_count > most) {
      return SettingsError{"error_count", "at most window_calls"};
    }
    return configure_probes(wanted);
  }

  /// Asks to be let in.
  static Answer enter(const Config& config, State& state, SteadyInstant now) noexcept {
    now = see(state, now);
    if (state.circuit == Circuit::closed) return {state.closed_ticket, now};
    if (state.hold == Hold::open) return {0, now};
    if (state.circuit == Circuit::open) {
      if (now < state.ready_at) return {0, state.ready_at};
      turn(state, Circuit::half_open, now);
    }
    const auto end = state.probing.begin() + config.probes;
    const auto place = std::find_if(state.probing.begin(), end, [now](const Probe& probe) {
      return !is_in_flight(probe, now);
    });
    if (place == end) return {0, now};
    *place = {++state.last_ticket, now + config.probe_for};
    return {place->ticket, now};
  }

  /// The call with that ticket has ended. Each ticket of a probe counts once.
  static void observe(const Config& config, State& state, Ticket ticket,
                      const CallSample& sample) noexcept {
    if (sample.end == CallEnd::ignored) return withdraw(config, state, ticket, sample.ended_at);
    const SteadyInstant now = see(state, sample.ended_at);
    const CallMark mark{sample.end != CallEnd::success,
                        config.slow_per_million > 0 && sample.latency > config.slow_after};
    if (state.circuit == Circuit::closed) {
      if (ticket != state.closed_ticket || state.hold == Hold::closed) return;
      if (trips(config, record(config, state, mark, now))) {
        state.open_for = config.open_for;
        shut(state, now);
      }
      return;
    }
    if (!give_back(state, ticket, now)) return;
    if (is_bad(config, mark)) {
      state.open_for = std::min(state.open_for * 2, config.longest_open_for);
      shut(state, now);
    } else if (++state.succeeded >= config.successes) {
      turn(state, Circuit::closed, now);
    }
  }

  /// The call with that ticket never ran, or tells nothing.
  static void withdraw(const Config& config, State& state, Ticket ticket,
                       SteadyInstant now) noexcept {
    now = see(state, now);
    if (state.circuit != Circuit::half_open || !give_back(state, ticket, now)) return;
    // With nothing learned and nothing under way, as if no probe had been let in. It can be let in
    // again at once, for ready_at has passed.
    if (state.succeeded == 0 && in_flight(config, state, now) == 0) {
      turn(state, Circuit::open, now);
    }
  }

  /// Holds it open, until close() or reset().
  static void open(State& state, SteadyInstant now) noexcept { hold(state, Hold::open, now); }

  /// Holds it closed, until open() or reset(): all go through, and none is counted.
  static void close(State& state, SteadyInstant now) noexcept { hold(state, Hold::closed, now); }

  /// Closed, held by nobody, and nothing counted yet.
  static void reset(State& state, SteadyInstant now) noexcept { hold(state, Hold::none, now); }

  static Standing standing(const Config& config, const State& state, SteadyInstant now) noexcept {
    now = std::max(now, state.seen_at);
    return {state.circuit,
            state.hold,
            state.since,
            state.ready_at,
            config.window_calls > 0 ? state.last_calls.counts()
                                    : state.last_parts.counts(config.window, now),
            in_flight(config, state, now),
            state.succeeded};
  }

 private:
  static constexpr std::int64_t million = 1'000'000;

  static constexpr bool is_ratio(double ratio) noexcept {
    return ratio == 0 || (ratio >= 1e-6 && ratio <= 1);
  }
  static constexpr const char* unlike_ratio(const Settings& wanted) noexcept {
    if (!is_ratio(wanted.error_ratio)) return "error_ratio";
    return is_ratio(wanted.slow_ratio) ? nullptr : "slow_ratio";
  }
  /// Down, so that 2 of 3 meet 2.0 / 3.
  static constexpr std::int64_t per_million(double ratio) noexcept {
    return std::max<std::int64_t>(ratio > 0 ? 1 : 0, static_cast<std::int64_t>(ratio * million));
  }

  static constexpr bool is_span(std::chrono::nanoseconds span) noexcept {
    return span > std::chrono::nanoseconds{0} && span <= longest_span;
  }

  static constexpr const char* unlike_window(const Settings& wanted) noexcept {
    if (wanted.window_calls < 0 || wanted.window_calls > CallCountWindow::most_calls) {
      return "window_calls";
    }
    if (wanted.window_calls > 0) return nullptr;
    if (wanted.window_for < std::chrono::microseconds{1} || wanted.window_for > longest_window) {
      return "window_for";
    }
    const bool fits = wanted.window_parts >= 1 && wanted.window_parts <= TimeWindow::most_parts;
    return fits ? nullptr : "window_parts";
  }

  static constexpr Expected<Config, SettingsError> configure_probes(
      const Settings& wanted) noexcept {
    if (!is_span(wanted.open_for)) return SettingsError{"open_for", "from 1 ns to 365 days"};
    const bool grows = wanted.longest_open_for != std::chrono::nanoseconds{0};
    if (grows && (wanted.longest_open_for < wanted.open_for || !is_span(wanted.longest_open_for))) {
      return SettingsError{"longest_open_for", "0, or from open_for to 365 days"};
    }
    if (wanted.probes < 1 || wanted.probes > most_probes) {
      return SettingsError{"probes", "from 1 to 64"};
    }
    if (wanted.successes < 1 || wanted.successes > most_count) {
      return SettingsError{"successes", "from 1 to 1000000"};
    }
    if (!is_span(wanted.probe_for)) return SettingsError{"probe_for", "from 1 ns to 365 days"};
    const std::int64_t parts =
        std::clamp<std::int64_t>(wanted.window_parts, 1, TimeWindow::most_parts);
    return Config{per_million(wanted.error_ratio),
                  per_million(wanted.slow_ratio),
                  wanted.error_count,
                  wanted.slow_after,
                  wanted.minimum_calls,
                  wanted.window_calls,
                  wanted.window_calls > 0 ? TimeWindow::Shape{}
                                          : TimeWindow::Shape{wanted.window_for / parts,
                                                              static_cast<std::size_t>(parts)},
                  wanted.open_for,
                  grows ? wanted.longest_open_for : wanted.open_for,
                  wanted.probes,
                  wanted.successes,
                  wanted.probe_for};
  }

  static constexpr SteadyInstant see(State& state, SteadyInstant now) noexcept {
    state.seen_at = std::max(state.seen_at, now);
    return state.seen_at;
  }

  static const OutcomeCounts& record(const Config& config, State& state, CallMark mark,
                                     SteadyInstant now) noexcept {
    if (config.window_calls > 0) {
      state.last_calls.record(mark, config.window_calls);
      return state.last_calls.counts();
    }
    state.last_parts.record(config.window, mark, now);
    return state.last_parts.counts();
  }

  static constexpr bool trips(const Config& config, const OutcomeCounts& counts) noexcept {
    // No product overflows: that would take 9e12 calls, which no day has.
    const auto reaches = [&counts](std::int64_t part, std::int64_t threshold) {
      return threshold > 0 && part * million >= threshold * counts.calls;
    };
    return counts.calls >= config.minimum_calls &&
           (reaches(counts.failures, config.error_per_million) ||
            reaches(counts.slow, config.slow_per_million) ||
            (config.error_count > 0 && counts.failures >= config.error_count));
  }

  /// A probe is judged by what would open the circuit, and by nothing else.
  static constexpr bool is_bad(const Config& config, CallMark mark) noexcept {
    const bool errors_count = config.error_per_million > 0 || config.error_count > 0;
    return mark.slow || (errors_count && mark.failed);
  }

  static constexpr bool is_in_flight(const Probe& probe, SteadyInstant now) noexcept {
    return probe.ticket != 0 && now < probe.ends_at;
  }
  static std::int64_t in_flight(const Config& config, const State& state,
                                SteadyInstant now) noexcept {
    return std::count_if(state.probing.begin(), state.probing.begin() + config.probes,
                         [now](const Probe& probe) { return is_in_flight(probe, now); });
  }

  /// Frees the place of a probe; false where it has none any more.
  static bool give_back(State& state, Ticket ticket, SteadyInstant now) noexcept {
    const auto place = std::ranges::find(state.probing, ticket, &Probe::ticket);
    if (place == state.probing.end() || !is_in_flight(*place, now)) return false;
    *place = {};
    return true;
  }

  static void shut(State& state, SteadyInstant now) noexcept {
    turn(state, Circuit::open, now);
    state.ready_at = now + state.open_for;
  }

  /// Every turn begins with no probe and an empty window, and a closed time has a ticket of its
  /// own: so whatever was under way says nothing any more.
  static void turn(State& state, Circuit to, SteadyInstant now) noexcept {
    state.circuit = to;
    state.since = now;
    state.closed_ticket = to == Circuit::closed ? ++state.last_ticket : 0;
    state.succeeded = 0;
    state.probing = {};
    state.last_calls = {};
    state.last_parts = {};
  }

  static void hold(State& state, Hold hold, SteadyInstant now) noexcept {
    now = see(state, now);
    state.hold = hold;
    turn(state, hold == Hold::open ? Circuit::open : Circuit::closed, now);
    state.ready_at = now;
  }
};

}  // namespace weir
