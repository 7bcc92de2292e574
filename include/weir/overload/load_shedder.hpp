// Sheds what a loaded machine cannot do.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "weir/overload/call.hpp"
#include "weir/overload/elapsed.hpp"
#include "weir/overload/recent_parts.hpp"
#include "weir/vocabulary.hpp"

namespace weir {

/// What a machine and a process show of their load.
enum class LoadGauge : std::uint8_t {
  load_per_core,       ///< the load average of the last minute
  machine_cpu,         ///< of the time of all processors, what is used
  process_cpu,         ///< of the time that this process may use, what it does use
  cpu_pressure,        ///< of ten seconds, while something waited for a processor (PSI)
  run_queue_per_core,  ///< what runs or is ready to, right now
};
inline constexpr std::size_t load_gauges = 5;

constexpr const char* name(LoadGauge gauge) noexcept {
  constexpr const char* names[] = {"load_per_core", "machine_cpu", "process_cpu", "cpu_pressure",
                                   "run_queue_per_core"};
  return names[static_cast<std::uint8_t>(gauge)];
}

/// Readings of the gauges, per mille: 1000 is a task for each core, or all of the time.
struct LoadReadings {
  static constexpr std::int32_t unknown = -1;

  std::int32_t load_per_core = unknown;
  std::int32_t machine_cpu = unknown;
  std::int32_t process_cpu = unknown;
  std::int32_t cpu_pressure = unknown;
  std::int32_t run_queue_per_core = unknown;

  constexpr std::array<std::int32_t, load_gauges> all() const noexcept {
    return {load_per_core, machine_cpu, process_cpu, cpu_pressure, run_queue_per_core};
  }
  bool operator==(const LoadReadings&) const = default;
};

/// Levels of the gauges, per mille.
struct LoadLevels {
  static constexpr std::int32_t never = std::numeric_limits<std::int32_t>::max();

  std::int32_t load_per_core = never;
  std::int32_t machine_cpu = never;
  std::int32_t process_cpu = never;
  std::int32_t cpu_pressure = never;
  std::int32_t run_queue_per_core = never;

  constexpr std::array<std::int32_t, load_gauges> all() const noexcept {
    return {load_per_core, machine_cpu, process_cpu, cpu_pressure, run_queue_per_core};
  }
};

/// While a reading is above its level, no more is let in than the service has shown it can do. What
/// it can have in flight is
///
///   capacity = most successes a second * least mean latency
///
/// of the last parts of time: what is in flight when it is busy and nobody waits. A call is refused
/// if more than one is in flight and more than the capacity and three times its square root. (So
/// much does it vary where calls come as they like. At the capacity itself, the next one would be
/// measured at what it let in of the last, and come down to one call at a time.)
///
/// Where calls that wait for each other fill the window, the least latency is theirs. So when the
/// part that showed the least is about to leave, and calls are being refused, half the capacity is
/// let in for one part, to see what latency is then.
///
/// The least mean is that of a part with an eighth of the most successes at least. Before the first
/// part with a success is over, or after a rest as long as the window, the capacity is not known
/// and all are let in; once calls were in flight for a whole window and none succeeded, it is 0.
///
/// Shedding of a priority begins when a reading comes above its share of the level, and ends when
/// all readings are at `until` of that or below. Readings of the CPU and the run queue jump; they
/// are smoothed.
///
/// Bound    while shedding with a known capacity c, a call that comes upon more in flight than
///          max(1, c + 3 * sqrt(c)) is refused
/// Memory   1.3 KB
/// Cost     constant; a look at all parts once in each part
/// Source   Sentinel's system rule, after N. Cardwell et al., "BBR: Congestion-Based Congestion
///          Control", 2016, and its look at the least latency
struct LoadShedder {
  static constexpr std::size_t most_parts = 64;
  static constexpr std::int32_t never = LoadLevels::never;

  struct Settings {
    LoadLevels above{};  ///< for calls of a share of 1000; one at least, 1 to 10^6
    /// Per mille of the levels from where calls of each priority are shed: 100 to 10 000 or never,
    /// and no more for what matters less.
    std::array<std::int32_t, priorities> share{never, 1'000, 900, 800};
    std::int32_t until = 900;  ///< per mille of its level that ends shedding; 1 to 1000
    std::chrono::nanoseconds smooth_over = std::chrono::seconds{1};  ///< 0 (not) to a minute
    std::chrono::nanoseconds sample_every = std::chrono::milliseconds{100};  ///< 1 ms to a minute
    std::chrono::nanoseconds window = std::chrono::seconds{10};  ///< 1 ms a part, to an hour
    std::size_t parts = 20;                                      ///< of the window; 2 to 64
  };

  struct Part {
    double successes = 0;  ///< their weights
    double latencies = 0;  ///< in seconds, each times its weight
  };
  using Parts = RecentParts<Part, most_parts>;

