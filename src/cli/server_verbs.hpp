// The verbs that are a server, ask one or prepare for one.
#pragma once

#include "cli/verb.hpp"

namespace weir::cli {

Verb add_serve(CLI::App& weir);
Verb add_take(CLI::App& weir);
Verb add_peek(CLI::App& weir);
Verb add_reset(CLI::App& weir);
Verb add_doctor(CLI::App& weir);
Verb add_top(CLI::App& weir);
Verb add_lua(CLI::App& weir);

}  // namespace weir::cli
