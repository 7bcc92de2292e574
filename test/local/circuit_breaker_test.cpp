// The breaker of a process: its passes, its listener, its threads.
#include "weir/local/circuit_breaker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weir {
namespace {

using namespace std::chrono_literals;

using Manual = BasicCircuitBreaker<ManualClock>;

class LocalCircuitBreaker : public testing::Test {
 protected:
  void fail(int calls) {
    for (int call = 0; call < calls; ++call) breaker_.try_enter().end(CallEnd::failure);
  }

  ManualTime time_{SteadyInstant{1h}};
  Manual breaker_{{.error_count = 2, .minimum_calls = 2, .open_for = 5s}, ManualClock(time_)};
};

TEST_F(LocalCircuitBreaker, ARefusalTellsWhySinceWhenAndWhenToAskAgain) {
  EXPECT_TRUE(breaker_.try_enter());
  fail(2);
  time_.advance(2s);
  const auto refused = breaker_.try_enter();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.refused().circuit, Circuit::open);
  EXPECT_EQ(refused.refused().since, SteadyInstant{1h});
  EXPECT_EQ(refused.refused().ready_at, SteadyInstant{1h + 5s});
  time_.advance(3s);
  const auto probe = breaker_.try_enter();
  ASSERT_TRUE(probe);
  const auto beside = breaker_.try_enter();
  ASSERT_FALSE(beside);
  EXPECT_EQ(beside.refused().circuit, Circuit::half_open);
  EXPECT_EQ(beside.refused().ready_at, time_.now());
}

TEST_F(LocalCircuitBreaker, APassEndsOnce) {
  auto pass = breaker_.try_enter();
  pass.end(CallEnd::failure);
  pass.end(CallEnd::failure);
  pass.withdraw();
  EXPECT_EQ(breaker_.standing().counts, (OutcomeCounts{1, 1, 0}));
  EXPECT_EQ(breaker_.state(), Circuit::closed);
}

TEST_F(LocalCircuitBreaker, APassThatIsMovedEndsOnce) {
  {
    auto pass = breaker_.try_enter();
    auto moved = std::move(pass);
    pass.end(CallEnd::failure);  // NOLINT(bugprone-use-after-move): has nothing to end
    EXPECT_TRUE(moved);
    auto other = breaker_.try_enter();
    other = std::move(moved);
    other.end(CallEnd::failure);
  }
  EXPECT_EQ(breaker_.standing().counts.calls, 1);
}

TEST_F(LocalCircuitBreaker, AProbeThatIsDestroyedGivesItsPlaceBack) {
  fail(2);
  time_.advance(5s);
  { const auto probe = breaker_.try_enter(); }
  EXPECT_EQ(breaker_.state(), Circuit::open);
  auto other = breaker_.try_enter();
  ASSERT_TRUE(other);
  other.withdraw();
  EXPECT_EQ(breaker_.state(), Circuit::open);
  breaker_.try_enter().end(CallEnd::success);
  EXPECT_EQ(breaker_.state(), Circuit::closed);
  EXPECT_TRUE(breaker_.try_enter());
}

TEST_F(LocalCircuitBreaker, LatencyIsCountedFromWhereItWasLetIn) {
  Manual breaker({.slow_ratio = 0.5, .slow_after = 1s, .minimum_calls = 1}, ManualClock(time_));
  auto pass = breaker.try_enter();
  time_.advance(1s);
  pass.end(CallEnd::success);
  EXPECT_EQ(breaker.state(), Circuit::closed);
  auto slow = breaker.try_enter({}, time_.now());
  slow.end(CallEnd::success, time_.now() + 1s + 1ns);
  EXPECT_EQ(breaker.state(), Circuit::open);
}

