// Awaits a limiter without any library: `co_await limiter.async_acquire(n)`.
//
// It shows: a coroutine that had to wait goes on in the library's thread of alarms. All alarms of
// the process share that thread, so the coroutine hands itself over to where its work belongs
// before it does anything else.
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <iostream>
#include <mutex>
#include <utility>

#include "weir/local/limiter.hpp"

namespace {

using namespace std::chrono_literals;

/// A coroutine that nobody waits for.
struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

/// Runs coroutines on the one thread that calls run(): a stand-in for the loop of your program.
class Loop {
 public:
  /// `co_await loop.enter()`: from here on the coroutine runs on the loop's thread.
  auto enter() {
    struct Entering {
      Loop& loop;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> coroutine) { loop.put(coroutine); }
      void await_resume() const noexcept {}
    };
    return Entering{*this};
  }

  void run(int coroutines) {
    while (coroutines > 0) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !ready_.empty(); });
      const std::coroutine_handle<> next = ready_.front();
      ready_.pop_front();
      lock.unlock();
      next.resume();
      coroutines -= std::exchange(ended_, 0);
    }
  }

  /// Called by a coroutine, on the loop's thread, before it ends.
  void leave() { ++ended_; }

 private:
  void put(std::coroutine_handle<> coroutine) {
    const std::lock_guard lock(mutex_);
    ready_.push_back(coroutine);
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::coroutine_handle<>> ready_;
  int ended_ = 0;
};

struct Calls {
  Loop& loop;
  weir::TokenBucket& limit;
  int made = 0;
};

Detached caller(Calls& calls, int wanted) {
  for (int call = 0; call < wanted; ++call) {
    const weir::Outcome turn = co_await calls.limit.async_acquire();
    co_await calls.loop.enter();
    if (turn) ++calls.made;  // needs no lock: all of them are on the loop's thread by now
  }
  calls.loop.leave();
}

}  // namespace

int main() {
  Loop loop;
  weir::TokenBucket limit({.count = 100, .period = 1s, .burst = 5});
  Calls calls{loop, limit};
  const auto start = std::chrono::steady_clock::now();
  for (int callers = 0; callers < 5; ++callers) caller(calls, 6);
  loop.run(5);
  const auto took = std::chrono::steady_clock::now() - start;
  std::cout << calls.made << " calls in " << took / 1ms << " ms\n";
  // 5 at once, and 25 at 100 a second.
  return calls.made == 30 && took >= 250ms ? 0 : 1;
}
