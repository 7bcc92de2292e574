// Coroutines and threads that ask a limit, for tests.
#pragma once

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace weir {

/// Longer than any machine is busy, and far below what a forgotten waiter would take.
template <typename Holds>
bool soon(Holds&& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

/// What came of one `co_await`, written before `done`.
template <typename Permit>
struct Waited {
  std::optional<Permit> permit;
  std::atomic<bool> done{false};  ///< suspended at its end, to be destroyed

  bool ended() const { return done.load(std::memory_order_acquire); }
};

/// A coroutine that runs at once and whose frame it owns.
template <typename Permit>
class Job {
 public:
  struct promise_type {
    template <typename Entering>
    promise_type(Entering&, Waited<Permit>& its) : waited(its) {}

    struct End {
      Waited<Permit>& waited;
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<>) noexcept {
        waited.done.store(true, std::memory_order_release);
      }
      void await_resume() noexcept {}
    };
    Waited<Permit>& waited;

    Job get_return_object() {
      return Job(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    End final_suspend() noexcept { return {waited}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  explicit Job(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Job(Job&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Job& operator=(Job&&) = delete;
  ~Job() { destroy(); }

  void destroy() {
    if (handle_) std::exchange(handle_, {}).destroy();
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// Awaits what a function returns: a reference would be gone when it is awaited.
template <typename Permit, typename Begin>
Job<Permit> await_one(Begin& begin, Waited<Permit>& waited) {
  waited.permit.emplace(co_await begin());
}

}  // namespace weir