TEST_F(LocalCircuitBreaker, ACallThatThrowsIsAFailure) {
  auto good = breaker_.try_enter();
  EXPECT_EQ(call(good, [] { return 7; }), 7);
  for (int failure = 0; failure < 2; ++failure) {
    auto bad = breaker_.try_enter();
    EXPECT_THROW(call(bad, [] { throw std::runtime_error("down"); }), std::runtime_error);
  }
  EXPECT_EQ(breaker_.state(), Circuit::open);
}

TEST_F(LocalCircuitBreaker, AHandHoldsItUntilReset) {
  breaker_.force_open();
  time_.advance(1h);
  EXPECT_FALSE(breaker_.try_enter());
  EXPECT_EQ(breaker_.standing().hold, Breaker::Hold::open);
  breaker_.force_close();
  fail(10);
  EXPECT_TRUE(breaker_.try_enter());
  breaker_.reset();
  fail(2);
  EXPECT_FALSE(breaker_.try_enter());
  breaker_.reset();
  EXPECT_TRUE(breaker_.try_enter());
}

TEST_F(LocalCircuitBreaker, ASettingThatIsNoGoodIsNamed) {
  try {
    Manual bad({.error_ratio = 0.5, .probes = 0}, ManualClock(time_));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()), "circuit breaker: probes: expected from 1 to 64");
  }
}

struct Remembers {
  std::vector<CircuitChange>* changes;
  void operator()(const CircuitChange& change) const { changes->push_back(change); }
};

TEST_F(LocalCircuitBreaker, TheListenerHearsEachTurnInOrder) {
  std::vector<CircuitChange> changes;
  BasicCircuitBreaker<ManualClock, Remembers> breaker(
      {.error_count = 1, .minimum_calls = 1, .open_for = 5s}, ManualClock(time_), {&changes});
  breaker.try_enter().end(CallEnd::failure);
  time_.advance(5s);
  breaker.try_enter().withdraw();
  breaker.try_enter().end(CallEnd::success);
  breaker.force_open();
  breaker.reset();
  const std::vector<std::pair<Circuit, Circuit>> expected{
      {Circuit::closed, Circuit::open},      {Circuit::open, Circuit::half_open},
      {Circuit::half_open, Circuit::open},   {Circuit::open, Circuit::half_open},
      {Circuit::half_open, Circuit::closed}, {Circuit::closed, Circuit::open},
      {Circuit::open, Circuit::closed}};
  ASSERT_EQ(changes.size(), expected.size());
  for (std::size_t turn = 0; turn < expected.size(); ++turn) {
    EXPECT_EQ(std::pair(changes[turn].from, changes[turn].to), expected[turn]) << turn;
    EXPECT_EQ(changes[turn].at, SteadyInstant{turn == 0 ? 1h : 1h + 5s}) << turn;
  }
}

/// Turns the circuit again and again from inside the listener.
struct Turns {
  BasicCircuitBreaker<ManualClock, Turns>** breaker;
  std::vector<CircuitChange>* changes;
  void operator()(const CircuitChange& change) const {
    changes->push_back(change);
    if (changes->size() > 1) return;
    for (int turn = 0; turn < 20; ++turn) {
      (*breaker)->reset();
      (*breaker)->force_open();
    }
    (*breaker)->reset();
  }
};

TEST_F(LocalCircuitBreaker, AListenerMayTurnItAndTooManyTurnsAreToldAsOne) {
  std::vector<CircuitChange> changes;
  BasicCircuitBreaker<ManualClock, Turns>* self = nullptr;
  BasicCircuitBreaker<ManualClock, Turns> breaker({.error_count = 1}, ManualClock(time_),
                                                  {&self, &changes});
  self = &breaker;
  breaker.force_open();
  ASSERT_EQ(changes.size(), 17u);
  for (std::size_t turn = 1; turn < changes.size(); ++turn) {
    EXPECT_EQ(changes[turn].from, changes[turn - 1].to) << turn;
  }
  EXPECT_EQ(changes.back().to, breaker.state());
}

/// Draws that differ from thread to thread.
unsigned next_draw(unsigned& seed) {
  seed = seed * 1'664'525 + 1'013'904'223;
  return seed >> 16;
}

