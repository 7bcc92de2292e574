// A simulated service as a picture for a page or a talk: standalone SVG.
#pragma once

#include <string>
#include <vector>

#include "cli/service_figures.hpp"

namespace weir::cli {

/// A row for each protection: goodput and p99 over time. The same results always give the same
/// bytes.
std::string service_picture(const Service& service, const std::vector<ServiceResult>& results);

}  // namespace weir::cli
