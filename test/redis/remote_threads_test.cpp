// Many threads on one table.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "test/redis/remote_calls.hpp"

namespace weir::redis {
namespace {

Cost granted_by_threads(const Policy& policy, std::atomic<int>& answers) {
  RemoteCalls calls(policy);
  const Subject subject = calls.subject("500/1h", "k");
  std::atomic<Cost> granted = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int call = 0; call < 300; ++call) {
        calls.table.take(subject, {}, [&](RemoteAnswer&& answer) {
          ++answers;
          if (taken(answer.decision.verdict)) ++granted;
        });
        if (call % 50 == 0) calls.store.flush();
        if (call % 20 == 0) calls.table.tick();
      }
    });
  }
  threads.clear();
  return granted;
}

TEST(ManyThreads, AreLetInAsOftenAsTheLimitSays) {
  std::atomic<int> answers = 0;
  EXPECT_EQ(granted_by_threads({}, answers), 500);
  EXPECT_EQ(answers, 1200);
}

TEST(ManyThreads, WithLeasesAreLetInNoMoreOftenAndAllAreAnswered) {
  std::atomic<int> answers = 0;
  const Cost granted = granted_by_threads({.lease = LeaseSettings{.most_units = 32}}, answers);
  EXPECT_EQ(answers, 1200);
  EXPECT_LE(granted, 500);
  EXPECT_GT(granted, 400);
}

}  // namespace
}  // namespace weir::redis
