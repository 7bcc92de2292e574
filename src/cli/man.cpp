#include <ostream>

#include "cli/manual.hpp"
#include "cli/program_help.hpp"
#include "cli/verbs.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view help = R"(The manual page of weir.

Examples:
  weir man | man -l -
  weir man > ~/.local/share/man/man1/weir.1

Usage: weir man

An installed weir brings it along: man weir.
Exit codes: 0 always.
)";

}  // namespace

Verb add_man(CLI::App& weir) {
  CLI::App* command = weir.add_subcommand("man", "the manual page of weir");
  command->group(also);
  return {command, help, "", [&weir](const Console& console) {
            console.out << manual_page({.version = WEIR_VERSION,
                                        .summary = std::string(program_summary),
                                        .limit_grammar = std::string(limit_help),
                                        .exit_codes = std::string(program_exit_codes),
                                        .verbs = help_of_all(weir)});
            return ExitCode::ok;
          }};
}

}  // namespace weir::cli
