// Keyed limiters of any limit against the pure machine.
#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "weir/local/keyed_limiter.hpp"
#include "weir/local/locked.hpp"

namespace weir::host {
namespace {

using Machine = Limit::Machine;
using Ticks = LockedState<Machine>;
using std::string;
using std::chrono::nanoseconds;

constexpr SteadyInstant start{std::chrono::hours(1'000)};

constexpr std::array limit_texts{"5/1s",
                                 "3/7ms burst 4",
                                 "leaky-bucket 7/3ms queue 20",
                                 "fixed-window 50/1s",
                                 "sliding-window 6/70ms parts 3",
                                 "sliding-log 40/1s",
                                 "5/1s block 300ms",
                                 "10/1s burst 3 & 20/1m"};

class Schedule {
 public:
  Schedule(std::uint64_t seed, bool changes)
      : random_(seed),
        changes_(changes),
        limit_(some_limit()),
        limiter_(limit_.text(), {.shards = 1, .hash_key = {seed, 2}}, ManualClock(time_)) {}

  void run(int events) {
    for (int event = 0; event < events && !testing::Test::HasFailure(); ++event) {
      pass_time();
      const string key = "key" + std::to_string(below(4));
      one_event(key, states_[key]);
    }
  }

  std::size_t granted = 0;
  std::size_t denied = 0;

 private:
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }
  Limit some_limit() { return Limit::parse(limit_texts[below(limit_texts.size())]).value(); }
  Instant ticks() const { return Ticks::ticks(time_.now()); }

  void pass_time() {
    const std::size_t kind = below(10);
    nanoseconds step{0};
    if (kind < 4) step = nanoseconds{below(3)};
    if (kind == 4) step = nanoseconds{below(10'000'000)};
    if (kind == 5) step = nanoseconds{below(300'000'000)};
    if (kind > 7) step = interesting_ - time_.now() + nanoseconds{below(3)} - nanoseconds{1};
    time_.advance(std::clamp(step, nanoseconds{0}, nanoseconds{std::chrono::minutes(2)}));
  }

  void one_event(const string& key, Limit::State& state) {
    const Machine::Config& config = limit_.config();
    const Cost cost = static_cast<Cost>(below(4) > 0 ? 1 : below(8));
    const std::size_t kind = below(100);
    if (kind < 75) {
      const Decision right = step<Machine>(config, state, {ticks(), cost, Span{0}});
      compare(key, limiter_.try_acquire(key, cost), right);
    } else if (kind < 88) {
      const Decision right = peek<Machine>(config, state, {ticks(), cost, Span{0}});
      const Standing told = limiter_.peek(key, cost);
      compare(key, told.outcome, right);
      EXPECT_EQ(told.limit, right.limit);
      EXPECT_EQ(told.remaining, right.remaining);
      EXPECT_EQ(told.reset_at, std::max(time_.now(), Ticks::steady(right.reset_at)));
    } else if (kind < 96) {
      const Cost units = 1 + static_cast<Cost>(below(4));
      EXPECT_EQ(limiter_.refund(key, units), Machine::refund(config, state, ticks(), units));
    } else if (kind < 99 || !changes_) {
      (void)limiter_.reset(key);
      state = {};
    } else {
      change();
    }
  }

  void change() {
    const Limit to = some_limit();
    const auto how = static_cast<Inherit>(below(4));
    limiter_.reconfigure(to.text(), how);
    for (auto& [key, state] : states_) {
      if (Machine::fresh_at(limit_.config(), state) <= ticks()) {
        state = {};
      } else {
        state = inherit<Machine>({limit_.config(), state, ticks()}, {to.config(), ticks()}, how);
      }
    }
    limit_ = to;
  }

  void compare(const string& key, const Outcome& told, const Decision& right) {
    Outcome outcome{right.verdict, Refusal::none, time_.now()};
    if (!taken(right.verdict)) outcome = {right.verdict, Refusal::limit, SteadyInstant::max()};
    if (right.verdict == Verdict::denied) outcome.ready_at = Ticks::steady(right.ready_at);
    EXPECT_EQ(told, outcome) << key << ", limit " << limit_.text() << ": told "
                             << name(told.verdict) << ", right " << name(right.verdict);
    granted += taken(right.verdict) ? 1U : 0U;
    denied += right.verdict == Verdict::denied ? 1U : 0U;
    if (right.verdict == Verdict::denied) interesting_ = outcome.ready_at;
  }

  std::mt19937_64 random_;
  bool changes_;
  Limit limit_;
  ManualTime time_{start};
  KeyedLimiter<string, ManualClock> limiter_;
  std::map<string, Limit::State> states_;
  SteadyInstant interesting_ = start;
};

void expect_equal(bool changes) {
  std::size_t granted = 0;
  std::size_t denied = 0;
  for (std::uint64_t seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Schedule schedule(seed, changes);
    schedule.run(2'000);
    granted += schedule.granted;
    denied += schedule.denied;
  }
  std::cout << granted << " granted, " << denied << " denied\n";
  EXPECT_GT(granted, 20'000u);
  EXPECT_GT(denied, 8'000u);
}

TEST(KeyedLimiter, DecidesAsThePureMachine) { expect_equal(false); }

TEST(KeyedLimiter, DecidesAsThePureMachineAfterChangesOfTheLimit) { expect_equal(true); }

}  // namespace
}  // namespace weir::host
