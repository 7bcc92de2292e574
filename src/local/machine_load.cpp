#include "weir/local/machine_load.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <span>

namespace weir {
namespace {

/// Far above what any machine says, and far from overflow.
constexpr std::uint64_t most_ticks = std::uint64_t{1} << 52;
constexpr std::int32_t most_per_mille = 1'000'000'000;

/// Eats a text from its begin.
class Eater {
 public:
  explicit Eater(std::string_view text) noexcept : left_(text) {}

  bool eat(std::string_view wanted) noexcept {
    if (!left_.starts_with(wanted)) return false;
    left_.remove_prefix(wanted.size());
    return true;
  }
  void skip_blanks() noexcept {
    left_.remove_prefix(std::min(left_.find_first_not_of(' '), left_.size()));
  }
  /// Up to a blank and over it.
  bool skip_word() noexcept {
    const std::size_t end = left_.find(' ');
    if (end == std::string_view::npos) return false;
    left_.remove_prefix(end + 1);
    return true;
  }
  /// A whole number, with something behind it: else it may go on.
  std::optional<std::uint64_t> number() noexcept {
    std::uint64_t value = 0;
    const char* const end = left_.data() + left_.size();
    const auto [after, error] = std::from_chars(left_.data(), end, value);
    if (error != std::errc{} || after == end || value > most_ticks) return {};
    left_.remove_prefix(static_cast<std::size_t>(after - left_.data()));
    return value;
  }
  /// "2.95" as 2950; what is finer is cut off.
  std::optional<std::int64_t> thousandths() noexcept {
    const auto whole = number();
    if (!whole || *whole > most_per_mille / 1'000 || !eat(".")) return {};
    std::int64_t value = static_cast<std::int64_t>(*whole);
    std::size_t digits = 0;
    for (; digits < left_.size() && left_[digits] >= '0' && left_[digits] <= '9'; ++digits) {
      if (digits < 3) value = value * 10 + (left_[digits] - '0');
    }
    if (digits == 0 || digits == left_.size()) return {};
    for (std::size_t missing = digits; missing < 3; ++missing) value *= 10;
    left_.remove_prefix(digits);
    return value;
  }

 private:
  std::string_view left_;
};

std::string_view behind(std::string_view text, std::string_view mark) noexcept {
  const std::size_t at = text.find(mark);
  return at == std::string_view::npos ? std::string_view{} : text.substr(at + mark.size());
}

struct Close {
  void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
};

/// The file's begin, as much as there is room for; empty where there is no such file.
std::string_view read_begin(const std::string& path, std::span<char> room) noexcept {
  if (path.empty()) return {};
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "re"));
  if (!file) return {};
  return {room.data(), std::fread(room.data(), 1, room.size(), file.get())};
}

std::int32_t per_mille(std::int64_t value) noexcept {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, 0, most_per_mille));
}

}  // namespace

std::optional<LoadAverage> parse_load_average(std::string_view text) noexcept {
  Eater eater(text);
  const auto last_minute = eater.thousandths();
  if (!last_minute || !eater.eat(" ") || !eater.skip_word() || !eater.skip_word()) return {};
  const auto running = eater.number();
  if (!running || *running > most_per_mille / 1'000 || !eater.eat("/")) return {};
  return LoadAverage{*last_minute, static_cast<std::int64_t>(*running)};
}

std::optional<MachineTimes> parse_machine_times(std::string_view text) noexcept {
  // user, nice, system, idle, waiting for a disk, interrupts, soft interrupts, stolen; what guests
  // used comes behind them, and is in user and nice already.
  constexpr std::size_t fields = 8;
  Eater eater(text);
  if (!eater.eat("cpu ")) return {};
  MachineTimes times{0, 0};
  for (std::size_t field = 0; field < fields; ++field) {
    eater.skip_blanks();
    const auto ticks = eater.number();
    if (!ticks) return {};
    times.all += *ticks;
    if (field == 3 || field == 4) times.idle += *ticks;
  }
  return times;
}

std::int64_t count_processors(std::string_view text) noexcept {
  std::int64_t count = 0;
  for (std::string_view left = text; !left.empty(); left = behind(left, "\n")) {
    const bool processor = left.size() > 3 && left.starts_with("cpu") && left[3] != ' ';
    if (processor) ++count;
  }
  return count;
}

std::optional<std::uint64_t> parse_process_time(std::string_view text) noexcept {
  // The second field is the program's name between parentheses, and may hold some, and blanks.
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string_view::npos) return {};
  Eater eater(text.substr(name_end + 2));
  constexpr int fields_between = 11;
  for (int field = 0; field < fields_between; ++field) {
    if (!eater.skip_word()) return {};
  }
  const auto user = eater.number();
  if (!user || !eater.eat(" ")) return {};
  const auto system = eater.number();
  if (!system) return {};
  return *user + *system;
}