template <typename Work>
void run_threads(int threads, const Work& work) {
  std::latch start(threads);
  std::vector<std::jthread> workers;
  workers.reserve(static_cast<std::size_t>(threads));
  for (int thread = 0; thread < threads; ++thread) {
    workers.emplace_back([&start, &work, thread] {
      start.arrive_and_wait();
      work(static_cast<unsigned>(thread + 1));
    });
  }
}

TEST(LocalCircuitBreakerThreads, NoMoreProbesAreUnderWayThanMayBe) {
  constexpr int probes = 3;
  ManualTime time(SteadyInstant{1h});
  // With no probe that fails and more successes than there are, it stays half-open: every call that
  // is let in is a probe.
  Manual breaker({.error_count = 1,
                  .minimum_calls = 1,
                  .open_for = 1s,
                  .probes = probes,
                  .successes = Breaker::most_count},
                 ManualClock(time));
  breaker.try_enter().end(CallEnd::failure);
  time.advance(1s);
  std::atomic<int> under_way{0};
  std::atomic<int> most{0};
  std::atomic<int> let_in{0};
  run_threads(8, [&](unsigned seed) {
    for (int round = 0; round < 1000; ++round) {
      auto pass = breaker.try_enter();
      if (!pass) continue;
      let_in.fetch_add(1);
      // Up after it was let in, and down before it ends: never more than there are.
      const int now = under_way.fetch_add(1) + 1;
      int before = most.load();
      while (now > before && !most.compare_exchange_weak(before, now)) {
      }
      const unsigned draw = next_draw(seed);
      if (draw % 2 == 0) std::this_thread::yield();
      under_way.fetch_sub(1);
      if (draw % 8 == 1) {
        pass.withdraw();
      } else if (draw % 8 != 2) {
        pass.end(CallEnd::success);
      }
    }
  });
  EXPECT_LE(most.load(), probes);
  EXPECT_GT(let_in.load(), 300);
  EXPECT_EQ(breaker.standing().probing, 0);
}

/// Turns are told in order if each begins where the last has ended.
struct Chained {
  struct Seen {
    std::atomic<int> inside{0};
    std::atomic<int> wrong{0};
    int turns = 0;  ///< this and the next are for one at a time, as the thread sanitizer sees
    Circuit last = Circuit::closed;
  };
  Seen* seen;

  void operator()(const CircuitChange& change) const {
    if (seen->inside.fetch_add(1, std::memory_order_relaxed) != 0) ++seen->wrong;
    if (change.from != seen->last) ++seen->wrong;
    seen->last = change.to;
    ++seen->turns;
    seen->inside.fetch_sub(1, std::memory_order_relaxed);
  }
};

TEST(LocalCircuitBreakerThreads, TurnsAreToldOneByOneAndInOrder) {
  ManualTime time(SteadyInstant{1h});
  Chained::Seen seen;
  BasicCircuitBreaker<ManualClock, Chained> breaker({.error_ratio = 0.5,
                                                     .minimum_calls = 4,
                                                     .window_calls = 8,
                                                     .open_for = 1us,
                                                     .probes = 3,
                                                     .successes = 5},
                                                    ManualClock(time), {&seen});
  run_threads(8, [&](unsigned seed) {
    for (int round = 0; round < 1000; ++round) {
      const unsigned draw = next_draw(seed);
      if (draw % 16 == 0) time.advance(1us);
      auto pass = breaker.try_enter();
      if (!pass) continue;
      if (draw % 64 == 1) std::this_thread::yield();
      if (draw % 8 == 1) {
        pass.withdraw();
      } else {
        pass.end(draw % 3 == 0 ? CallEnd::failure : CallEnd::success);
      }
    }
  });
  EXPECT_EQ(seen.wrong.load(), 0);
  EXPECT_EQ(seen.last, breaker.state());
  EXPECT_GT(seen.turns, 20);
}

}  // namespace
}  // namespace weir
