// Keyed limiters of any limit: each verb, and several at once.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "weir/local/keyed_limiter.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using std::string;
using Limiter = KeyedLimiter<string, ManualClock>;

constexpr SteadyInstant start{1'000h};
constexpr Outcome never_taken{Verdict::impossible, Refusal::limit, SteadyInstant::max()};

class KeyedLimiterTest : public testing::Test {
 protected:
  ManualTime time_{start};
  ManualClock clock_{time_};
};

TEST_F(KeyedLimiterTest, TellsKeysApart) {
  Limiter limiter("sliding-log 2/1m", {}, clock_);
  EXPECT_TRUE(limiter.try_acquire("a", 2));
  const Outcome denied = limiter.try_acquire("a");
  EXPECT_EQ(denied.verdict, Verdict::denied);
  EXPECT_EQ(denied.ready_at, start + 1min);
  EXPECT_TRUE(limiter.try_acquire("b"));
  EXPECT_EQ(limiter.peek("b").remaining, 1);
  EXPECT_EQ(limiter.refund("b", 5), 1);
  EXPECT_TRUE(limiter.reset("a"));
  EXPECT_FALSE(limiter.reset("a"));
  EXPECT_EQ(limiter.peek("a").remaining, 2);
}

TEST_F(KeyedLimiterTest, NeverDefers) {
  Limiter limiter("leaky-bucket 10/1s queue 5", {}, clock_);
  EXPECT_EQ(limiter.try_acquire("a").verdict, Verdict::granted);
  EXPECT_EQ(limiter.try_acquire("a").verdict, Verdict::denied);
}

TEST_F(KeyedLimiterTest, AnswersWhatIsNeverGranted) {
  Limiter limiter("5/1m", {}, clock_);
  EXPECT_EQ(limiter.try_acquire("a", 6), never_taken);
  EXPECT_EQ(limiter.try_acquire("a", -1), never_taken);
  EXPECT_EQ(limiter.peek("a", -1).outcome, never_taken);
  EXPECT_EQ(limiter.refund("a", -1), 0);
  EXPECT_EQ(try_acquire_all({limiter.claim("a", 6)}, start).outcome, never_taken);
  EXPECT_EQ(try_acquire_all({limiter.claim("a", -1)}, start).outcome, never_taken);
  EXPECT_TRUE(limiter.try_acquire("a", 5));
}

TEST_F(KeyedLimiterTest, RefusesTextsThatAreNoLimit) {
  EXPECT_THROW(Limiter("5 a minute", {}, clock_), std::invalid_argument);
  EXPECT_THROW(Limiter("5/1m initial 2", {}, clock_), std::invalid_argument);
  Limiter limiter("5/1m", {}, clock_);
  EXPECT_THROW(limiter.reconfigure("5/1m initial 2"), std::invalid_argument);
  EXPECT_THROW((void)limiter.override_for("a", ""), std::invalid_argument);
}

TEST_F(KeyedLimiterTest, InABatchDecidesAsOneByOne) {
  Limiter batch("7/1s burst 2 & 20/1m", {}, clock_);
  Limiter single("7/1s burst 2 & 20/1m", {}, clock_);
  for (std::size_t round = 0; round < 100; ++round) {
    time_.advance(37ms);
    std::vector<string> keys(round % 40);
    for (std::size_t at = 0; at < keys.size(); ++at) keys[at] = std::to_string(at * round % 13);
    std::vector<Outcome> outcomes(keys.size());
    batch.try_acquire_many(keys, 1, outcomes);
    for (std::size_t at = 0; at < keys.size(); ++at) {
      ASSERT_EQ(outcomes[at], single.try_acquire(keys[at])) << keys[at];
    }
  }
}

TEST_F(KeyedLimiterTest, GivesAKeyALimitOfItsOwn) {
  Limiter limiter("5/1m", {}, clock_);
  ASSERT_TRUE(limiter.try_acquire("vip", 2));
  ASSERT_TRUE(limiter.override_for("vip", "sliding-log 100/1m"));
  EXPECT_EQ(limiter.peek("vip").limit, 100);
  EXPECT_EQ(limiter.peek("vip").remaining, 98) << "what was used counts";
  EXPECT_EQ(limiter.peek("other").limit, 5);
  limiter.reconfigure("7/1m");
  EXPECT_EQ(limiter.peek("vip").limit, 100);
  EXPECT_EQ(limiter.peek("other").limit, 7);
  ASSERT_TRUE(limiter.override_for("vip", "10/1m", Inherit::reset));
  EXPECT_EQ(limiter.peek("vip").remaining, 10);
  const string keys[] = {"vip", "vip", "other"};
  Outcome outcomes[3];
  limiter.try_acquire_many(keys, 6, outcomes);
  EXPECT_TRUE(outcomes[0] && !outcomes[1] && outcomes[2]);
}

TEST_F(KeyedLimiterTest, CarriesSharedStatesOverToo) {
  Limiter limiter("5/1h", {.max_keys = 1, .shards = 1}, clock_);
  ASSERT_TRUE(limiter.try_acquire("kept", 5));
  ASSERT_TRUE(limiter.try_acquire("sharing", 5));
  ASSERT_EQ(limiter.stats().shared_answers, 1u);
  limiter.reconfigure("6/1h");
  EXPECT_EQ(limiter.peek("kept").remaining, 1);
  EXPECT_EQ(limiter.peek("sharing").remaining, 1);
  EXPECT_FALSE(limiter.override_for("sharing", "7/1h")) << "no room for its state";
  EXPECT_EQ(limiter.peek("sharing").remaining, 1);
  EXPECT_TRUE(limiter.override_for("kept", "7/1h"));
  EXPECT_EQ(limiter.peek("kept").remaining, 2);
}

TEST_F(KeyedLimiterTest, TakesFromSeveralOrFromNone) {
  const auto store = std::make_shared<KeyedStore>(Table::Settings{});
  Limiter per_user(store, "10/1m", clock_);
  KeyedLimiter<std::uint32_t, ManualClock> per_address(store, "3/1m", clock_);
  const std::uint32_t address = 0x7f000001;
  for (int call = 0; call < 3; ++call) {
    EXPECT_TRUE(try_acquire_all({per_user.claim("a"), per_address.claim(address)}, start).outcome);
  }
  const auto joint = try_acquire_all({per_user.claim("a"), per_address.claim(address)}, start);
  EXPECT_EQ(joint.outcome.verdict, Verdict::denied);
  EXPECT_EQ(joint.outcome.ready_at, start + 20s);
  EXPECT_EQ(joint.binding, 1u);
  EXPECT_EQ(per_user.peek("a").remaining, 7);

  Limiter elsewhere("1/1s", {}, clock_);
  EXPECT_THROW((void)try_acquire_all({per_user.claim("a"), elsewhere.claim("a")}, start),
               std::invalid_argument);
  EXPECT_THROW((void)try_acquire_all({}, start), std::invalid_argument);
}

TEST_F(KeyedLimiterTest, GrantsABurstOnceWhileTheLimitChanges) {
  constexpr std::size_t keys = 20;
  Limiter limiter("sliding-log 100/1d", {}, clock_);
  std::array<std::atomic<Cost>, keys> granted{};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&, thread] {
      for (unsigned call = 0; call < 30'000; ++call) {
        const std::size_t key = call * (2 * thread + 1) % keys;
        if (limiter.try_acquire(std::to_string(key))) granted[key].fetch_add(1);
      }
    });
  }
  std::thread changer([&] {
    const char* const texts[] = {"100/1d", "fixed-window 100/1d", "sliding-log 100/1d"};
    for (unsigned change = 0; change < 3'000 && !done; ++change) {
      limiter.reconfigure(texts[change % 3]);
      if (change == 3) {
        EXPECT_TRUE(limiter.override_for("0", "100/2d"));
      }
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  changer.join();
  for (std::size_t key = 0; key < keys; ++key) {
    EXPECT_LE(granted[key], 100) << "key " << key;
    EXPECT_GE(granted[key], 50) << "key " << key;
  }
}

}  // namespace
}  // namespace weir
