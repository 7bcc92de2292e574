// What holds for a breaker whatever its calls do.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "test/overload/naive_breaker.hpp"
#include "weir/overload/circuit_breaker.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

/// Settings that are small, so that a short schedule meets every threshold.
std::vector<Breaker::Settings> small_settings() {
  return {
      {.error_ratio = 1, .minimum_calls = 2, .window_calls = 3, .open_for = 5ns, .probe_for = 9ns},
      {.error_ratio = 0.5,
       .minimum_calls = 2,
       .window_for = 1us,
       .window_parts = 50,
       .open_for = 5ns,
       .longest_open_for = 17ns,
       .probes = 3,
       .successes = 4,
       .probe_for = 30ns},
      {.error_count = 2,
       .minimum_calls = 1,
       .window_for = 1us,
       .window_parts = 60,
       .open_for = 3ns,
       .probes = 2,
       .successes = 1,
       .probe_for = 6ns},
      {.slow_ratio = 0.25,
       .slow_after = 4ns,
       .minimum_calls = 3,
       .window_calls = 5,
       .open_for = 8ns,
       .longest_open_for = 64ns,
       .probes = 2,
       .successes = 3,
       .probe_for = 20ns},
      {.error_ratio = 0.75,
       .slow_ratio = 0.5,
       .error_count = 6,
       .slow_after = 5ns,
       .minimum_calls = 2,
       .window_for = 1us,
       .window_parts = 3,
       .open_for = 40ns,
       .probes = 64,
       .successes = 10,
       .probe_for = 15ns},
  };
}

/// Runs a breaker beside its reference, and counts from outside what the bound speaks of.
class BesideTheReference {
 public:
  BesideTheReference(const Breaker::Settings& settings, std::uint64_t seed)
      : settings_(settings), config_(*Breaker::configure(settings)), naive_(settings) {
    random_.seed(seed);
  }

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      switch (below(16)) {
        case 0: move_time(); break;
        case 1:
          if (below(20) == 0) hold();
          break;
        case 2: now_ += 1ns; break;
        case 3:
        case 4:
        case 5:
        case 6:
        case 7:
        case 8: enter(); break;
        default: end();
      }
      expect_equal();
    }
  }

  std::int64_t turned() const { return turned_; }

 private:
  struct Call {
    Breaker::Ticket ticket;
    std::ptrdiff_t number;
    SteadyInstant let_in_at;
  };

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  void move_time() {
    const auto by = std::chrono::nanoseconds(below(60));
    if (below(4) == 0) bad_of_ten_ = below(11);
    const bool back = below(8) == 0;
    now_ += back ? -by : by;
  }

  void hold() {
    newest_ = std::max(newest_, now_);
    const auto hold = static_cast<Breaker::Hold>(below(10) < 7 ? 0 : below(3));
    if (hold == Breaker::Hold::open) Breaker::open(state_, now_);
    if (hold == Breaker::Hold::closed) Breaker::close(state_, now_);
    if (hold == Breaker::Hold::none) Breaker::reset(state_, now_);
    naive_.hold(hold, now_);
    probes_.clear();
    opened_at_ = {};
  }

  void enter() {
    newest_ = std::max(newest_, now_);
    const Circuit before = state_.circuit;
    const auto answer = Breaker::enter(config_, state_, now_);
    const auto number = naive_.enter(now_);
    ASSERT_EQ(answer.ticket != 0, number >= 0);
    ASSERT_TRUE(before != Circuit::closed || answer.ticket != 0);
    if (answer.ticket == 0) {
      ASSERT_GE(answer.ready_at, newest_);
      return;
    }
    if (before != Circuit::closed) {
      ASSERT_GE(newest_ - opened_at_, settings_.open_for);
      std::erase_if(probes_, [this](const Call& probe) {
        return newest_ - probe.let_in_at >= settings_.probe_for;
      });
      probes_.push_back({answer.ticket, number, newest_});
      ASSERT_LE(std::ssize(probes_), settings_.probes);
    }
    calls_.push_back({answer.ticket, number, now_});
  }

  void end() {
    if (calls_.empty()) return;
    // Often the newest: after an opening most of the others are late.
    const auto at = below(2) == 0
                        ? calls_.end() - 1
                        : calls_.begin() + static_cast<std::ptrdiff_t>(below(calls_.size()));
    const Call call = *at;
    // A few end twice.
    if (below(30) != 0) calls_.erase(at);
    const Circuit before = state_.circuit;
    newest_ = std::max(newest_, now_);
    if (below(6) == 0) {
      Breaker::withdraw(config_, state_, call.ticket, now_);
      naive_.withdraw(call.number, now_);
    } else {
      const CallSample sample{.ended_at = now_,
                              .latency = std::chrono::nanoseconds(below(8)),
                              .end = static_cast<CallEnd>(below(10) < bad_of_ten_ ? below(4) : 0)};
      Breaker::observe(config_, state_, call.ticket, sample);
      naive_.end(call.number, sample);
    }
    std::erase_if(probes_, [&](const Call& probe) { return probe.number == call.number; });
    if (before == state_.circuit) return;
    ++turned_;
    if (state_.circuit == Circuit::closed) probes_.clear();
    if (state_.circuit == Circuit::open && state_.ready_at > newest_) opened_at_ = newest_;
    if (state_.circuit == Circuit::open) probes_.clear();
  }

  void expect_equal() {
    const auto standing = Breaker::standing(config_, state_, now_);
    ASSERT_EQ(standing.circuit, naive_.circuit());
    ASSERT_EQ(standing.probing, naive_.probing(now_));
    ASSERT_EQ(standing.successful, naive_.succeeded());
    ASSERT_EQ(standing.counts, naive_.counts(now_));
    ASSERT_EQ(standing.ready_at, naive_.ready_at());
  }

  Breaker::Settings settings_;
  Breaker::Config config_;
  Breaker::State state_;
  NaiveBreaker naive_;
  std::mt19937_64 random_;
  SteadyInstant now_{1h};
  SteadyInstant newest_ = SteadyInstant::min();  ///< that it was told
  SteadyInstant opened_at_{};
  std::vector<Call> calls_;
  std::vector<Call> probes_;  ///< in flight, as seen from outside
  std::uint64_t bad_of_ten_ = 5;
  std::int64_t turned_ = 0;
};

