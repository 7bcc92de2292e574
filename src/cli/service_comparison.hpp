// One service under several protections.
#pragma once

#include <string>
#include <vector>

#include "cli/service_figures.hpp"

namespace weir::cli {

/// The fixed limits that are tried to find the best one: from the servers to twenty times as many.
std::vector<std::int64_t> fixed_limits_tried(const Service& service);

/// The fixed limit with which most answers come in time, and the least of these.
ServiceResult best_fixed(const Service& service);

/// A result for each name; where there is none, for all protections. A plain "fixed" is the best
/// one.
Expected<std::vector<ServiceResult>, InputError> compare(const Service& service,
                                                         const std::vector<std::string>& names);

}  // namespace weir::cli
