#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <system_error>

#include "cli/input.hpp"
#include "cli/verbs.hpp"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view help =
    R"help(The module that decides inside a Redis or Valkey: where it lies.

Examples:
  weir module path
  redis-server --loadmodule "$(weir module path)" login=5/1m
  redis-cli MODULE LOAD "$(weir module path)"

Usage: weir module path

It answers CL.THROTTLE on redis-cell's own keys, and the WEIR commands. Words
behind its path name limits: NAME=LIMIT, for clients to ask as @NAME.
Exit codes: 0 done; 2 bad usage, or there is no module.
)help";

constexpr const char* file_name = "weir_module.so";

/// Beside the program, as the build leaves it, or where an installed one has it.
std::optional<fs::path> find_module(const fs::path& program_folder) {
  for (const fs::path& folder : {program_folder, program_folder.parent_path() / "lib" / "weir"}) {
    std::error_code error;
    if (fs::is_regular_file(folder / file_name, error)) return folder / file_name;
  }
  return {};
}

ExitCode print_path(const Console& console) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    report(console.err, {"cannot tell where this program lies: " + error.message()});
    return ExitCode::bad_input;
  }
  const auto module = find_module(program.parent_path());
  if (!module) {
    report(console.err,
           {std::string(file_name) + " is neither beside " + printable(program.string()) +
            " nor in ../lib/weir; make it by ./do build, or install weir whole"});
    return ExitCode::bad_input;
  }
  console.out << module->string() << '\n';
  return ExitCode::ok;
}

}  // namespace

Verb add_module(CLI::App& weir) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = weir.add_subcommand("module", "the module for Redis and Valkey");
  command->group(also);
  command->add_option("words", *words)->required()->type_name("path");
  return {command, help, "", [words](const Console& console) {
            if (*words == std::vector<std::string>{"path"}) return print_path(console);
            report(console.err, {"expected: weir module path"});
            return ExitCode::bad_input;
          }};
}

}  // namespace weir::cli
