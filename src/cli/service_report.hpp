// A simulated service told on a console.
#pragma once

#include <iosfwd>
#include <vector>

#include "cli/console.hpp"
#include "cli/service_figures.hpp"

namespace weir::cli {

/// Tables: the whole run, then phase by phase.
void report_service_as_text(const Service& service, const std::vector<ServiceResult>& results,
                            std::ostream& out);

/// A JSON object a line: each second of each protection, then {"summary":...} of each.
void report_service_as_json(const Service& service, const std::vector<ServiceResult>& results,
                            std::ostream& out);

/// In three digits: "28.4ms", "6.49s", "812us".
std::string short_time(std::chrono::nanoseconds time);

/// The longest of the recoveries: "0s", "12s", "never"; "-" where nothing was to recover from.
std::string recovery_text(const Service& service, const ServiceResult& result);

}  // namespace weir::cli
