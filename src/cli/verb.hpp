// What a verb of the program is.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>

#include "cli/console.hpp"

namespace weir::cli {

/// How the program ends; scripts rely on the numbers, and every --help tells them.
enum class ExitCode : std::uint8_t {
  ok = 0,
  refused = 1,      ///< the answer is no
  bad_input = 2,    ///< a usage or input that cannot be
  unreachable = 3,  ///< no server where one was expected
};

struct Verb {
  /// With its options, and the line that `weir --help` has on it as its description. Values are
  /// taken as text: run() reads them by input.hpp, so that all of them fail in one manner.
  CLI::App* command;
  std::string_view help;     ///< all that `weir VERB --help` prints: examples first, one screen
  std::string_view example;  ///< for `weir --help`; may be empty
  std::function<ExitCode(const Console&)> run;
};

/// The group of verbs that the program's help names without telling what they do.
inline constexpr const char* also = "also";

/// Adds a verb to the program. Options live as long as what they return.
using AddVerb = Verb (*)(CLI::App& weir);

}  // namespace weir::cli
