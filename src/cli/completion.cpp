#include <memory>
#include <ostream>

#include "cli/input.hpp"
#include "cli/shell.hpp"
#include "cli/verbs.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view help = R"(A script that completes weir's verbs and options in a shell.

Examples:
  weir completion bash > ~/.local/share/bash-completion/completions/weir
  weir completion zsh > ~/.zfunc/_weir  # with: fpath+=~/.zfunc before compinit
  weir completion fish > ~/.config/fish/completions/weir.fish

Usage: weir completion bash|zsh|fish

An installed weir brings all three along.
Exit codes: 0 printed; 2 no such shell.
)";

ExitCode complete(const std::string& shell, const CLI::App& weir, const Console& console) {
  const std::vector<VerbHelp> verbs = help_of_all(weir);
  if (shell == "bash") {
    console.out << completion_for(Shell::bash, verbs);
  } else if (shell == "zsh") {
    console.out << completion_for(Shell::zsh, verbs);
  } else if (shell == "fish") {
    console.out << completion_for(Shell::fish, verbs);
  } else {
    report(console.err, {"completion needs a shell, bash, zsh or fish, as in: weir completion bash",
                         shell, shell.empty() ? std::optional<std::size_t>{} : 0});
    return ExitCode::bad_input;
  }
  return ExitCode::ok;
}

}  // namespace

Verb add_completion(CLI::App& weir) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = weir.add_subcommand("completion", "completes weir in bash, zsh or fish");
  command->add_option("shell", *shell)->type_name("bash|zsh|fish");
  command->group(also);
  return {command, help, "",
          [shell, &weir](const Console& console) { return complete(*shell, weir, console); }};
}

}  // namespace weir::cli