std::optional<std::int32_t> parse_pressure(std::string_view text) noexcept {
  Eater eater(text);
  if (!eater.eat("some avg10=")) return {};
  const auto percent = eater.thousandths();
  if (!percent || *percent > 100'000) return {};
  return static_cast<std::int32_t>(*percent / 100);
}

std::optional<std::int64_t> parse_cpu_limit(std::string_view text) noexcept {
  Eater eater(text);
  const auto quota = eater.number();
  if (!quota || !eater.eat(" ")) return {};
  const auto period = eater.number();
  if (!period || *period == 0 || *quota > most_ticks / 1'000) return {};
  return std::max<std::int64_t>(static_cast<std::int64_t>(*quota * 1'000 / *period), 1);
}

std::optional<std::string_view> parse_group(std::string_view text) noexcept {
  constexpr std::string_view mark = "0::";
  for (std::string_view left = text; !left.empty(); left = behind(left, "\n")) {
    const std::size_t end = left.find('\n');
    if (!left.starts_with(mark) || end == std::string_view::npos) continue;
    const std::string_view path = left.substr(mark.size(), end - mark.size());
    // A group outside of what this process sees ("/../other") has no files here.
    if (path.starts_with('/') && path.find("/..") == std::string_view::npos) return path;
  }
  return {};
}

MachineLoad::MachineLoad(const Settings& settings)
    : load_average_(settings.proc + "/loadavg"),
      machine_times_(settings.proc + "/stat"),
      process_time_(settings.proc + "/self/stat"),
      pressure_(settings.proc + "/pressure/cpu") {
  constexpr std::size_t room = std::size_t{1} << 20;  // thousands of processors
  std::string text(room, '\0');
  processors_ = std::max<std::int64_t>(count_processors(read_begin(machine_times_, text)), 1);
  if (const auto group = parse_group(read_begin(settings.proc + "/self/cgroup", text))) {
    const std::string folder = settings.groups + std::string(*group);
    cpu_limit_ = folder + "/cpu.max";
    const std::string pressure = folder + "/cpu.pressure";
    if (parse_pressure(read_begin(pressure, text))) pressure_ = pressure;
  }
  static_cast<void>(read());
}

LoadReadings MachineLoad::read() noexcept {
  std::array<char, 4096> text;
  LoadReadings readings;
  if (const auto load = parse_load_average(read_begin(load_average_, text))) {
    readings.load_per_core = per_mille(load->last_minute / processors_);
    readings.run_queue_per_core = per_mille(load->running * 1'000 / processors_);
  }
  if (const auto pressure = parse_pressure(read_begin(pressure_, text))) {
    readings.cpu_pressure = *pressure;
  }

  const auto machine = parse_machine_times(read_begin(machine_times_, text));
  const auto process = parse_process_time(read_begin(process_time_, text));
  if (machine && machine_before_ && machine->all == machine_before_->all) {  // within one tick
    readings.machine_cpu = machine_cpu_;
    readings.process_cpu = process_cpu_;
    return readings;
  }
  if (machine && machine_before_ && machine->all > machine_before_->all) {
    const auto all = static_cast<std::int64_t>(machine->all - machine_before_->all);
    const auto idle =
        static_cast<std::int64_t>(machine->idle - std::min(machine->idle, machine_before_->idle));
    readings.machine_cpu = per_mille((all - idle) * 1'000 / all);
    if (process && process_before_ && *process >= *process_before_) {
      const auto used = static_cast<std::int64_t>(*process - *process_before_);
      const std::int64_t whole = processors_ * 1'000;
      const auto limit = parse_cpu_limit(read_begin(cpu_limit_, text)).value_or(whole);
      const double of_machine = static_cast<double>(used) / static_cast<double>(all);
      const double of_limit =
          of_machine * static_cast<double>(whole) / static_cast<double>(std::min(limit, whole));
      readings.process_cpu = per_mille(static_cast<std::int64_t>(std::min(of_limit, 1.0) * 1'000));
    }
  }
  machine_before_ = machine;
  process_before_ = process;
  machine_cpu_ = readings.machine_cpu;
  process_cpu_ = readings.process_cpu;
  return readings;
}

}  // namespace weir
