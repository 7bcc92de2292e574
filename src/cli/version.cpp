#include <memory>
#include <ostream>

#include "cli/verbs.hpp"
#include "wire/json.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view help = R"(The version of this program.

Examples:
  weir version
  weir version --json

Usage: weir version [--json]

  --json  {"version":"..."}

Exit codes: 0 always.
)";

}  // namespace

Verb add_version(CLI::App& weir) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* command = weir.add_subcommand("version", "the version of this program");
  command->group(also);
  command->add_flag("--json", *json);
  return {command, help, "", [json](const Console& console) {
            if (*json) {
              console.out << wire::Json::object().member("version", WEIR_VERSION).text() << '\n';
            } else {
              console.out << "weir " WEIR_VERSION "\n";
            }
            return ExitCode::ok;
          }};
}

}  // namespace weir::cli
