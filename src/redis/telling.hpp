// How the public limiters tell an answer: by the steady clock, to a function or to who waits.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "redis/remote_table.hpp"
#include "weir/redis/outcome.hpp"

namespace weir::redis {

Outcome outcome_of(RemoteAnswer&& answer);

/// To who asks for less than nothing.
Outcome never_taken();

/// Whether this thread is within a function that was called back.
bool& called_back() noexcept;

/// Calls it back.
template <typename Then, typename Answer>
void tell(const Then& then, Answer&& answer) noexcept {
  const bool outer = std::exchange(called_back(), true);
  then(std::forward<Answer>(answer));
  called_back() = outer;
}

/// The answer where waiting for one would never end: from within a function that was called back.
template <typename Answer>
Answer would_hang();
template <>
Outcome would_hang();
template <>
Joint would_hang();
template <>
Gift would_hang();

/// The answer of a verb, `begin(then)`, that calls `then` exactly once.
template <typename Answer, typename Begin>
Answer answer_of(Begin&& begin) {
  if (called_back()) return would_hang<Answer>();
  std::mutex mutex;
  std::condition_variable told;
  std::optional<Answer> answer;
  begin([&](Answer&& came) {
    // Told under the lock: once it is free the thread may be gone, and this with it.
    const std::lock_guard lock(mutex);
    answer = std::move(came);
    told.notify_one();
  });
  std::unique_lock lock(mutex);
  told.wait(lock, [&] { return answer.has_value(); });
  return std::move(*answer);
}

}  // namespace weir::redis
