// Access limits asked by many threads at once.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "test/http/manual_limits.hpp"

namespace weir::http {
namespace {

using namespace std::chrono_literals;

constexpr int threads = 8;

/// Calls of a handler that were let through, all threads together.
int let_through(const AccessLimits& limits) {
  std::atomic<int> ran{0};
  std::vector<std::thread> callers;
  callers.reserve(threads);
  for (int caller = 0; caller < threads; ++caller) {
    callers.emplace_back([&limits, &ran] {
      for (int call = 0; call < 200; ++call) {
        if (!limits.decide({.method = "POST", .path = "/reply", .user = "alice"})) ++ran;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  return ran;
}

TEST(AccessLimitThreads, ExactlyAsManyCallsRunAsWereDeclared) {
  ManualTime time{SteadyInstant{1'000h}};
  const auto limits =
      AccessLimits::of({{.path = "/reply", .max_count = 100, .within = 10s}}, kept_under(time));
  EXPECT_EQ(let_through(limits), 100);
  time.advance(10s - 1us);
  EXPECT_EQ(let_through(limits), 0);
  time.advance(1us);
  EXPECT_EQ(let_through(limits), 100);
}

TEST(AccessLimitThreads, UnderARunningClockNoWindowHoldsMore) {
  // All calls fall into one window; if the machine is so slow that they do not, into two.
  const auto limits = AccessLimits::of({{.path = "/reply", .max_count = 100, .within = 3'600s}});
  EXPECT_EQ(let_through(limits), 100);
}

}  // namespace
}  // namespace weir::http
