// Stories of one breaker, those of its peers among them.
#include "weir/overload/circuit_breaker.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

namespace weir {
namespace {

using namespace std::chrono_literals;

/// A breaker and its time.
class Told {
 public:
  explicit Told(const Breaker::Settings& settings) : config_(*Breaker::configure(settings)) {}

  Breaker::Answer enter() { return Breaker::enter(config_, state_, now); }
  void end(Breaker::Ticket ticket, CallEnd end, std::chrono::nanoseconds latency = {}) {
    Breaker::observe(config_, state_, ticket, {.ended_at = now, .latency = latency, .end = end});
  }
  void withdraw(Breaker::Ticket ticket) { Breaker::withdraw(config_, state_, ticket, now); }

  /// So many calls, one after the other; returns how many were let in.
  int call(int count, CallEnd how, std::chrono::nanoseconds latency = {}) {
    int let_in = 0;
    for (int call = 0; call < count; ++call) {
      const auto ticket = enter().ticket;
      if (ticket == 0) continue;
      ++let_in;
      end(ticket, how, latency);
    }
    return let_in;
  }

  Breaker::Standing standing() const { return Breaker::standing(config_, state_, now); }
  Circuit circuit() const { return standing().circuit; }
  Breaker::State& state() { return state_; }

  SteadyInstant now{1h};

