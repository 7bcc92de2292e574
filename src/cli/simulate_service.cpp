#include <memory>
#include <ostream>

#include "cli/picture_file.hpp"
#include "cli/service_comparison.hpp"
#include "cli/service_input.hpp"
#include "cli/service_picture.hpp"
#include "cli/service_report.hpp"
#include "cli/verbs.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view help =
    R"(What protection does for a service that is asked for more than it can do: calls
come by chance, wait in line and are served, under a virtual clock.

Examples:
  weir simulate-service
  weir simulate-service --protect none --protect 'fixed 40' --phases '60s@1.2'
  weir simulate-service --protect aimd --retries 2 --svg picture.svg

Usage: weir simulate-service [OPTION...]

  --protect NAME           what to compare (all of them); may be repeated
  --phases LIST            DURATION@LOAD[xSLOWDOWN], separated by blanks
                           (10s@0.7 20s@1.5 10s@1.5x5 20s@1.5 10s@0.7)
  --servers N              calls that are served at a time (20)
  --service-time DURATION  how long one takes on average (10ms)
  --spread PERCENT         how much of that is chance: 0 none, 100 all (50)
  --timeout DURATION       when callers leave and an answer is worthless (250ms)
  --retries N              how often they ask again, refused or having left (0)
  --retry-after DURATION   how long after (100ms)
  --seed N                 another run of chance (1)
  --json                   a JSON object a line: each second, then {"summary":...}
  --svg FILE               a picture to show around instead; "-": standard output

LOAD is of what the service can do: 1.5 is half as much again. SLOWDOWN 5: each
call takes five times as long. NAME is none, fixed (the best of fixed limits),
'fixed N', aimd, vegas, gradient2, auto, breaker, load-gate or accept-ratio.
Exit codes: 0 simulated; 2 bad usage or input.
)";

struct Options {
  std::vector<std::string> protections;
  ServiceOptions service;
  std::string svg;
  bool json = false;
};

ExitCode simulate_service(const Options& options, const Console& console) {
  const auto bad_input = [&console](const InputError& error) {
    report(console.err, error);
    return ExitCode::bad_input;
  };
  if (options.json && !options.svg.empty()) {
    return bad_input({"--svg and --json are two outputs; choose one"});
  }
  const auto service = read_service(options.service);
  if (!service) return bad_input(service.error());
  const auto results = compare(*service, options.protections);
  if (!results) return bad_input(results.error());
  if (!options.svg.empty()) {
    return write({.path = options.svg, .picture = service_picture(*service, *results)}, console);
  }
  if (options.json) {
    report_service_as_json(*service, *results, console.out);
  } else {
    report_service_as_text(*service, *results, console.out);
  }
  return ExitCode::ok;
}

}  // namespace

Verb add_simulate_service(CLI::App& weir) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      weir.add_subcommand("simulate-service", "what protection does for a service under overload");
  std::string names;
  for (const std::string& name : protection_names()) names += (names.empty() ? "" : "|") + name;
  command->add_option("--protect", options->protections)->allow_extra_args(false)->type_name(names);
  ServiceOptions& service = options->service;
  command->add_option("--phases", service.phases);
  command->add_option("--servers", service.servers);
  command->add_option("--service-time", service.service_time);
  command->add_option("--spread", service.spread);
  command->add_option("--timeout", service.timeout);
  command->add_option("--retries", service.retries);
  command->add_option("--retry-after", service.retry_after);
  command->add_option("--seed", service.seed);
  command->add_option("--svg", options->svg)->type_name("FILE");
  command->add_flag("--json", options->json);
  return {command, help, "",
          [options](const Console& console) { return simulate_service(*options, console); }};
}

}  // namespace weir::cli
