// From the words of a command line to the verb that does them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/verb.hpp"

namespace weir::cli {

/// Runs the verb that the arguments (without the program's name) ask for. Whatever goes wrong is
/// told on console.err, with what to do next.
ExitCode run(const std::vector<std::string>& arguments, std::span<const AddVerb> verbs,
             const Console& console);

}  // namespace weir::cli