 private:
  Breaker::Config config_;
  Breaker::State state_;
};

TEST(CircuitBreaker, ItOpensWhereTheRatioIsMetAndNotOneCallBefore) {
  Told breaker({.error_ratio = 0.5, .minimum_calls = 10, .window_calls = 100});
  breaker.call(5, CallEnd::success);
  breaker.call(4, CallEnd::failure);
  EXPECT_EQ(breaker.circuit(), Circuit::closed);  // 4 of 9, and too few
  breaker.call(1, CallEnd::dropped);
  EXPECT_EQ(breaker.circuit(), Circuit::open);  // 5 of 10
  EXPECT_EQ(breaker.call(3, CallEnd::success), 0);
}

TEST(CircuitBreaker, TwoOfThreeMeetTwoThirds) {
  Told breaker({.error_ratio = 2.0 / 3, .minimum_calls = 3, .window_calls = 3});
  breaker.call(1, CallEnd::success);
  breaker.call(2, CallEnd::failure);
  EXPECT_EQ(breaker.circuit(), Circuit::open);
}

TEST(CircuitBreaker, ASuccessCanBeTheCallThatFillsTheMinimum) {
  Told breaker({.error_ratio = 0.5, .minimum_calls = 10, .window_calls = 10});
  breaker.call(9, CallEnd::failure);
  EXPECT_EQ(breaker.circuit(), Circuit::closed);
  breaker.call(1, CallEnd::success);
  EXPECT_EQ(breaker.circuit(), Circuit::open);
}

TEST(CircuitBreaker, ACallIsSlowAboveTheLineWhateverItsEnd) {
  Told breaker({.slow_ratio = 1, .slow_after = 50ms, .minimum_calls = 2, .window_calls = 2});
  breaker.call(2, CallEnd::success, 50ms);
  EXPECT_EQ(breaker.circuit(), Circuit::closed);
  breaker.call(1, CallEnd::success, 50ms + 1ns);
  breaker.call(1, CallEnd::failure, 60ms);
  EXPECT_EQ(breaker.circuit(), Circuit::open);
}

TEST(CircuitBreaker, OldFailuresLeaveAWindowOfTime) {
  Told breaker({.error_count = 5, .minimum_calls = 5, .window_for = 10s});
  breaker.call(4, CallEnd::failure);
  breaker.now += 10s;
  breaker.call(4, CallEnd::failure);
  EXPECT_EQ(breaker.circuit(), Circuit::closed);
  breaker.now += 9s;
  breaker.call(1, CallEnd::failure);
  EXPECT_EQ(breaker.circuit(), Circuit::open);
}

TEST(CircuitBreaker, IgnoredCallsAreNotCounted) {
  Told breaker({.error_ratio = 0.5, .minimum_calls = 2, .window_calls = 10});
  breaker.call(50, CallEnd::ignored);
  breaker.call(1, CallEnd::failure);
  EXPECT_EQ(breaker.standing().counts, (OutcomeCounts{1, 1, 0}));
  EXPECT_EQ(breaker.circuit(), Circuit::closed);
}

// Sentinel: at least 5 calls in a window of one second, then one probe after the time-out; its
// failure starts a whole time-out anew. (Its comparison is >, ours >=: a ratio of 0.5 is met.)
TEST(CircuitBreaker, OneProbeAfterTheTimeOutDecidesAsInSentinel) {
  Told breaker({.error_ratio = 0.5,
                .minimum_calls = 5,
                .window_for = 1s,
                .window_parts = 1,
                .open_for = 10s});
  breaker.call(5, CallEnd::failure);
  ASSERT_EQ(breaker.circuit(), Circuit::open);
  breaker.now += 10s - 1ns;
  const auto refused = breaker.enter();
  EXPECT_EQ(refused.ticket, 0u);
  EXPECT_EQ(refused.ready_at, breaker.now + 1ns);
  breaker.now += 1ns;
  const auto probe = breaker.enter();
  ASSERT_NE(probe.ticket, 0u);
  EXPECT_EQ(breaker.circuit(), Circuit::half_open);
  EXPECT_EQ(breaker.enter().ticket, 0u);  // one at once
  breaker.end(probe.ticket, CallEnd::failure);
  EXPECT_EQ(breaker.circuit(), Circuit::open);
  EXPECT_EQ(breaker.standing().ready_at, breaker.now + 10s);
  breaker.now += 10s;
  EXPECT_EQ(breaker.call(1, CallEnd::success), 1);
  EXPECT_EQ(breaker.circuit(), Circuit::closed);
  EXPECT_EQ(breaker.standing().counts, OutcomeCounts{});
}

// Sentinel #1638: R1's time-out has passed, R2's has not. R1 lets the probe in, R2 refuses it, and
// it never ends.
TEST(CircuitBreaker, AProbeThatIsRefusedElsewhereLeavesItAsOpenAsBefore) {
  Told first({.error_count = 1, .minimum_calls = 1, .open_for = 10s});
  Told second({.error_count = 1, .minimum_calls = 1, .open_for = 20s});
  first.call(1, CallEnd::failure);
  second.call(1, CallEnd::failure);
  const auto both_let_in = [&] {
    const auto ticket = first.enter().ticket;
    if (ticket == 0) return false;
    const auto further_in = second.enter().ticket;
    if (further_in == 0) {
      first.withdraw(ticket);
      return false;
    }
    first.end(ticket, CallEnd::success);
    second.end(further_in, CallEnd::success);
    return true;
  };
  for (int second_passed = 0; second_passed < 20; ++second_passed) {
    EXPECT_FALSE(both_let_in());
    EXPECT_EQ(first.circuit(), Circuit::open);
    first.now += 1s;
    second.now += 1s;
  }
  EXPECT_TRUE(both_let_in());
  EXPECT_EQ(first.circuit(), Circuit::closed);
  EXPECT_EQ(second.circuit(), Circuit::closed);
}

TEST(CircuitBreaker, AnIgnoredProbeLeavesItAsOpenAsBefore) {
  Told breaker({.error_count = 1, .minimum_calls = 1, .open_for = 10s, .longest_open_for = 1h});
  breaker.call(1, CallEnd::failure);
  breaker.now += 10s;
  EXPECT_EQ(breaker.call(3, CallEnd::ignored), 3);
  EXPECT_EQ(breaker.circuit(), Circuit::open);
  EXPECT_EQ(breaker.call(1, CallEnd::failure), 1);
  EXPECT_EQ(breaker.standing().ready_at, breaker.now + 20s);
}

TEST(CircuitBreaker, AWithdrawnProbeCostsTheOthersNothing) {
  Told breaker({.error_count = 1, .minimum_calls = 1, .probes = 2, .successes = 2});
  breaker.call(1, CallEnd::failure);
  breaker.now += 5s;
  const auto one = breaker.enter().ticket;
  const auto other = breaker.enter().ticket;
  ASSERT_NE(other, 0u);
  ASSERT_EQ(breaker.enter().ticket, 0u);
  breaker.withdraw(one);
  EXPECT_EQ(breaker.circuit(), Circuit::half_open);  // the other is under way
  breaker.end(other, CallEnd::success);
  const auto third = breaker.enter().ticket;
  breaker.withdraw(third);
  EXPECT_EQ(breaker.circuit(), Circuit::half_open);  // what one has learned stays
  EXPECT_EQ(breaker.call(1, CallEnd::success), 1);
  EXPECT_EQ(breaker.circuit(), Circuit::closed);
}

// resilience4j: a window of 10 calls, 3 probes in the half-open circuit.
TEST(CircuitBreaker, SeveralProbesCloseItTogetherAsInResilience4j) {
  Told breaker({.error_ratio = 0.5,
                .minimum_calls = 10,
                .window_calls = 10,
                .open_for = 60s,
                .probes = 3,
                .successes = 3});
  breaker.call(5, CallEnd::success);
  breaker.call(5, CallEnd::failure);
  ASSERT_EQ(breaker.circuit(), Circuit::open);
  breaker.now += 60s;
  Breaker::Ticket probes[3];
  for (auto& probe : probes) probe = breaker.enter().ticket;
  EXPECT_EQ(breaker.enter().ticket, 0u);
  EXPECT_EQ(breaker.standing().probing, 3);
  for (auto probe : probes) breaker.end(probe, CallEnd::success);
  EXPECT_EQ(breaker.circuit(), Circuit::closed);
}

// resilience4j #903: calls that hang would keep every place of the half-open circuit.
TEST(CircuitBreaker, AProbeThatNeverEndsLosesItsPlace) {
  Told breaker({.error_count = 1, .minimum_calls = 1, .probe_for = 30s});
  breaker.call(1, CallEnd::failure);
  breaker.now += 5s;
  const auto hanging = breaker.enter().ticket;
  breaker.now += 30s - 1ns;
  EXPECT_EQ(breaker.enter().ticket, 0u);
  breaker.now += 1ns;
  EXPECT_EQ(breaker.standing().probing, 0);
  breaker.end(hanging, CallEnd::failure);  // too late to say anything
  EXPECT_EQ(breaker.circuit(), Circuit::half_open);
  EXPECT_EQ(breaker.call(1, CallEnd::success), 1);
  EXPECT_EQ(breaker.circuit(), Circuit::closed);
}

// What gobreaker has its generations for.
TEST(CircuitBreaker, LateEndsOfAnotherTimeDecideNothing) {
  Told breaker({.error_count = 2, .minimum_calls = 2, .probes = 2, .successes = 2});
  const auto before = breaker.enter().ticket;
  const auto also_before = breaker.enter().ticket;
  breaker.call(2, CallEnd::failure);
  ASSERT_EQ(breaker.circuit(), Circuit::open);
  breaker.end(before, CallEnd::success);
  EXPECT_EQ(breaker.circuit(), Circuit::open);
  breaker.now += 5s;
  const auto probe = breaker.enter().ticket;
  const auto other_probe = breaker.enter().ticket;
  breaker.end(also_before, CallEnd::failure);
  EXPECT_EQ(breaker.circuit(), Circuit::half_open);
  EXPECT_EQ(breaker.standing().probing, 2);
  breaker.end(probe, CallEnd::failure);
  ASSERT_EQ(breaker.circuit(), Circuit::open);
  const auto reopened_at = breaker.standing().ready_at;
  breaker.end(other_probe, CallEnd::failure);
  EXPECT_EQ(breaker.standing().ready_at, reopened_at);
  breaker.now += 5s;
  EXPECT_EQ(breaker.call(2, CallEnd::success), 2);
  ASSERT_EQ(breaker.circuit(), Circuit::closed);
  for (const auto late : {before, also_before, probe, other_probe}) {
    breaker.end(late, CallEnd::failure);
  }
  EXPECT_EQ(breaker.standing().counts.calls, 0);
}

TEST(CircuitBreaker, EachProbeThatFailsKeepsItOpenTwiceAsLongUpToTheLongest) {
  Told breaker({.error_count = 1, .minimum_calls = 1, .open_for = 5s, .longest_open_for = 30s});
  breaker.call(1, CallEnd::failure);
  for (const auto open_for : {5s, 10s, 20s, 30s, 30s}) {
    EXPECT_EQ(breaker.standing().ready_at, breaker.now + open_for);
    breaker.now += open_for;
    ASSERT_EQ(breaker.call(1, CallEnd::dropped), 1);
  }
  breaker.now += 30s;
  breaker.call(1, CallEnd::success);
  breaker.call(1, CallEnd::failure);
  EXPECT_EQ(breaker.standing().ready_at, breaker.now + 5s);
}

TEST(CircuitBreaker, AProbeIsJudgedByWhatOpensTheCircuit) {
  Told by_errors({.error_count = 1, .slow_after = 1ms, .minimum_calls = 1});
  by_errors.call(1, CallEnd::failure);
  by_errors.now += 5s;
  by_errors.call(1, CallEnd::success, 1s);
  EXPECT_EQ(by_errors.circuit(), Circuit::closed);
  Told by_latency({.slow_ratio = 1, .slow_after = 1ms, .minimum_calls = 1});
  by_latency.call(1, CallEnd::success, 1s);
  by_latency.now += 5s;
  by_latency.call(1, CallEnd::success, 1s);
  EXPECT_EQ(by_latency.circuit(), Circuit::open);
  by_latency.now += 5s;
  by_latency.call(1, CallEnd::failure);
  EXPECT_EQ(by_latency.circuit(), Circuit::closed);
}

TEST(CircuitBreaker, AHandMayHoldItOpenOrClosedUntilItIsReset) {
  Told breaker({.error_count = 1, .minimum_calls = 1});
  const auto under_way = breaker.enter().ticket;
  Breaker::open(breaker.state(), breaker.now);
  breaker.now += 24h;
  EXPECT_EQ(breaker.call(5, CallEnd::success), 0);
  EXPECT_EQ(breaker.enter().ready_at, breaker.now);  // nobody can tell
  Breaker::close(breaker.state(), breaker.now);
  EXPECT_EQ(breaker.call(5, CallEnd::failure), 5);
  EXPECT_EQ(breaker.standing().hold, Breaker::Hold::closed);
  EXPECT_EQ(breaker.standing().counts.calls, 0);
  Breaker::reset(breaker.state(), breaker.now);
  breaker.end(under_way, CallEnd::failure);
  EXPECT_EQ(breaker.circuit(), Circuit::closed);
  breaker.call(1, CallEnd::failure);
  EXPECT_EQ(breaker.circuit(), Circuit::open);
}

TEST(CircuitBreaker, AClockSetBackOpensNothingEarlier) {
  Told breaker({.error_count = 2, .minimum_calls = 2, .probe_for = 10s});
  breaker.call(1, CallEnd::failure);
  breaker.now -= 30min;
  breaker.call(1, CallEnd::failure);
  EXPECT_EQ(breaker.circuit(), Circuit::open);
  EXPECT_EQ(breaker.standing().ready_at, SteadyInstant{1h + 5s});
  EXPECT_EQ(breaker.enter().ticket, 0u);
  breaker.now = SteadyInstant{1h + 5s};
  EXPECT_NE(breaker.enter().ticket, 0u);
  breaker.now -= 30min;
  EXPECT_EQ(breaker.enter().ticket, 0u);
  breaker.now = SteadyInstant{1h + 15s};
  EXPECT_NE(breaker.enter().ticket, 0u);
}

/// The setting that is refused; empty where none is.
std::string_view refused(const Breaker::Settings& settings) {
  const auto config = Breaker::configure(settings);
  return config ? std::string_view{} : config.error().setting;
}

TEST(CircuitBreaker, ASettingThatIsNoGoodIsNamed) {
  const Breaker::Settings good{.error_ratio = 0.5};
  EXPECT_EQ(refused(good), "");
  const auto with = [&good](auto change) {
    Breaker::Settings settings = good;
    change(settings);
    return refused(settings);
  };
  EXPECT_EQ(refused({}), "error_ratio");
  for (const double ratio :
       {-0.1, 1.0001, 1e-9, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(refused({.error_ratio = ratio}), "error_ratio") << ratio;
    EXPECT_EQ(refused({.slow_ratio = ratio}), "slow_ratio") << ratio;
  }
  EXPECT_EQ(refused({.slow_ratio = 0.5}), "slow_after");
  EXPECT_EQ(with([](auto& bad) { bad.error_count = -1; }), "error_count");
  EXPECT_EQ(with([](auto& bad) { bad.window_calls = 20, bad.error_count = 21; }), "error_count");
  EXPECT_EQ(with([](auto& bad) { bad.minimum_calls = 0; }), "minimum_calls");
  EXPECT_EQ(with([](auto& bad) { bad.minimum_calls = 21, bad.window_calls = 20; }),
            "minimum_calls");
  EXPECT_EQ(with([](auto& bad) { bad.window_calls = 1025; }), "window_calls");
  EXPECT_EQ(with([](auto& bad) { bad.window_calls = -1; }), "window_calls");
  EXPECT_EQ(with([](auto& bad) { bad.window_for = 0s; }), "window_for");
  EXPECT_EQ(with([](auto& bad) { bad.window_for = 24h + 1ns; }), "window_for");
  EXPECT_EQ(with([](auto& bad) { bad.window_parts = 0; }), "window_parts");
  EXPECT_EQ(with([](auto& bad) { bad.window_parts = 61; }), "window_parts");
  EXPECT_EQ(with([](auto& bad) { bad.open_for = 0s; }), "open_for");
  EXPECT_EQ(with([](auto& bad) { bad.open_for = 24h * 366; }), "open_for");
  EXPECT_EQ(with([](auto& bad) { bad.longest_open_for = 4s; }), "longest_open_for");
  EXPECT_EQ(with([](auto& bad) { bad.probes = 0; }), "probes");
  EXPECT_EQ(with([](auto& bad) { bad.probes = 65; }), "probes");
  EXPECT_EQ(with([](auto& bad) { bad.successes = 0; }), "successes");
  EXPECT_EQ(with([](auto& bad) { bad.probe_for = 0s; }), "probe_for");
}

TEST(CircuitBreaker, TheFarthestInstantsDoNotOverflow) {
  Told breaker({.error_count = 1,
                .minimum_calls = 1,
                .open_for = Breaker::longest_span,
                .longest_open_for = Breaker::longest_span,
                .probe_for = Breaker::longest_span});
  const auto far = std::chrono::nanoseconds{std::int64_t{1} << 62};
  for (const auto at : {-far, far}) {
    breaker.now = SteadyInstant{at};
    breaker.call(1, CallEnd::failure);
    EXPECT_EQ(breaker.standing().ready_at, breaker.now + Breaker::longest_span);
    breaker.now += Breaker::longest_span;
    EXPECT_EQ(breaker.call(1, CallEnd::success), 1);
  }
}

}  // namespace
}  // namespace weir
