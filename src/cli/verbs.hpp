// The verbs that need no server.
#pragma once

#include "cli/verb.hpp"

namespace weir::cli {

Verb add_simulate(CLI::App& weir);
Verb add_simulate_service(CLI::App& weir);
Verb add_explain(CLI::App& weir);
Verb add_check(CLI::App& weir);
Verb add_convert(CLI::App& weir);
Verb add_module(CLI::App& weir);
Verb add_completion(CLI::App& weir);
Verb add_man(CLI::App& weir);
Verb add_version(CLI::App& weir);

}  // namespace weir::cli
