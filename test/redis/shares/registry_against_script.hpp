// Random requests to a ShareRegistry and to its script: equal answers, equal states.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "redis/share_registry.hpp"
#include "test/redis/script_store.hpp"

namespace weir::redis {

class RegistryAgainstScript {
 public:
  RegistryAgainstScript(ScriptStore& store, std::uint64_t seed)
      : store_(store), random_(seed), now_(Span{std::chrono::seconds{1'750'000'000}}) {
    store_.set_time(now_);
    store_.erase(key);
  }

  /// One request of some member, sometimes late, sometimes with a clock that was set.
  void event() {
    pass_time();
    const ShareRegistry::Request request = some_request();
    if (state_ && below(40) == 0) forget();
    const auto right = ShareRegistry::step(state_, now_, request);
    const ScriptReply told = store_.call({ScriptVerb::share, '-', {key}, share_arguments(request)});
    if (!right) {
      ++refused;
      EXPECT_EQ(told.error.substr(0, 10), "ERR weir: ");
      return;
    }
    ASSERT_EQ(told.error, "");
    EXPECT_EQ(read_share_answer(told.integers), *right);
    confirmed += right->learns_for > Span{0} ? 1 : 0;
    granted += right->share > 0 ? 1 : 0;
    holds_[static_cast<std::size_t>(request.member)] = right->share;
    look();
    if (request.lease > Span{0}) {
      EXPECT_EQ(store_.expires_in_ms(key), state_->lease.count() / 1000 + 1);
    }
  }

  std::size_t granted = 0;
  std::size_t confirmed = 0;
  std::size_t refused = 0;

 private:
  static constexpr const char* key = "weir:{limit}:shares";
  static constexpr std::int64_t members = 12;

  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
  }

  void pass_time() {
    const std::int64_t kind = below(30);
    if (kind == 0) now_ -= Span{below(20'000'000)};
    if (kind == 1) now_ += Span{below(20'000'000)};
    if (kind == 2 && state_ && !state_->holders.empty()) {
      now_ = std::max(now_, state_->holders.front().ends_at - Span{below(2)});
    }
    if (kind > 2) now_ += Span{below(400'000)};
    store_.set_time(now_);
    // A key lives through the millisecond at which it expires; the machine is told when it is gone.
    if (state_ && !store_.get(key)) state_.reset();
  }

  void forget() {
    store_.erase(key);
    state_.reset();
  }

  ShareRegistry::Request some_request() {
    ShareRegistry::Request request;
    request.division = static_cast<Division>(below(3));
    request.lease = Span{below(12) == 0 ? 0 : 4'000'000 + 1'000'000 * below(2)};
    request.member = below(members);
    ++asked_;
    request.asked = asked_;
    if (below(12) == 0) request.asked -= below(std::min<std::int64_t>(asked_, 20));
    request.wants = below(3) == 0 ? below(20) : below(whole_share + 1) / (1 + below(6));
    if (request.lease > Span{0} && below(5) != 0) {
      request.holds = holds_[static_cast<std::size_t>(request.member)];
    } else if (below(10) == 0) {
      request.holds = below(whole_share + 1);
    }
    return request;
  }

  void look() {
    const auto kept = store_.get(key);
    ASSERT_EQ(kept.has_value(), state_.has_value());
    if (!kept) return;
    EXPECT_EQ(read_registry(*kept), state_);
    EXPECT_EQ(*kept, write_registry(*state_));
  }

  ScriptStore& store_;
  std::mt19937_64 random_;
  Instant now_;
  std::optional<ShareRegistry::State> state_{};
  std::vector<std::int64_t> holds_ = std::vector<std::int64_t>(members);
  std::int64_t asked_ = 0;
};

}  // namespace weir::redis
