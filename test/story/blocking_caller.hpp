// A caller who sleeps until its turn, as the callers of libraries that only block do.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "weir/algorithm/concept.hpp"

namespace weir {

template <typename M>
class BlockingCaller {
 public:
  BlockingCaller(const typename M::Config& config, typename M::State state)
      : config_(config), state_(state) {}

  /// Sleeps for its turn; returns how long.
  Span acquire(Cost cost = 1) {
    const Decision decision = step<M>(config_, state_, {now_, cost, longest_span});
    EXPECT_TRUE(taken(decision.verdict));
    const Span wait = decision.ready_at - now_;
    now_ = decision.ready_at;
    return wait;
  }

  bool try_acquire(Cost cost, Span timeout) {
    const Span patience = std::clamp(timeout, Span{0}, longest_span);
    const Decision decision = step<M>(config_, state_, {now_, cost, patience});
    if (taken(decision.verdict)) now_ = decision.ready_at;
    return taken(decision.verdict);
  }

  void rest(Span span) { now_ += span; }

  void set_rate(const typename M::Config& config) {
    state_ = M::rescaled(config_, config, state_, now_);
    config_ = config;
  }

  Instant now() const { return now_; }
  const typename M::State& state() const { return state_; }

  /// So many calls of cost 1: "0.00 1.38 1.13", in seconds, as Guava's tests tell them.
  std::string acquire_times(int count) {
    std::string told;
    for (int at = 0; at < count; ++at) {
      const std::int64_t hundredths = (acquire().count() + 5'000) / 10'000;
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), "%s%lld.%02lld", at > 0 ? " " : "",
                    static_cast<long long>(hundredths / 100),
                    static_cast<long long>(hundredths % 100));
      told += text.data();
    }
    return told;
  }

 private:
  typename M::Config config_;
  typename M::State state_;
  Instant now_{};
};

}  // namespace weir
