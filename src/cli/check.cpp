#include <memory>
#include <ostream>

#include "cli/input.hpp"
#include "cli/verbs.hpp"
#include "gateway/rule_files.hpp"
#include "wire/json.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view help = R"(Whether rule files are in order, before a server reads them.

Examples:
  weir check rules.yaml
  weir check /etc/weir/rules --json
  weir check ratelimit/config/*.yaml

Usage: weir check PATH... [--json]

  --json  one JSON object: domains, each with domain, rules and format; or error

A PATH is a file, or a folder of *.yaml and *.yml: weir's own, or those of
envoyproxy/ratelimit. The first error is told as FILE:LINE:COLUMN: MESSAGE. All
files are read together, as weir serve --rules reads them.
Exit codes: 0 in order; 2 bad usage, or a file that is not in order.
)";

struct Options {
  gateway::RulePaths paths;
  bool json = false;
};

const char* format_of(const gateway::Domain& domain) {
  return domain.of_envoy ? "envoyproxy/ratelimit" : "weir";
}

void print_as_json(const std::vector<gateway::Domain>& domains, std::ostream& out) {
  wire::Json list = wire::Json::array();
  for (const gateway::Domain& domain : domains) {
    list.element(wire::Json::object()
                     .member("domain", domain.name)
                     .member("rules", static_cast<std::int64_t>(domain.rules.size()))
                     .member("format", format_of(domain)));
  }
  out << wire::Json::object().member("domains", list).text() << '\n';
}

ExitCode check(const Options& options, const Console& console) {
  if (options.paths.empty()) {
    report(console.err, {"check needs a file or a folder, as in: weir check rules.yaml"});
    return ExitCode::bad_input;
  }
  const auto domains = gateway::read_rule_files(options.paths);
  if (!domains) {
    // Without the program's name before it, so that editors find the place.
    if (!options.json) console.err << domains.error() << '\n';
    if (options.json) {
      console.out << wire::Json::object().member("error", domains.error()).text() << '\n';
    }
    return ExitCode::bad_input;
  }
  if (options.json) {
    print_as_json(*domains, console.out);
    return ExitCode::ok;
  }
  for (const gateway::Domain& domain : *domains) {
    const std::size_t count = domain.rules.size();
    console.out << domain.name << ": " << count << (count == 1 ? " rule\n" : " rules\n");
  }
  return ExitCode::ok;
}

}  // namespace

Verb add_check(CLI::App& weir) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = weir.add_subcommand("check", "whether rule files are in order");
  command->group(also);
  command->add_option("path", options->paths)->type_name("FILE");
  command->add_flag("--json", options->json);
  return {command, help, "",
          [options](const Console& console) { return check(*options, console); }};
}

}  // namespace weir::cli
