// The keyed words against the pure machine, tick for tick.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "weir/local/atomic_bucket.hpp"
#include "weir/local/keyed_token_bucket.hpp"

namespace weir::host {
namespace {

using std::chrono::nanoseconds;
using Limiter = KeyedTokenBucket<std::string, ManualClock>;

constexpr SteadyInstant start{std::chrono::hours(1'000)};

/// The pure machine in a limiter's ticks, and its answers in steady time.
class Pure {
 public:
  explicit Pure(const Quota& quota) : config_(KeyedWords::configure(quota).value()) {}

  const KeyedWords::Config& config() const { return config_; }
  Instant ticks(SteadyInstant now) const {
    return Instant{Span{static_cast<std::int64_t>(config_.scale.ticks(now.time_since_epoch()))}};
  }
  SteadyInstant steady(Instant tick) const {
    return SteadyInstant{config_.scale.nanoseconds(tick.time_since_epoch().count())};
  }

  Outcome take(const std::string& key, SteadyInstant now, Cost cost) {
    if (cost < 0) return outcome({Verdict::impossible, never}, now);
    const Decision decision = step<Gcra>(config_.bucket, states_[key], {ticks(now), cost, Span{0}});
    return outcome({decision.verdict, decision.ready_at}, now);
  }
  Standing peek(const std::string& key, SteadyInstant now, Cost cost) {
    const Decision decision =
        weir::peek<Gcra>(config_.bucket, states_[key], {ticks(now), cost, Span{0}});
    return {outcome({decision.verdict, decision.ready_at}, now), decision.limit, decision.remaining,
            std::max(now, steady(states_[key].repaid_at.whole))};
  }
  Cost refund(const std::string& key, SteadyInstant now, Cost units) {
    return Gcra::refund(config_.bucket, states_[key], ticks(now), units);
  }
  void reset(const std::string& key) { states_[key] = never_seen_; }
  void reconfigure(const Quota& quota, Inherit how, SteadyInstant now) {
    const Pure to(quota);
    for (auto& [key, state] : states_) {
      state = inherit<Gcra>({config_.bucket, state, ticks(now)}, {to.config_.bucket, to.ticks(now)},
                            how);
    }
    never_seen_ = inherit<Gcra>({config_.bucket, never_seen_, ticks(now)},
                                {to.config_.bucket, to.ticks(now)}, how);
    config_ = to.config_;
  }
  /// A key that was never asked about inherits too: what it had left stays left.
  void meet(const std::string& key) { states_.emplace(key, never_seen_); }

 private:
  Outcome outcome(Ruling ruling, SteadyInstant now) const {
    if (ruling.verdict == Verdict::granted) return {Verdict::granted, Refusal::none, now};
    if (ruling.verdict == Verdict::impossible) {
      return {Verdict::impossible, Refusal::limit, SteadyInstant::max()};
    }
    return {Verdict::denied, Refusal::limit, steady(ruling.ready_at)};
  }

  KeyedWords::Config config_;
  std::map<std::string, Gcra::State> states_;
  Gcra::State never_seen_;
};

std::string print(const Outcome& outcome) {
  return std::string(name(outcome.verdict)) + " at " +
         std::to_string(outcome.ready_at.time_since_epoch().count());
}

struct Shape {
  std::size_t keys;
  std::size_t max_keys;
  bool late_readings;
  bool changes;
};

class Schedule {
 public:
  Schedule(std::uint64_t seed, const Shape& shape)
      : random_(seed),
        shape_(shape),
        quota_(some_quota()),
        pure_(quota_),
        limiter_({quota_.count, quota_.period, quota_.burst, shape.max_keys, {seed, 2}},
                 ManualClock(time_)) {}

  void run(int events) {
    for (int event = 0; event < events && !testing::Test::HasFailure(); ++event) {
      pass_time();
      // Some often, so that they are denied too.
      const std::size_t hot = std::min<std::size_t>(shape_.keys, 4);
      const std::string key = "key" + std::to_string(below(below(2) == 0 ? hot : shape_.keys));
      pure_.meet(key);
      one_event(key);
    }
  }

  std::size_t decisions = 0;
  std::size_t granted = 0;
  std::size_t denied = 0;
  KeyedWords::Stats stats() const { return limiter_.stats(); }

 private:
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }

  Quota some_quota() {
    const Cost counts[] = {1, 3, 7, 100, 1'000, 999'983, 1'000'000};
    const std::int64_t ms[] = {1, 7, 10, 1'000, 3'000};
    const Cost bursts[] = {1, 2, 5, 100, 1'000};
    return {counts[below(7)], std::chrono::milliseconds{ms[below(5)]}, bursts[below(5)]};
  }

  void pass_time() {
    const std::size_t kind = below(10);
    nanoseconds step{0};
    if (kind < 4) step = nanoseconds{below(3)};
    if (kind == 4) step = nanoseconds{below(10'000'000)};
    if (kind == 5 && below(4) == 0) step = nanoseconds{below(1'000'000'000)};
    if (kind > 5) step = interesting_ - newest_ + nanoseconds{below(3)} - nanoseconds{1};
    newest_ += std::clamp(step, nanoseconds{0}, nanoseconds{std::chrono::minutes(10)});
    now_ = newest_;
    if (shape_.late_readings && below(3) == 0) now_ -= nanoseconds{below(2'000'000'000)};
    time_.set(now_);
  }

  Cost some_cost() {
    const std::size_t kind = below(12);
    if (kind == 0) return 0;
    if (kind == 1) return quota_.burst + static_cast<Cost>(below(2));
    if (kind == 2) return -1 - static_cast<Cost>(below(3));
    if (kind < 6) return 1 + static_cast<Cost>(below(static_cast<std::size_t>(quota_.burst)));
    return 1;
  }

  void one_event(const std::string& key) {
    const std::size_t kind = below(100);
    const Cost cost = some_cost();
    if (kind < 75) {
      compare("take", key, limiter_.try_acquire(key, cost), pure_.take(key, now_, cost));
    } else if (kind < 88) {
      const Standing told = limiter_.peek(key, std::max<Cost>(cost, 0));
      const Standing right = pure_.peek(key, now_, std::max<Cost>(cost, 0));
      compare("peek", key, told.outcome, right.outcome);
      EXPECT_EQ(told.limit, right.limit);
      EXPECT_EQ(told.remaining, right.remaining) << key;
      EXPECT_EQ(told.reset_at, right.reset_at) << key;
    } else if (kind < 96 && !shape_.changes) {
      const Cost units = 1 + static_cast<Cost>(below(5));
      EXPECT_EQ(limiter_.refund(key, units), pure_.refund(key, now_, units)) << key;
    } else if (kind < 99 || !shape_.changes) {
      (void)limiter_.reset(key);
      pure_.reset(key);
    } else {
      quota_ = some_quota();
      const auto how = static_cast<Inherit>(below(4));
      limiter_.reconfigure(quota_, how);
      pure_.reconfigure(quota_, how, now_);
    }
  }

  void compare(const char* verb, const std::string& key, const Outcome& told,
               const Outcome& right) {
    ++decisions;
    granted += right ? 1U : 0U;
    denied += right.verdict == Verdict::denied ? 1U : 0U;
    EXPECT_EQ(told, right) << verb << " " << key << " at " << now_.time_since_epoch().count()
                           << ": told " << print(told) << ", right " << print(right);
    if (right.verdict == Verdict::denied) interesting_ = right.ready_at;
  }

  std::mt19937_64 random_;
  Shape shape_;
  Quota quota_;
  Pure pure_;
  ManualTime time_{start};
  Limiter limiter_;
  SteadyInstant newest_ = start;
  SteadyInstant now_ = start;
  SteadyInstant interesting_ = start;
};

std::size_t expect_equal(const Shape& shape) {
  std::size_t decisions = 0;
  std::size_t granted = 0;
  std::size_t denied = 0;
  std::size_t slots = 0;
  for (std::uint64_t seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Schedule schedule(seed, shape);
    schedule.run(4'000);
    EXPECT_EQ(schedule.stats().shared_answers, 0u);
    decisions += schedule.decisions;
    granted += schedule.granted;
    denied += schedule.denied;
    slots = schedule.stats().slots;
  }
  std::cout << decisions << " decisions, " << granted << " granted, " << denied << " denied\n";
  EXPECT_GT(granted, decisions / 4);
  EXPECT_GT(denied, decisions / 20);
  return slots;
}

TEST(KeyedWords, DecideAsThePureMachine) { expect_equal({40, 1'000, false, false}); }

TEST(KeyedWords, DecideAsThePureMachineWhateverClockReadingsAreLate) {
  expect_equal({4, 1'000, true, false});
}

TEST(KeyedWords, DecideTheSameWhileKeysTakeOverTheSlotsOfRepaidOnes) {
  // More keys than slots; but at any time few are in debt.
  const std::size_t slots = expect_equal({1'000, 150, false, false});
  EXPECT_LT(slots, 1'000u);
}

TEST(KeyedWords, DecideAsThePureMachineAfterChangesOfTheNumbers) {
  expect_equal({40, 1'000, false, true});
}

}  // namespace
}  // namespace weir::host
