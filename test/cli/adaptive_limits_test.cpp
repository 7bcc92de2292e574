#include "test/cli/adaptive_limits.hpp"

namespace weir::test {
namespace {

class AdaptiveLimits : public testing::TestWithParam<const char*> {};

TEST_P(AdaptiveLimits, KeepNineTenthsOfTheBestFixedLimitAndRecoverInTenSeconds) {
  keep_up({.seed = GetParam()});
}

INSTANTIATE_TEST_SUITE_P(Seeds, AdaptiveLimits, testing::Values("1", "2"));

TEST(AdaptiveLimitsFarAway, ClimbToWhatIsNeededInTime) {
  keep_up({.servers = "100", .service_time = "50ms", .timeout = "1s", .seed = "1"});
}

TEST(AdaptiveLimitsInOverload, NeedLessTimeThanWithoutProtectionToAnswer) {
  const auto service = cli::read_service({});
  const auto results =
      cli::compare(*service, {"none", "aimd", "vegas", "gradient2", "auto"}).value();
  for (std::size_t law = 1; law < results.size(); ++law) {
    EXPECT_LT(results[law].whole.p99 * 20, results[0].whole.p99) << results[law].protection;
    EXPECT_GT(results[law].whole.in_time, results[0].whole.in_time * 5);
  }
}

}  // namespace
}  // namespace weir::test
