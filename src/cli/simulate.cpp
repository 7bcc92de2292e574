#include <memory>
#include <ostream>

#include "cli/picture_file.hpp"
#include "cli/report.hpp"
#include "cli/svg_picture.hpp"
#include "cli/verbs.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view help =
    R"(What a limit does to a schedule of calls, under a virtual clock begun at 0.

Examples:
  weir simulate fixed-window 2/1s --every 250ms --count 4 --start 600ms
  weir simulate 'sliding-log 10/3s' --calls '15@0s 1@4s'
  weir simulate leaky-bucket 10/1s queue 9 --calls 10@0s --svg picture.svg

Usage: weir simulate LIMIT (--every DURATION --count N | --calls LIST) [OPTION]

  --every DURATION     a call each DURATION (us, ms, s, m, h, d), ...
  --count N            ... N of them
  --start DURATION     when the first one comes (0s)
  --calls LIST         the calls one by one: COUNT@DURATION, separated by blanks
  --cost N             what each call takes (1)
  --patience DURATION  how long each call would wait (the limit's own)
  --json               a JSON object a line: each call, then {"summary":...}
  --svg FILE           a picture to show around instead; "-": standard output

A line a call says what became of it; a summary and a picture follow. Windows
are aligned to the clock's 0. What a LIMIT is: weir --help.
Exit codes: 0 simulated; 2 bad usage or input.
)";

struct Options {
  std::vector<std::string> limit;
  std::string every;
  std::string count;
  std::string start;
  std::string calls;
  std::string cost;
  std::string patience;
  std::string svg;
  bool json = false;
};

Expected<Schedule, InputError> read_schedule(const Options& options) {
  const bool even = !options.every.empty() || !options.count.empty() || !options.start.empty();
  if (!options.calls.empty()) {
    if (even) {
      return InputError{"--calls says when all calls come; it excludes --every, --count, --start"};
    }
    return read_calls({.name = "--calls", .text = options.calls});
  }
  if (options.every.empty() || options.count.empty()) {
    return InputError{"say when the calls come: --every 250ms --count 20, or --calls '15@0s 1@4s'"};
  }
  const auto every = read_span({.name = "--every", .text = options.every});
  if (!every) return every.error();
  const auto count = read_count({.name = "--count", .text = options.count}, {.least = 1});
  if (!count) return count.error();
  Calls calls{.every = *every, .count = *count};
  if (!options.start.empty()) {
    const auto start = read_span({.name = "--start", .text = options.start});
    if (!start) return start.error();
    calls.first_at += *start;
  }
  return even_schedule(calls);
}

Expected<Simulation, InputError> read_simulation(const Options& options) {
  auto limit = read_limit(options.limit);
  if (!limit) return limit.error();
  auto schedule = read_schedule(options);
  if (!schedule) return schedule.error();
  Simulation simulation{std::move(limit).value(), std::move(schedule).value()};
  if (!options.cost.empty()) {
    const auto cost = read_count({.name = "--cost", .text = options.cost}, {.least = 0});
    if (!cost) return cost.error();
    simulation.cost = *cost;
  }
  if (!options.patience.empty()) {
    const auto patience = read_span({.name = "--patience", .text = options.patience});
    if (!patience) return patience.error();
    simulation.patience = *patience;
  }
  return simulation;
}

Expected<PictureEvents, InputError> read_picture(const Simulation& simulation) {
  std::int64_t count = 0;
  for (const Calls& calls : simulation.schedule) {
    if (calls.count > most_calls_drawn - count) {
      return InputError{"--svg draws up to " + std::to_string(most_calls_drawn) +
                        " calls; simulate fewer, or without --svg"};
    }
    count += calls.count;
  }
  return events_of(simulation);
}

ExitCode draw(const Simulation& simulation, const Options& options, const Console& console) {
  if (options.json) {
    report(console.err, {"--svg and --json are two outputs; choose one"});
    return ExitCode::bad_input;
  }
  const auto events = read_picture(simulation);
  if (!events) {
    report(console.err, events.error());
    return ExitCode::bad_input;
  }
  return write({.path = options.svg, .picture = svg_picture(*events)}, console);
}

ExitCode simulate(const Options& options, const Console& console) {
  if (options.limit.empty()) {
    report(console.err,
           {"simulate needs a limit, as in: weir simulate 2/1s --every 250ms --count 8"});
    return ExitCode::bad_input;
  }
  const auto simulation = read_simulation(options);
  if (!simulation) {
    report(console.err, simulation.error());
    return ExitCode::bad_input;
  }
  if (!options.svg.empty()) return draw(*simulation, options, console);
  if (options.json) {
    report_as_json(*simulation, console.out);
  } else {
    report_as_text(*simulation, console);
  }
  return ExitCode::ok;
}

}  // namespace

Verb add_simulate(CLI::App& weir) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = weir.add_subcommand("simulate", "what a limit does to a schedule of calls");
  command->add_option("limit", options->limit);
  command->add_option("--every", options->every);
  command->add_option("--count", options->count);
  command->add_option("--start", options->start);
  command->add_option("--calls", options->calls);
  command->add_option("--cost", options->cost);
  command->add_option("--patience", options->patience);
  command->add_option("--svg", options->svg)->type_name("FILE");
  command->add_flag("--json", options->json);
  return {command, help, "weir simulate 'sliding-window 2/1s' --every 300ms --count 20",
          [options](const Console& console) { return simulate(*options, console); }};
}

}  // namespace weir::cli
