#include <algorithm>
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

  --json  one JSON object: domains, each with domain, rules and format, and
          warnings; or error

A PATH is a file, or a folder of *.yaml and *.yml: weir's own, or those of
envoyproxy/ratelimit. The first error is told as FILE:LINE:COLUMN: MESSAGE. All
files are read together, as weir serve --rules reads them. A warning names what
is in order, and yet may not be what was meant.
Exit codes: 0 in order; 2 bad usage, or a file that is not in order.
)";

struct Options {
  gateway::RulePaths paths;
  bool json = false;
};

const char* format_of(const gateway::Domain& domain) {
  return domain.of_envoy ? "envoyproxy/ratelimit" : "weir";
}

/// What is in order, and yet may not be what was meant.
std::vector<std::string> doubts_about(const std::vector<gateway::Domain>& domains) {
  std::vector<std::string> doubts;
  for (const gateway::Domain& domain : domains) {
    for (const gateway::EdgeRule& rule : domain.rules) {
      if (!rule.shadow || domain.of_envoy) continue;
      for (const std::string& name : rule.replaces) {
        const auto replaced = std::ranges::find(domain.rules, name, &gateway::EdgeRule::name);
        if (replaced == domain.rules.end() || replaced->shadow) continue;
        doubts.push_back(domain.name + ": line " + std::to_string(rule.at.line) + ": '" +
                         rule.name + "' is in shadow and replaces '" + name +
                         "': where it is met, neither refuses anybody");
      }
    }
  }
  return doubts;
}

void print_as_json(const std::vector<gateway::Domain>& domains, std::ostream& out) {
  wire::Json list = wire::Json::array();
  for (const gateway::Domain& domain : domains) {
    list.element(wire::Json::object()
                     .member("domain", domain.name)
                     .member("rules", static_cast<std::int64_t>(domain.rules.size()))
                     .member("format", format_of(domain)));
  }
  wire::Json warnings = wire::Json::array();
  for (const std::string& doubt : doubts_about(domains)) warnings.element(doubt);
  wire::Json told = wire::Json::object();
  out << told.member("domains", list).member("warnings", warnings).text() << '\n';
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
  for (const std::string& doubt : doubts_about(*domains)) {
    console.err << "warning: " << doubt << '\n';
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