  struct Config {
    /// By priority and gauge.
    std::array<std::array<double, load_gauges>, priorities> begin_above{};
    double until = 1;
    std::chrono::nanoseconds smooth_over{};
    std::chrono::nanoseconds sample_every{};
    std::chrono::nanoseconds window{};
    Parts::Shape shape{};
  };

  struct Shedding {
    SteadyInstant since = SteadyInstant::max();  ///< max: not
    LoadGauge because{};                         ///< of those above their levels, the first
    bool operator==(const Shedding&) const = default;
  };

  struct State {
    std::array<double, load_gauges> readings{-1, -1, -1, -1, -1};  ///< smoothed; below 0: unknown
    SteadyInstant observed_at = SteadyInstant::min();
    std::array<Shedding, priorities> shedding{};
    std::int64_t in_flight = 0;  ///< weights
    SteadyInstant busy_since{};  ///< when in_flight last left 0
    Parts recent{};
    Part most{};               ///< of the complete parts, the one with the most successes
    double least_mean = 0;     ///< of the complete parts, in seconds; 0: none had a success
    bool refused = false;      ///< a call, in the current part
    bool looks_again = false;  ///< at the least latency, for the current part
  };

  enum class Room : std::uint8_t { unknown, known };
  /// What the service has shown it can have in flight, and how much is let in.
  struct Capacity {
    Room room = Room::unknown;
    double weight = 0;
    double most_let_in = 0;
  };

  static Expected<Config, SettingsError> configure(const Settings& wanted) noexcept;

  /// Whether it is time for readings.
  static bool wants_readings(const Config& config, const State& state, SteadyInstant now) noexcept {
    return state.observed_at == SteadyInstant::min() ||
           elapsed(state.observed_at, now) >= config.sample_every;
  }

  static void observe(const Config& config, State& state, const LoadReadings& readings,
                      SteadyInstant now) noexcept;

  static Capacity capacity(const Config& config, State& state, SteadyInstant now) noexcept;

  /// Whether the call must be refused. Nothing is counted.
  static bool refuses(const Config& config, State& state, const Entry& entry,
                      SteadyInstant now) noexcept {
    if (shedding(state, entry.priority).since == SteadyInstant::max()) return false;
    if (state.in_flight <= 1) return false;
    const Capacity able = capacity(config, state, now);
    if (able.room == Room::unknown) return false;
    if (static_cast<double>(state.in_flight) <= able.most_let_in) return false;
    state.refused = true;
    return true;
  }

  static const Shedding& shedding(const State& state, Priority priority) noexcept {
    return state.shedding[static_cast<std::size_t>(priority) % priorities];
  }

  /// A call was let in.
  static void enter(State& state, std::int64_t weight, SteadyInstant now) noexcept {
    if (state.in_flight == 0) state.busy_since = now;
    state.in_flight += counted(weight);
  }
  /// It never ran.
  static void withdraw(State& state, std::int64_t weight) noexcept {
    state.in_flight -= counted(weight);
  }
  static void end(const Config& config, State& state, std::int64_t weight,
                  const CallSample& sample) noexcept;

