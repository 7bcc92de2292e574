// A coroutine that asks a limiter over a store, on a table whose answers the test gives.
#include "weir/redis/awaiting.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "test/redis/remote_table_by_hand.hpp"
#include "weir/redis/limiter.hpp"

namespace weir::redis {
namespace {

constexpr RemoteAnswer (*granted)() = [] {
  return RemoteAnswer{.decision = {Verdict::granted, Instant{}, 5, 4, Instant{}},
                      .decided_at = Instant{}};
};

/// A coroutine; its frame goes with this, which waits for no end.
struct Task {
  struct promise_type {
    /// Only where the coroutine has suspended may another thread destroy it.
    struct TellEnd {
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
        ended.promise().ended = true;
      }
      void await_resume() noexcept {}
    };

    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    TellEnd final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }

    std::atomic<bool> ended{false};
  };

  Task(std::coroutine_handle<promise_type> of) : frame(of) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() { frame.destroy(); }

  bool ended() const { return frame.promise().ended; }

  std::coroutine_handle<promise_type> frame;
};

Task ask(const Limiter<>& limiter, std::atomic<int>& taken, std::thread::id* went_on) {
  const Outcome outcome = co_await limiter.async_try_acquire("alice");
  *went_on = std::this_thread::get_id();
  taken += outcome ? 1 : 0;
}

TEST(Awaiting, GoesOnAtOnceWhereTheAnswerIsKnown) {
  Hands hands;
  hands.answers = granted();
  const Limiter limiter(hands, "5/1m");
  std::atomic<int> taken{0};
  std::thread::id went_on;
  const Task task = ask(limiter, taken, &went_on);
  EXPECT_EQ(taken, 1);
  EXPECT_TRUE(task.ended());
}

TEST(Awaiting, IsResumedByWhoBringsTheAnswer) {
  Hands hands;
  const Limiter limiter(hands, "5/1m");
  std::atomic<int> taken{0};
  std::thread::id went_on;
  const Task task = ask(limiter, taken, &went_on);
  EXPECT_FALSE(task.ended());
  std::thread::id store_thread;
  std::thread([&] {
    store_thread = std::this_thread::get_id();
    hands.next().then(granted());
  }).join();
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(went_on, store_thread);
}

TEST(Awaiting, WhoIsGoneIsNotResumed) {
  Hands hands;
  const Limiter limiter(hands, "5/1m");
  std::atomic<int> taken{0};
  std::thread::id went_on;
  { const Task task = ask(limiter, taken, &went_on); }
  hands.next().then(granted());
  EXPECT_EQ(taken, 0);
}

TEST(Awaiting, GoesOnOnceHoweverTheAnswerAndTheWaitMeet) {
  constexpr int rounds = 2'000;
  Hands hands;
  const Limiter limiter(hands, "5/1m");
  std::atomic<int> taken{0};
  std::jthread store([&] {
    for (int round = 0; round < rounds; ++round) hands.next().then(granted());
  });
  for (int round = 1; round <= rounds; ++round) {
    std::thread::id went_on;
    const Task task = ask(limiter, taken, &went_on);
    while (!task.ended()) std::this_thread::yield();
  }
  EXPECT_EQ(taken, rounds);
}

}  // namespace
}  // namespace weir::redis
