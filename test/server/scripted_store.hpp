// A store whose answers the test gives: when, in which order and on which thread it likes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weir/redis/store.hpp"

namespace weir::test {

class ScriptedStore final : public redis::Store {
 public:
  /// What a script answers that grants one unit of a token bucket of 5, as so many are left.
  static redis::StoreReply granted(std::int64_t remaining) {
    constexpr std::int64_t now = 1'795'163'520'000'000;
    return {.outcome = redis::CallOutcome::answered,
            .kind = redis::StoreReply::Kind::integers,
            .integers = {0, now, now, 5, remaining, now + 12'000'000, 0, now + 12'000'000, 0}};
  }

  static redis::StoreReply number(std::int64_t value) {
    return {.outcome = redis::CallOutcome::answered,
            .kind = redis::StoreReply::Kind::integers,
            .integers = {value}};
  }

  static redis::StoreReply ended(redis::CallOutcome outcome) { return {.outcome = outcome}; }

  void ask(const redis::StoreCall& call, Then then) override {
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back({{call.words.begin(), call.words.end()}, std::move(then)});
      if (!answers_at_once_) {
        changed_.notify_all();
        return;
      }
    }
    end_all(granted(1));
  }

  /// From now on calls are answered before ask() returns.
  void answer_at_once() {
    const std::lock_guard lock(mutex_);
    answers_at_once_ = true;
  }

  /// Returns once so many calls were made in all.
  void await(std::size_t calls) {
    std::unique_lock lock(mutex_);
    const auto came = [&] { return calls_.size() >= calls; };
    if (changed_.wait_for(lock, std::chrono::seconds{20}, came)) return;
    throw std::runtime_error("no more calls than " + std::to_string(calls_.size()));
  }

  std::size_t calls() {
    const std::lock_guard lock(mutex_);
    return calls_.size();
  }

  std::vector<std::string> words(std::size_t call) {
    const std::lock_guard lock(mutex_);
    return calls_.at(call).words;
  }

  /// Ends a call, on the caller's thread.
  void end(std::size_t call, redis::StoreReply reply) {
    Then then;
    {
      const std::lock_guard lock(mutex_);
      then = std::exchange(calls_.at(call).then, nullptr);
    }
    then(std::move(reply));
  }

  void end_all(const redis::StoreReply& reply) {
    std::vector<Then> open;
    {
      const std::lock_guard lock(mutex_);
      for (Call& call : calls_) {
        if (call.then) open.push_back(std::exchange(call.then, nullptr));
      }
    }
    for (const Then& then : open) then(redis::StoreReply(reply));
  }

 private:
  struct Call {
    std::vector<std::string> words;
    Then then;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Call> calls_;
  bool answers_at_once_ = false;
};

/// A store that nobody reaches.
struct GoneStore final : redis::Store {
  void ask(const redis::StoreCall&, Then then) override {
    then({.outcome = redis::CallOutcome::not_sent, .text = "gone"});
  }
};

}  // namespace weir::test