 private:
  /// As many of the heaviest may be in flight as there can be threads, and more.
  static constexpr std::int64_t counted(std::int64_t weight) noexcept {
    return std::clamp<std::int64_t>(weight, 1, std::int64_t{1} << 31);
  }
  static double seconds(std::chrono::nanoseconds span) noexcept {
    return std::chrono::duration<double>(span).count();
  }
  static void advance(const Config& config, State& state, SteadyInstant now) noexcept;
};

inline Expected<LoadShedder::Config, SettingsError> LoadShedder::configure(
    const Settings& wanted) noexcept {
  using namespace std::chrono_literals;
  const auto levels = wanted.above.all();
  if (std::ranges::all_of(levels, [](std::int32_t level) { return level == never; })) {
    return SettingsError{"above", "a level for one gauge at least"};
  }
  for (const std::int32_t level : levels) {
    if (level == never || (level >= 1 && level <= 1'000'000)) continue;
    return SettingsError{"above", "levels of 1 to 1000000 per mille, or never"};
  }
  for (std::size_t at = 0; at < priorities; ++at) {
    const std::int32_t share = wanted.share[at];
    if (share != never && (share < 100 || share > 10'000)) {
      return SettingsError{"share", "100 to 10000 per mille, or never"};
    }
    if (at > 0 && share > wanted.share[at - 1]) {
      return SettingsError{"share", "no more for what matters less"};
    }
  }
  if (wanted.until < 1 || wanted.until > 1'000) {
    return SettingsError{"until", "1 to 1000 per mille"};
  }
  if (wanted.smooth_over < 0ns || wanted.smooth_over > 1min) {
    return SettingsError{"smooth_over", "nothing to a minute"};
  }
  if (wanted.sample_every < 1ms || wanted.sample_every > 1min) {
    return SettingsError{"sample_every", "a millisecond to a minute"};
  }
  if (wanted.parts < 2 || wanted.parts > most_parts) return SettingsError{"parts", "2 to 64"};
  const auto parts = static_cast<std::int64_t>(wanted.parts);
  if (wanted.window > 1h || wanted.window / parts < 1ms) {
    return SettingsError{"window", "a millisecond for each part, and at most an hour"};
  }
  Config config{.until = wanted.until / 1'000.0,
                .smooth_over = wanted.smooth_over,
                .sample_every = wanted.sample_every,
                .window = wanted.window,
                .shape = {wanted.window / parts, wanted.parts}};
  for (std::size_t priority = 0; priority < priorities; ++priority) {
    for (std::size_t gauge = 0; gauge < load_gauges; ++gauge) {
      const bool judged = levels[gauge] != never && wanted.share[priority] != never;
      config.begin_above[priority][gauge] = judged
                                                ? levels[gauge] * (wanted.share[priority] / 1'000.0)
                                                : std::numeric_limits<double>::infinity();
    }
  }
  return config;
}

inline void LoadShedder::observe(const Config& config, State& state, const LoadReadings& readings,
                                 SteadyInstant now) noexcept {
  const bool first = state.observed_at == SteadyInstant::min();
  if (!first && now < state.observed_at) now = state.observed_at;
  double weight = 1;  // of the new reading
  if (!first && config.smooth_over.count() > 0) {
    weight = -std::expm1(-seconds(elapsed(state.observed_at, now)) / seconds(config.smooth_over));
  }
  state.observed_at = now;
  const auto read = readings.all();
  for (std::size_t at = 0; at < load_gauges; ++at) {
    const auto gauge = static_cast<LoadGauge>(at);
    // The system has averaged these two itself.
    const bool jumps = gauge != LoadGauge::load_per_core && gauge != LoadGauge::cpu_pressure;
    double& reading = state.readings[at];
    const double fresh = read[at] < 0 ? -1.0 : read[at];
    const bool smooth = jumps && fresh >= 0 && reading >= 0;
    reading = smooth ? reading + weight * (fresh - reading) : fresh;
  }
  for (std::size_t priority = 0; priority < priorities; ++priority) {
    Shedding& shedding = state.shedding[priority];
    const bool sheds = shedding.since != SteadyInstant::max();
    const double share_of_level = sheds ? config.until : 1;
    const auto& begin_above = config.begin_above[priority];
    std::size_t above = 0;
    while (above < load_gauges && !(state.readings[above] > begin_above[above] * share_of_level)) {
      ++above;
    }
    if (above == load_gauges) {
      shedding = {};
    } else {
      shedding = {sheds ? shedding.since : now, static_cast<LoadGauge>(above)};
    }
  }
}

inline void LoadShedder::advance(const Config& config, State& state, SteadyInstant now) noexcept {
  if (state.recent.advance(config.shape, now, [](const Part&) {}) == 0) return;
  // The new current part is empty, so all that say something are complete.
  state.most = {};
  for (const Part& part : state.recent.all(config.shape)) {
    if (part.successes > state.most.successes) state.most = part;
  }
  state.least_mean = 0;
  double others = 0;
  const Part& oldest = state.recent.oldest(config.shape);
  for (const Part& part : state.recent.all(config.shape)) {
    if (part.successes <= 0 || part.successes * 8 < state.most.successes) continue;
    const double mean = part.latencies / part.successes;
    if (state.least_mean == 0 || mean < state.least_mean) state.least_mean = mean;
    if (&part != &oldest && (others == 0 || mean < others)) others = mean;
  }
  state.looks_again = state.refused && state.least_mean < others;
  state.refused = false;
}

inline LoadShedder::Capacity LoadShedder::capacity(const Config& config, State& state,
                                                   SteadyInstant now) noexcept {
  advance(config, state, now);
  const bool busy_for_a_window =
      state.in_flight > 0 && elapsed(state.busy_since, now) >= config.window;
  const bool seen = state.most.successes > 0;
  if (!seen && !busy_for_a_window) return {};
  const Part& current = state.recent.current();
  const double most = std::max(state.most.successes, current.successes);
  double least_mean = state.least_mean;
  if (current.successes > 0 && current.successes * 8 >= most) {
    const double mean = current.latencies / current.successes;
    least_mean = seen ? std::min(least_mean, mean) : mean;
  }
  constexpr double most_weight = 1e18;  // fits an integer
  const double able = std::min(most / seconds(config.shape.part) * least_mean, most_weight);
  return {Room::known, able, state.looks_again ? able / 2 : able + 3 * std::sqrt(able)};
}

inline void LoadShedder::end(const Config& config, State& state, std::int64_t weight,
                             const CallSample& sample) noexcept {
  state.in_flight -= counted(weight);
  if (sample.end != CallEnd::success) return;
  advance(config, state, sample.ended_at);
  Part& part = state.recent.current();
  const auto successes = static_cast<double>(counted(weight));
  const auto latency = std::max(sample.latency, std::chrono::nanoseconds{1});
  part.successes += successes;
  part.latencies += successes * seconds(latency);
}

}  // namespace weir
