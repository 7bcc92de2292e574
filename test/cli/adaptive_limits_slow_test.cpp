// The same promise in other services.
#include <gtest/gtest.h>

#include "test/cli/adaptive_limits.hpp"

namespace weir::test {
namespace {

TEST(AdaptiveLimitsElsewhere, KeepUpWithOtherSeeds) {
  for (const char* seed : {"3", "4", "5", "6", "7"}) keep_up({.seed = seed});
}

TEST(AdaptiveLimitsElsewhere, KeepUpWithServiceTimesThatAreAllChance) {
  for (const char* seed : {"1", "2", "3", "4", "5"}) keep_up({.spread = "100", .seed = seed});
}

TEST(AdaptiveLimitsElsewhere, KeepUpWithServiceTimesWithoutChance) {
  for (const char* seed : {"1", "2", "3", "4", "5"}) keep_up({.spread = "0", .seed = seed});
}

TEST(AdaptiveLimitsElsewhere, KeepUpInASmallService) {
  for (const char* seed : {"1", "2", "3", "4", "5"}) {
    keep_up({.servers = "4", .service_time = "5ms", .seed = seed});
  }
}

TEST(AdaptiveLimitsElsewhere, KeepUpInASlowService) {
  for (const char* seed : {"1", "2", "3", "4", "5"}) {
    keep_up({.servers = "100", .service_time = "50ms", .timeout = "1s", .seed = seed});
  }
}

TEST(AdaptiveLimitsElsewhere, KeepUpWithCallersThatAskAgain) {
  for (const char* seed : {"1", "2", "3", "4", "5"}) keep_up({.retries = "2", .seed = seed});
}

}  // namespace
}  // namespace weir::test
