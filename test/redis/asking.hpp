// Asking a store and waiting for the answer, as a test does.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "weir/redis/store.hpp"

namespace weir::test {

using redis::StoreReply;

/// How long a call may take that is to be answered; generous.
inline constexpr std::chrono::seconds long_enough{30};

inline void ask(redis::Store& store, const std::vector<std::string>& words,
                std::chrono::nanoseconds within, redis::Store::Then then) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  store.ask({.words = views,
             .route = views.size() > 1 ? views[1] : std::string_view(),
             .deadline_at = std::chrono::steady_clock::now() + within},
            std::move(then));
}

inline std::future<StoreReply> begin(redis::Store& store, const std::vector<std::string>& words,
                                     std::chrono::nanoseconds within = long_enough) {
  auto promise = std::make_shared<std::promise<StoreReply>>();
  ask(store, words, within,
      [promise](StoreReply&& reply) { promise->set_value(std::move(reply)); });
  return promise->get_future();
}

/// Throws where `then` is not called.
inline StoreReply result(std::future<StoreReply> future) {
  if (future.wait_for(2 * long_enough) != std::future_status::ready) {
    throw std::runtime_error("a call has no end");
  }
  return future.get();
}

inline StoreReply ask(redis::Store& store, const std::vector<std::string>& words,
                      std::chrono::nanoseconds within = long_enough) {
  return result(begin(store, words, within));
}

/// Asks until the store answers.
inline StoreReply ask_until_answered(redis::Store& store, const std::vector<std::string>& words) {
  const auto patience_ends_at = std::chrono::steady_clock::now() + long_enough;
  while (true) {
    StoreReply reply = ask(store, words);
    if (reply.outcome == redis::CallOutcome::answered) return reply;
    if (std::chrono::steady_clock::now() > patience_ends_at) {
      throw std::runtime_error("no answer: " + reply.text);
    }
    std::this_thread::yield();
  }
}

}  // namespace weir::test
