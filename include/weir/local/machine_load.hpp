// How loaded this machine and this process are, as Linux tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/overload/load_shedder.hpp"
#include "weir/steady_instant.hpp"

namespace weir {

// What the files say. A text that is cut off in what is sought is none, never a smaller number.

/// /proc/loadavg
struct LoadAverage {
  std::int64_t last_minute;  ///< per mille of a task
  std::int64_t running;      ///< tasks that run or are ready to
  bool operator==(const LoadAverage&) const = default;
};
std::optional<LoadAverage> parse_load_average(std::string_view text) noexcept;

/// The first line of /proc/stat: what all processors did, in ticks.
struct MachineTimes {
  std::uint64_t all;
  std::uint64_t idle;  ///< or waiting for a disk
  bool operator==(const MachineTimes&) const = default;
};
std::optional<MachineTimes> parse_machine_times(std::string_view text) noexcept;

/// Of /proc/stat, how many processors it lists.
std::int64_t count_processors(std::string_view text) noexcept;

/// /proc/self/stat: in user and system mode, in the ticks of /proc/stat.
std::optional<std::uint64_t> parse_process_time(std::string_view text) noexcept;

/// A pressure file (PSI): "some" of the last ten seconds, per mille.
std::optional<std::int32_t> parse_pressure(std::string_view text) noexcept;

/// cpu.max of a control group: per mille of a processor; none where there is no limit.
std::optional<std::int64_t> parse_cpu_limit(std::string_view text) noexcept;

/// /proc/self/cgroup: the path of the process's group in the one hierarchy of version 2.
std::optional<std::string_view> parse_group(std::string_view text) noexcept;

/// Reads the load. What the system does not say stays unknown, and nothing fails.
///
/// In a control group (version 2), pressure and what the process may use are its group's; limits of
/// groups around it are not looked for. Load average, run queue and machine_cpu are the whole
/// machine's, in a container too.
///
/// Threads  one at a time
/// Cost     some 80 us: five small files. The kernel writes all of /proc/stat each time, more on
///          machines of many processors
/// Errors   the constructor throws bad_alloc
class MachineLoad {
 public:
  struct Settings {
    std::string proc = "/proc";
    std::string groups = "/sys/fs/cgroup";
  };

  MachineLoad() : MachineLoad(Settings{}) {}
  explicit MachineLoad(const Settings& settings);

  /// Shares of CPU time are those since the reading before, the first since the constructor.
  LoadReadings read() noexcept;

 private:
  std::string load_average_;
  std::string machine_times_;
  std::string process_time_;
  std::string pressure_;
  std::string cpu_limit_;
  std::int64_t processors_ = 1;
  std::optional<MachineTimes> machine_before_;
  std::optional<std::uint64_t> process_before_;
  std::int32_t machine_cpu_ = LoadReadings::unknown;  ///< of the reading before
  std::int32_t process_cpu_ = LoadReadings::unknown;
};

}  // namespace weir
