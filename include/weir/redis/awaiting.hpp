// A coroutine that waits for a store's answer.
#pragma once

#include <atomic>
#include <coroutine>
#include <memory>
#include <string>
#include <utility>

#include "weir/redis/limits.hpp"

namespace weir::redis {

/// What `co_await limiter.async_try_acquire(key)` waits on. It asks when it is awaited. Where the
/// answer is known at once the coroutine just goes on; else it is resumed on the store's thread: a
/// few instructions may run there, or a hand-over to where the work belongs (weir/redis/asio.hpp
/// completes on an executor of yours).
///
/// Destroying the suspended coroutine forgets the answer; what it took stays taken. As with any
/// suspended coroutine, it must not be resumed meanwhile.
class [[nodiscard]] Awaiting {
 public:
  Awaiting(SharedLimit limit, std::string key, const SharedLimit::Ask& ask)
      : limit_(std::move(limit)), key_(std::move(key)), ask_(ask) {}
  Awaiting(Awaiting&&) = default;
  Awaiting& operator=(Awaiting&&) = delete;
  ~Awaiting() {
    if (meeting_) meeting_->met.store(Met::nobody_waits, std::memory_order_relaxed);
  }

  bool await_ready() const noexcept { return false; }

  bool await_suspend(std::coroutine_handle<> waiting) {
    meeting_ = std::make_shared<Meeting>();
    meeting_->waiting = waiting;
    const auto meeting = meeting_;  // once both have come, this may be gone
    limit_.take(key_, ask_, [meeting](Outcome&& outcome) {
      meeting->outcome = std::move(outcome);
      if (meeting->met.exchange(Met::one) == Met::one) meeting->waiting.resume();
    });
    return meeting->met.exchange(Met::one) == Met::none;
  }

  Outcome await_resume() { return std::move(meeting_->outcome); }

 private:
  enum class Met : unsigned char { none, one, nobody_waits };
  /// Of the coroutine, that has suspended, and the answer: who comes second has it go on.
  struct Meeting {
    std::atomic<Met> met{Met::none};
    std::coroutine_handle<> waiting{};
    Outcome outcome{};
  };

  SharedLimit limit_;
  std::string key_;
  SharedLimit::Ask ask_;
  std::shared_ptr<Meeting> meeting_;
};

}  // namespace weir::redis
