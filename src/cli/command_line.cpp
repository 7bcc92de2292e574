#include "cli/command_line.hpp"

#include <algorithm>
#include <ostream>
#include <string_view>

#include "cli/input.hpp"
#include "cli/program_help.hpp"
#include "gateway/suggestion.hpp"

namespace weir::cli {
namespace {

std::string help_of_program(const std::vector<Verb>& verbs) {
  std::string text = std::string(program_summary) + "\n\nExamples:\n";
  for (const Verb& verb : verbs) {
    if (!verb.example.empty()) text += "  " + std::string(verb.example) + "\n";
  }
  text += "\nUsage: weir VERB [OPTION...]; weir VERB --help tells more.\n";
  std::size_t widest = 0;
  for (const Verb& verb : verbs) widest = std::max(widest, verb.command->get_name().size());
  const auto line = [widest](std::string name, const std::string& rest) {
    name.resize(widest + 2, ' ');
    return "  " + name + rest + "\n";
  };
  constexpr std::size_t columns = 80;
  std::string others;
  std::size_t line_begin = 0;
  for (const Verb& verb : verbs) {
    const std::string name = verb.command->get_name();
    if (verb.command->get_group() == also) {
      if (!others.empty()) others += ", ";
      if (widest + 4 + others.size() - line_begin + name.size() + 1 > columns) {
        others.back() = '\n';
        others += std::string(widest + 4, ' ');
        line_begin = others.size();
      }
      others += name;
    } else {
      text += line(name, verb.command->get_description());
    }
  }
  if (!others.empty()) text += line(also, others);
  return text + "\n" + std::string(limit_help) +
         "\nExit codes: " + std::string(program_exit_codes) + "\n";
}

/// Of words of our own and what was written instead of one.
std::string suggestion(std::string_view given, const std::vector<std::string>& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  return gateway::suggestion(given, known);
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.emplace_back("--" + name);
  }
  return names;
}

const Verb* find(const std::vector<Verb>& verbs, const std::string& name) {
  for (const Verb& verb : verbs) {
    if (verb.command->get_name() == name) return &verb;
  }
  return nullptr;
}

/// What people try before they know: help, help VERB, --version.
std::vector<std::string> understood(std::vector<std::string> arguments) {
  if (arguments[0] == "--version") arguments[0] = "version";
  if (arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  return arguments;
}

ExitCode unknown_verb(const std::string& given, const std::vector<Verb>& verbs,
                      const Console& console) {
  std::vector<std::string> names;
  names.reserve(verbs.size());
  for (const Verb& verb : verbs) names.push_back(verb.command->get_name());
  report(console.err, {"unknown verb '" + printable(given) + "'" + suggestion(given, names)});
  console.err << "See: weir --help\n";
  return ExitCode::bad_input;
}

ExitCode bad_usage(const CLI::ParseError& error, const CLI::App& weir, const Verb* verb,
                   const Console& console) {
  std::string message = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    message = message.substr(0, message.find(':')) + " takes exactly one value";
  }
  const auto extras = weir.remaining(true);
  if (!extras.empty()) {
    const std::string& extra = extras.front();
    const bool option = extra.starts_with('-');
    message = (option ? "unknown option '" : "unexpected '") + printable(extra) + "'";
    if (option) message += suggestion(extra, option_names(verb ? *verb->command : weir));
  }
  report(console.err, {message});
  console.err << "See: weir " << (verb ? verb->command->get_name() + " --help\n" : "--help\n");
  return ExitCode::bad_input;
}

}  // namespace

ExitCode run(const std::vector<std::string>& given, std::span<const AddVerb> add_verbs,
             const Console& console) {
  CLI::App weir;
  std::vector<Verb> verbs;
  for (const AddVerb add : add_verbs) {
    verbs.push_back(add(weir));
    verbs.back().command->footer(std::string(verbs.back().help));
  }
  weir.require_subcommand(1);
  if (given.empty()) {
    console.err << help_of_program(verbs);
    return ExitCode::bad_input;
  }
  std::vector<std::string> arguments = understood(given);
  const Verb* verb = find(verbs, arguments[0]);
  if (!verb && !arguments[0].starts_with('-')) return unknown_verb(arguments[0], verbs, console);
  ExitCode code = ExitCode::ok;
  try {
    std::ranges::reverse(arguments);  // as CLI11 wants them
    weir.parse(arguments);
    verb = find(verbs, weir.get_subcommands().front()->get_name());
    code = verb->run(console);
  } catch (const CLI::CallForHelp&) {
    console.out << (verb ? std::string(verb->help) : help_of_program(verbs));
  } catch (const CLI::ParseError& error) {
    return bad_usage(error, weir, verb, console);
  }
  console.out.flush();
  if (!console.out) {
    report(console.err, {"cannot write the output"});
    return ExitCode::bad_input;
  }
  return code;
}

}  // namespace weir::cli
