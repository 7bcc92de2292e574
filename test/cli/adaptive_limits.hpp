// What adaptive limits promise: nearly what the best fixed limit brings, which nobody knows before.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "cli/service_comparison.hpp"
#include "cli/service_input.hpp"

namespace weir::test {

inline constexpr std::array adaptive_limits{"aimd", "vegas", "gradient2", "auto"};

/// Nine tenths of the best fixed limit's goodput, and at most ten seconds to recover.
inline void keep_up(const cli::ServiceOptions& options) {
  const auto service = cli::read_service(options);
  ASSERT_TRUE(service) << service.error().message;
  const cli::ServiceResult best = cli::best_fixed(*service);
  for (const char* law : adaptive_limits) {
    const auto results = cli::compare(*service, {law});
    const cli::ServiceResult& result = results.value().front();
    SCOPED_TRACE(std::string(law) + ", seed " + options.seed);
    EXPECT_GE(result.whole.in_time * 10, best.whole.in_time * 9) << best.protection;
    ASSERT_TRUE(result.recovered_after[2]);
    EXPECT_LE(*result.recovered_after[2], std::chrono::seconds{10});
  }
}

}  // namespace weir::test
