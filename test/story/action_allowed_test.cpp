// is_action_allowed(user, action, period, most), the exercise of every book on rate limiting: as a
// sliding log, and as a funnel that leaks.
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "test/story/face.hpp"
#include "weir/algorithm/leaky_bucket.hpp"
#include "weir/algorithm/sliding_log.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using enum Verdict;

class ActionAllowed : public FaceStory {
 protected:
  using Log = Typed<SlidingLog>;

  struct Quota {
    Span period;
    Cost most;
  };

  bool is_action_allowed(const std::string& user, const std::string& action, Quota quota) {
    auto& log = logs_[{user, action}];
    if (!log) log = std::make_unique<Log>(SlidingLog::Settings{quota.most, quota.period}, clock());
    return static_cast<bool>(log->try_acquire());
  }

 private:
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Log>> logs_;
};

TEST_F(ActionAllowed, SoManyInThePeriodAndNoMore) {
  std::string told;
  for (int call = 0; call < 20; ++call) {
    told += is_action_allowed("laoqian", "reply", {60s, 5}) ? 'y' : 'n';
    pass(1ms);
  }
  EXPECT_EQ(told, "yyyyynnnnnnnnnnnnnnn");
}

TEST_F(ActionAllowed, EachCallLeavesThePeriodByItself) {
  for (const Time call : {0s, 10s, 20s, 30s, 40s}) {
    at(call);
    EXPECT_TRUE(is_action_allowed("laoqian", "reply", {60s, 5}));
  }
  for (const Time call : {60s, 70s, 80s, 90s, 100s, 120s}) {
    at(call - 1us);
    EXPECT_FALSE(is_action_allowed("laoqian", "reply", {60s, 5}));
    at(call);
    EXPECT_TRUE(is_action_allowed("laoqian", "reply", {60s, 5}));
    EXPECT_FALSE(is_action_allowed("laoqian", "reply", {60s, 5}));
  }
}

/// Where the call is written down before it is counted, who goes on knocking stays outside.
TEST_F(ActionAllowed, WhoWasRefusedIsNotLockedOutByKnocking) {
  for (int call = 0; call < 5; ++call) {
    EXPECT_TRUE(is_action_allowed("laoqian", "reply", {60s, 5}));
  }
  for (; now() < 60s; pass(100ms)) {
    EXPECT_FALSE(is_action_allowed("laoqian", "reply", {60s, 5}));
  }
  EXPECT_TRUE(is_action_allowed("laoqian", "reply", {60s, 5}));
}

TEST_F(ActionAllowed, UsersAndActionsDoNotMeet) {
  EXPECT_TRUE(is_action_allowed("laoqian", "reply", {60s, 1}));
  EXPECT_FALSE(is_action_allowed("laoqian", "reply", {60s, 1}));
  EXPECT_TRUE(is_action_allowed("laoqian", "like", {60s, 1}));
  EXPECT_TRUE(is_action_allowed("xiaoqian", "reply", {60s, 1}));
}

TEST_F(ActionAllowed, AClockThatGoesBackForgetsNothing) {
  at(60s);
  EXPECT_TRUE(is_action_allowed("laoqian", "reply", {60s, 1}));
  at(0s);
  EXPECT_FALSE(is_action_allowed("laoqian", "reply", {60s, 1}));
  at(120s - 1us);
  EXPECT_FALSE(is_action_allowed("laoqian", "reply", {60s, 1}));
  at(120s);
  EXPECT_TRUE(is_action_allowed("laoqian", "reply", {60s, 1}));
}

TEST_F(ActionAllowed, ALogTellsWhenTheOldestLeaves) {
  Log log({2, 60s}, clock());
  EXPECT_TRUE(log.try_acquire());
  at(10s);
  EXPECT_TRUE(log.try_acquire());
  at(20s);
  EXPECT_EQ(since(log.try_acquire().ready_at), 60s);
  EXPECT_EQ(since(log.try_acquire(2).ready_at), 70s);
  EXPECT_EQ(log.try_acquire(3).verdict, impossible);
}

/// The funnel of fifteen that leaks one in two seconds: a bucket seen from below.
TEST_F(ActionAllowed, AFunnelTakesItsFillAndThenWhatLeaks) {
  ManualBucket funnel(ManualBucket::Settings::every(2s, 15), clock());
  std::string told;
  for (int call = 0; call < 20; ++call) told += funnel.try_acquire() ? 'y' : 'n';
  EXPECT_EQ(told, "yyyyyyyyyyyyyyynnnnn");
  at(2s - 1ns);
  EXPECT_EQ(grants(funnel, 9), 0);
  at(2s);
  EXPECT_EQ(grants(funnel, 9), 1);
  at(9s);
  EXPECT_EQ(grants(funnel, 9), 3);
  EXPECT_EQ(funnel.peek().limit - left(funnel), 15);  // the level
}

TEST_F(ActionAllowed, AQueueLetsThemOutOneByOne) {
  auto queue = AnyLimiter::of("leaky-bucket 10/s queue 3", clock());
  for (const Time wanted : {0ms, 100ms, 200ms, 300ms}) {
    auto turn = queue.reserve();
    EXPECT_EQ(since(turn.ready_at()), wanted);
    turn.commit();
  }
  const auto full = queue.reserve();  // however long it would wait
  EXPECT_EQ(full.outcome().verdict, denied);
  at(100ms);
  auto turn = queue.reserve();
  EXPECT_EQ(since(turn.ready_at()), 400ms);
}

TEST_F(ActionAllowed, WhoDoesNotWaitFindsAQueueAMeter) {
  auto queue = AnyLimiter::of("leaky-bucket 10/s queue 3", clock());
  EXPECT_TRUE(queue.try_acquire());
  EXPECT_FALSE(queue.try_acquire());
  at(100ms);
  EXPECT_TRUE(queue.try_acquire());
}

}  // namespace
}  // namespace weir