TEST(CircuitBreakerLaw, ItActsAsTheReferenceAndKeepsItsBound) {
  for (const Breaker::Settings& settings : small_settings()) {
    std::int64_t turned = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      SCOPED_TRACE(seed);
      BesideTheReference pair(settings, seed);
      pair.run(1200);
      turned += pair.turned();
      if (HasFailure()) return;
    }
    EXPECT_GT(turned, 1000);  // else the schedules say little
  }
}

/// Every short schedule, followed by calls that all succeed.
class EverySchedule {
 public:
  explicit EverySchedule(const Breaker::Settings& settings)
      : settings_(settings), config_(*Breaker::configure(settings)) {}

  void from(const Breaker::State& state, const std::vector<Breaker::Ticket>& calls,
            SteadyInstant now, int steps) {
    if (steps == 0) {
      ++schedules;
      if (Breaker::standing(config_, state, now).circuit != Circuit::closed) ++not_closed;
      if (!closes(state, now)) ++locked_out;
      return;
    }
    for (const Step step :
         {Step::enter, Step::succeed, Step::fail, Step::withdraw, Step::lose, Step::wait}) {
      Breaker::State next = state;
      std::vector<Breaker::Ticket> left = calls;
      if (take(step, next, left, now)) {
        from(next, left, now + (step == Step::wait ? settings_.open_for : 0ns), steps - 1);
      }
    }
  }

  std::int64_t schedules = 0;
  std::int64_t not_closed = 0;
  std::int64_t locked_out = 0;

 private:
  enum class Step : std::uint8_t { enter, succeed, fail, withdraw, lose, wait };

  bool take(Step step, Breaker::State& state, std::vector<Breaker::Ticket>& calls,
            SteadyInstant now) const {
    if (step == Step::wait) return true;
    if (step == Step::enter) {
      const auto answer = Breaker::enter(config_, state, now);
      if (answer.ticket != 0) calls.push_back(answer.ticket);
      return true;
    }
    if (calls.empty()) return false;
    const Breaker::Ticket ticket = calls.back();
    calls.pop_back();
    if (step == Step::succeed) Breaker::observe(config_, state, ticket, {.ended_at = now});
    if (step == Step::fail) {
      Breaker::observe(config_, state, ticket, {.ended_at = now, .end = CallEnd::failure});
    }
    if (step == Step::withdraw) Breaker::withdraw(config_, state, ticket, now);
    return true;  // Step::lose: the caller crashed
  }

  /// Whether calls that succeed close it, though nothing that is under way ever ends.
  bool closes(Breaker::State state, SteadyInstant now) const {
    const SteadyInstant end =
        now + std::max(settings_.open_for, settings_.longest_open_for) + settings_.probe_for;
    std::int64_t let_in = 0;
    for (; now <= end; now += 1ns) {
      for (;;) {
        if (state.circuit == Circuit::closed) return true;
        const auto answer = Breaker::enter(config_, state, now);
        if (answer.ticket == 0) break;
        Breaker::observe(config_, state, answer.ticket, {.ended_at = now});
        if (++let_in > settings_.successes) return false;
      }
    }
    return false;
  }

  Breaker::Settings settings_;
  Breaker::Config config_;
};

TEST(CircuitBreakerLaw, FromAnyStateCallsThatSucceedCloseIt) {
  for (const std::int64_t probes : {1, 2}) {
    EverySchedule every({.error_count = 1,
                         .minimum_calls = 1,
                         .window_calls = 4,
                         .open_for = 2ns,
                         .longest_open_for = 4ns,
                         .probes = probes,
                         .successes = 2,
                         .probe_for = 5ns});
    every.from({}, {}, SteadyInstant{1h}, 9);
    EXPECT_EQ(every.locked_out, 0);
    EXPECT_GT(every.schedules, 10'000);
    EXPECT_GT(every.not_closed, 1'000);
  }
}

}  // namespace
}  // namespace weir
