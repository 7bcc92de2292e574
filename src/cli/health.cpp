#include "cli/health.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>

namespace weir::cli {
namespace {

using std::filesystem::path;

/// What a key costs in the table with its name and a token bucket's state, rounded up.
constexpr std::uint64_t bytes_a_key = 128;
/// Descriptors beside the clients': loops, listeners, files.
constexpr std::uint64_t own_descriptors = 32;
/// How many connections the server asks the kernel to keep until it accepts them.
constexpr std::uint64_t backlog = 1024;

/// Empty where there is no such file; no file of these folders is longer.
std::string read(const path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(65'536, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{} || stop == text.data()) return {};
  return number;
}

std::string in_bytes(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 10'240 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + " " + units[unit];
}

// ---- Addresses ----

struct Listener {
  std::string subject;
  std::string address;
  const std::function<Answerer(const std::string&)>& ask;
};

Finding address_finding(const Machine& machine, const Listener& listener) {
  const std::string option = "--" + listener.subject;
  const Binding binding = machine.bind(listener.address);
  switch (binding.outcome) {
    case Binding::Outcome::free:
      return {Health::ok, listener.subject, listener.address + " is free"};
    case Binding::Outcome::impossible:
      return {Health::fail, listener.subject, binding.reason,
              "choose an address of this machine with " + option + " HOST:PORT"};
    case Binding::Outcome::in_use: break;
  }
  const Answerer answerer = listener.ask(listener.address);
  switch (answerer.kind) {
    case Answerer::Kind::weir:
      return {Health::ok, listener.subject,
              "weir" + (answerer.tells.empty() ? "" : " " + answerer.tells) + " answers at " +
                  listener.address};
    case Answerer::Kind::other:
      return {Health::fail, listener.subject,
              listener.address + " is taken by another program" +
                  (answerer.tells.empty() ? "" : ": " + answerer.tells),
              "stop it, or choose another port with " + option};
    case Answerer::Kind::nobody: break;
  }
  return {Health::fail, listener.subject,
          listener.address + " is in use, and nothing answers there",
          "see who it is: ss -ltnp; or choose another port with " + option};
}

// ---- Descriptors and queues of the kernel ----

Finding descriptor_finding(const Machine& machine, const Plan& plan) {
  const std::uint64_t needed = plan.max_connections + 4 * plan.threads + own_descriptors;
  if (machine.descriptors >= needed) {
    return {Health::ok, "descriptors",
            std::to_string(plan.max_connections) + " clients fit into the limit"};
  }
  return {machine.descriptors < 256 ? Health::fail : Health::warn, "descriptors",
          std::to_string(machine.descriptors) + " allowed, --max-connections " +
              std::to_string(plan.max_connections) + " needs " + std::to_string(needed),
          "ulimit -n " + std::to_string(needed) +
              " (systemd: LimitNOFILE=), or fewer --max-connections"};
}

struct Queue {
  const char* subject;
  const char* file;     ///< below proc/sys
  const char* setting;  ///< as sysctl names it
};

Finding queue_finding(const Machine& machine, const Queue& queue) {
  const auto length = number_in(read(machine.root / "proc/sys" / queue.file));
  if (!length) return {Health::ok, queue.subject, "not known here"};
  const std::string seen = std::to_string(*length) + " connections may wait";
  if (*length >= backlog) return {Health::ok, queue.subject, seen};
  return {Health::warn, queue.subject, seen + ", a burst of clients beyond is turned away or slow",
          "sysctl -w " + std::string(queue.setting) + "=" + std::to_string(backlog)};
}

// ---- Clocks ----

Finding clock_finding(const Machine& machine) {
  const std::string source =
      read(machine.root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
  constexpr std::array slow{"hpet", "acpi_pm", "jiffies", "refined-jiffies", "xen", "pit"};
  std::string seen = (source.empty() ? "unknown source" : source) + ", " +
                     std::to_string(machine.clock_nanoseconds) + " ns a reading";
  const bool known_slow = std::ranges::find(slow, source) != slow.end();
  if (!known_slow && machine.clock_nanoseconds <= 250) return {Health::ok, "clock", seen};
  return {Health::warn, "clock", seen + ", each batch of commands reads it",
          "see what else there is: cat /sys/devices/system/clocksource/clocksource0/"
          "available_clocksource; tsc is best, and kvm-clock in a guest"};
}

Finding synchronisation_finding(const Machine& machine) {
  if (!machine.clock_synchronised) return {Health::ok, "time", "the system does not tell"};
  if (*machine.clock_synchronised) return {Health::ok, "time", "the clock is synchronised"};
  return {Health::warn, "time",
          "the clock is not synchronised, so windows turn at another time than elsewhere",
          "run chrony or systemd-timesyncd"};
}

// ---- Memory and processors ----

/// The folders of this process's control group, its own first, for a controller of version 1 or for
/// version 2 ("").
std::vector<path> group_folders(const Machine& machine, std::string_view controller) {
  std::istringstream lines(read(machine.root / "proc/self/cgroup"));
  path group;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool ours = controller.empty() ? controllers == ",,"
                                         : controllers.find("," + std::string(controller) + ",") !=
                                               std::string::npos;
    if (ours) group = line.substr(second + 1);
  }
  const path mount = machine.root / "sys/fs/cgroup" / controller;
  std::vector<path> folders;
  for (path at = group.relative_path(); !at.empty(); at = at.parent_path()) {
    folders.push_back(mount / at);
  }
  folders.push_back(mount);  // in a container the group's own path is not seen
  return folders;
}

/// The least value of a file in these folders; "max" and what is no number sets no limit.
std::optional<std::uint64_t> least_in(const std::vector<path>& folders, const char* file) {
  std::optional<std::uint64_t> least;
  for (const path& folder : folders) {
    const auto value = number_in(read(folder / file));
    if (value) least = std::min(*value, least.value_or(*value));
  }
  return least;
}

/// A line "NAME:   N kB" of proc/meminfo, in bytes.
std::optional<std::uint64_t> memory_line(const Machine& machine, const std::string& name) {
  std::istringstream lines(read(machine.root / "proc/meminfo"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + ":")) continue;
    std::string_view rest = std::string_view(line).substr(name.size() + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const auto kibibytes = number_in(rest);
    if (kibibytes) return *kibibytes * 1024;
  }
  return {};
}

std::uint64_t table_bytes(const Plan& plan) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / bytes_a_key;
  return std::min<std::uint64_t>(plan.max_keys, most) * bytes_a_key;
}

Finding memory_finding(const Machine& machine, const Plan& plan) {
  std::optional<std::uint64_t> least = memory_line(machine, "MemAvailable");
  const char* which = "available";
  for (const auto& [controller, file] :
       {std::pair{"", "memory.max"}, std::pair{"memory", "memory.limit_in_bytes"}}) {
    const auto limit = least_in(group_folders(machine, controller), file);
    if (limit && (!least || *limit < *least)) {
      least = limit;
      which = "allowed by the control group";
    }
  }
  const std::uint64_t needed = table_bytes(plan);
  std::string seen =
      "--max-keys " + std::to_string(plan.max_keys) + " needs about " + in_bytes(needed);
  if (!least) return {Health::ok, "memory", seen + "; what there is, is not known here"};
  seen += ", " + in_bytes(*least) + " " + which;
  if (needed / 4 * 5 <= *least) return {Health::ok, "memory", seen};
  const std::uint64_t fits = std::max<std::uint64_t>(*least / 5 * 4 / bytes_a_key, 1);
  return {needed > *least ? Health::fail : Health::warn, "memory", seen,
          "--max-keys " + std::to_string(fits) + ", or more memory"};
}

/// Strict accounting refuses memory while some is free; the others promise what they may not have,
/// which the finding on memory covers.
Finding overcommit_finding(const Machine& machine, const Plan& plan) {
  const auto mode = number_in(read(machine.root / "proc/sys/vm/overcommit_memory"));
  if (!mode) return {Health::ok, "overcommit", "not known here"};
  if (*mode != 2) return {Health::ok, "overcommit", "mode " + std::to_string(*mode)};
  const auto limit = memory_line(machine, "CommitLimit");
  const auto used = memory_line(machine, "Committed_AS");
  const std::uint64_t left = limit && used && *limit > *used ? *limit - *used : 0;
  const std::string seen = "strict (mode 2), " + in_bytes(left) + " left to promise";
  if (left >= table_bytes(plan)) return {Health::ok, "overcommit", seen};
  return {Health::warn, "overcommit", seen + ", --max-keys needs " + in_bytes(table_bytes(plan)),
          "sysctl -w vm.overcommit_memory=0, or a larger vm.overcommit_ratio"};
}

/// Processors' time that the control group may take, in hundredths.
std::optional<std::uint64_t> quota_of(const Machine& machine) {
  std::optional<std::uint64_t> least;
  const auto consider = [&](std::optional<std::uint64_t> quota,
                            std::optional<std::uint64_t> period) {
    if (!quota || !period || *period == 0 || *quota > (std::uint64_t{1} << 50)) return;
    const std::uint64_t share = *quota * 100 / *period;
    least = std::min(share, least.value_or(share));
  };
  for (const path& folder : group_folders(machine, "")) {
    const std::string line = read(folder / "cpu.max");  // "50000 100000", or "max 100000"
    const std::size_t blank = std::min(line.find(' '), line.size());
    consider(number_in(line),
             number_in(std::string_view(line).substr(std::min(blank + 1, line.size()))));
  }
  for (const path& folder : group_folders(machine, "cpu")) {
    consider(number_in(read(folder / "cpu.cfs_quota_us")),
             number_in(read(folder / "cpu.cfs_period_us")));
  }
  return least;
}

std::string in_hundredths(std::uint64_t value) {
  const std::string rest = std::to_string(value % 100);
  return std::to_string(value / 100) +
         (value % 100 == 0   ? ""
          : rest.size() == 1 ? ".0"
                             : ".") +
         (value % 100 == 0 ? "" : rest);
}

Finding processor_finding(const Machine& machine, const Plan& plan) {
  const std::string threads = "--threads " + std::to_string(plan.threads);
  const auto quota = quota_of(machine);
  if (quota && *quota < 100 * plan.threads) {
    return {Health::warn, "processors",
            threads + " under a quota of " + in_hundredths(*quota) +
                " processors: once it is spent all of them stand still",
            "--threads " + std::to_string(std::max<std::uint64_t>(*quota / 100, 1)) +
                ", or a larger quota"};
  }
  const std::string seen = threads + " on " + std::to_string(machine.processors) +
                           (machine.processors == 1 ? " processor" : " processors");
  if (plan.threads <= machine.processors) return {Health::ok, "processors", seen};
  return {Health::warn, "processors", seen + ": more threads than run at once only wait",
          "--threads " + std::to_string(machine.processors)};
}

}  // namespace

std::vector<Finding> examine(const Machine& machine, const Plan& plan) {
  // Transparent huge pages are left out: nothing here forks, and no measurement showed a harm.
  std::vector<Finding> findings{
      address_finding(machine, {"resp", plan.resp, machine.ask_resp}),
  };
  if (plan.metrics != "off") {
    findings.push_back(address_finding(machine, {"metrics", plan.metrics, machine.ask_metrics}));
  }
  findings.push_back(descriptor_finding(machine, plan));
  findings.push_back(
      queue_finding(machine, {"accept queue", "net/core/somaxconn", "net.core.somaxconn"}));
  findings.push_back(queue_finding(machine, {"handshake queue", "net/ipv4/tcp_max_syn_backlog",
                                             "net.ipv4.tcp_max_syn_backlog"}));
  findings.push_back(clock_finding(machine));
  findings.push_back(synchronisation_finding(machine));
  findings.push_back(memory_finding(machine, plan));
  findings.push_back(overcommit_finding(machine, plan));
  findings.push_back(processor_finding(machine, plan));
  return findings;
}

Health worst(const std::vector<Finding>& findings) {
  Health health = Health::ok;
  for (const Finding& finding : findings) health = std::max(health, finding.health);
  return health;
}

}  // namespace weir::cli
