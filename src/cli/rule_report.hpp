// How a call stands to rules, in words and in JSON.
#pragma once

#include <iosfwd>

#include "cli/rule_explanation.hpp"

namespace weir::cli {

void report_as_text(const CallStanding& standing, std::ostream& out);
/// One JSON object: domain, rules, and where there is one, nowhere.
void report_as_json(const CallStanding& standing, std::ostream& out);

}  // namespace weir::cli
