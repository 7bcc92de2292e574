// The text that Prometheus reads.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>

namespace weir::server {

using MetricOut = std::back_insert_iterator<std::string>;

inline void write_head(MetricOut out, const char* name, const char* type, const char* help) {
  fmt::format_to(out, "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

}  // namespace weir::server
