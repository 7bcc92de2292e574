// Leased units of a process that does not ask any more.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "test/redis/virtual_store.hpp"
#include "weir/redis/limiter.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;

TEST(Lease, OfAProcessThatIsIdleGoesBackByItself) {
  VirtualStore store;
  store.set_time(Instant{1s});  // of the steady clock nothing is due yet
  const Limiter limiter(store, "1000/1h",
                        {.deadline = 10s, .lease = LeaseSettings{.kept_for = 50ms}});
  for (int call = 0; call < 20; ++call) EXPECT_TRUE(limiter.try_acquire("k"));
  const auto give_up_at = std::chrono::steady_clock::now() + 30s;
  while (limiter.peek("k").remaining != 980) {
    ASSERT_LT(std::chrono::steady_clock::now(), give_up_at);
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace weir::redis
