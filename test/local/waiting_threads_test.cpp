// Waiting with real threads, coroutines and stops: places come back, and nobody is forgotten.
#include <gtest/gtest.h>

#include <atomic>
#include <coroutine>
#include <latch>
#include <random>
#include <thread>
#include <vector>

#include "weir/local/limiter.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// Longer than any machine is busy, and far below what a forgotten waiter would take.
constexpr auto deadline = 20s;

void pass_time(nanoseconds length) {
  const auto until = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

template <typename Holds>
bool soon(Holds&& holds) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

/// What came of one wait, written before `done`.
struct Waited {
  Outcome outcome;
  SteadyInstant resumed_at{};
  std::atomic<bool> done{false};  ///< suspended at its end, to be destroyed
};

/// A coroutine that runs at once and whose frame its handle owns.
struct Job {
  struct promise_type {
    template <typename Limited>
    promise_type(Limited&, Cost, nanoseconds, const std::stop_token&, Waited& its) : waited(its) {}

    struct End {
      Waited& waited;
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<>) noexcept {
        waited.done.store(true, std::memory_order_release);
      }
      void await_resume() noexcept {}
    };
    Waited& waited;

    Job get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    End final_suspend() noexcept { return {waited}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

bool ended(const Waited& waited) { return waited.done.load(std::memory_order_acquire); }

template <typename Limited>
Job await_one(Limited& limiter, Cost cost, nanoseconds within, std::stop_token stop,
              Waited& waited) {
  waited.outcome = co_await limiter.async_acquire_for(cost, within, std::move(stop));
  waited.resumed_at = limiter.clock().now();
}

using SteadyBucket = BasicLimiter<AtomicWord, SteadyClock>;
using SteadyLimiter = BasicLimiter<LimitState, SteadyClock>;

SteadyBucket make(SteadyBucket*) {
  return SteadyBucket({.count = 20'000, .period = 1s, .burst = 20});
}
SteadyLimiter make(SteadyLimiter*) { return SteadyLimiter::of("20000/1s burst 20"); }
TokenBucket make(TokenBucket*) { return TokenBucket({.count = 20'000, .period = 1s, .burst = 20}); }

template <typename Limited>
void reconfigure(Limited& limiter, Cost burst) {
  if constexpr (std::is_same_v<Limited, SteadyLimiter>) {
    limiter.reconfigure(Limit::parse("20000/1s burst " + std::to_string(burst)).value());
  } else {
    limiter.reconfigure({.count = 20'000, .period = 1s, .burst = burst});
  }
}

/// One thread's share of a crowd: it does everything that can be done, and counts what it got.
template <typename Limited>
class Member {
 public:
  Member(Limited& limiter, std::uint64_t seed) : limiter_(limiter), random_(seed) {}

  void run(int steps) {
    for (int step = 0; step < steps; ++step) one();
  }
  Cost got() const { return got_; }
  nanoseconds latest() const { return latest_; }

 private:
  void one() {
    const Cost cost = 1 + static_cast<Cost>(random_() % 4);
    switch (random_() % 12) {
      case 0:
      case 1: count(limiter_.acquire(cost), cost); break;
      case 2:
        count(limiter_.try_acquire_for(cost, nanoseconds{random_() % 1'000'000}), cost);
        break;
      case 3: stopped_while_waiting(cost); break;
      case 4:
      case 5: await(cost, Limited::forever); break;
      case 6: await(cost, nanoseconds{random_() % 1'000'000}); break;
      case 7: got_ += limiter_.try_acquire(cost) ? cost : 0; break;
      case 8:
        limiter_.reserve(cost).cancel();
        got_ += limiter_.drain(1);
        break;
      case 9: commit(cost); break;
      case 10: reconfigure(limiter_, 20 - static_cast<Cost>(random_() % 3)); break;
      default: static_cast<void>(limiter_.reserve(cost, nanoseconds{random_() % 1'000'000}));
    }
  }

  void count(const Outcome& outcome, Cost cost) {
    if (!outcome) return;
    got_ += cost;
    latest_ = std::max(latest_, limiter_.clock().now() - outcome.ready_at);
  }

  void stopped_while_waiting(Cost cost) {
    std::stop_source stop;
    std::thread stopper([&, after = random_() % 300'000] {
      pass_time(nanoseconds{after});
      stop.request_stop();
    });
    count(limiter_.acquire(cost, stop.get_token()), cost);
    stopper.join();
  }

  void await(Cost cost, nanoseconds within) {
    std::stop_source stop;
    Waited waited;
    const Job job = await_one(limiter_, cost, within, stop.get_token(), waited);
    if (random_() % 2 == 0) {
      if (random_() % 2 == 0) pass_time(nanoseconds{random_() % 200'000});
      stop.request_stop();
    }
    ASSERT_TRUE(soon([&] { return ended(waited); }));
    job.handle.destroy();
    if (!waited.outcome) return;
    got_ += cost;
    latest_ = std::max(latest_, waited.resumed_at - waited.outcome.ready_at);
  }

  void commit(Cost cost) {
    auto reservation = limiter_.reserve(cost);
    auto moved = std::move(reservation);
    if (random_() % 2 == 0) pass_time(moved.outcome().wait(limiter_.clock().now()));
    const Cost actual = static_cast<Cost>(random_() % 6);
    moved.commit(actual);
    got_ += actual;
  }

  Limited& limiter_;
  std::mt19937_64 random_;
  Cost got_ = 0;
  nanoseconds latest_{0};
};

template <typename Limited>
class ACrowdAt : public testing::Test {};
using Limiters = testing::Types<SteadyBucket, SteadyLimiter, TokenBucket>;
TYPED_TEST_SUITE(ACrowdAt, Limiters);

TYPED_TEST(ACrowdAt, IsServedWithinTheBoundAndLeavesNobodyBehind) {
  constexpr std::size_t threads = 6;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr int steps = 400;
#else
  constexpr int steps = 1'000;
#endif
  TypeParam limiter = make(static_cast<TypeParam*>(nullptr));
  const SteadyInstant begin = limiter.clock().now();
  std::vector<Member<TypeParam>> members;
  for (std::size_t at = 0; at < threads; ++at) members.emplace_back(limiter, at + 1);
  std::vector<std::thread> running;
  for (auto& member : members) running.emplace_back([&] { member.run(steps); });
  for (std::thread& thread : running) thread.join();
  // Reservations that were committed ahead of their instant are due soon.
  ASSERT_TRUE(soon([&] { return limiter.peek(0).outcome.verdict == Verdict::granted; }));
  EXPECT_EQ(limiter.waiting(), 0u);

  Cost got = 0;
  for (const auto& member : members) {
    got += member.got();
    EXPECT_LT(member.latest(), deadline);
  }
  const auto passed = static_cast<double>((limiter.clock().now() - begin).count());
  EXPECT_LE(static_cast<double>(got), 20 + 6 + passed * 20'000 / 1e9);
  EXPECT_GT(got, static_cast<Cost>(threads) * steps / 4);
  ASSERT_TRUE(soon([&] { return limiter.peek().remaining == limiter.peek().limit; }));
}

/// Rings for as long as the test wants, and then again.
class Bell final : public Alarm {
 public:
  ~Bell() { clear(); }
  std::latch rings{1};
  std::atomic<bool> may_end{false};
  std::atomic<bool> has_ended{false};

 private:
  std::optional<SteadyInstant> ring() noexcept override {
    rings.count_down();
    while (!may_end) std::this_thread::yield();
    has_ended = true;
    return std::chrono::steady_clock::now() + 1h;
  }
};

TEST(AnAlarm, ThatRingsIsTakenBackWhenItHasRung) {
  Bell bell;
  bell.set(std::chrono::steady_clock::now());
  bell.rings.wait();
  std::thread later([&] {
    pass_time(5ms);
    bell.may_end = true;
  });
  EXPECT_TRUE(bell.clear());  // it had been set again
  EXPECT_TRUE(bell.has_ended);
  EXPECT_FALSE(bell.clear());
  later.join();
}

TEST(AnAlarm, ThatIsHurriedWhileItRingsRingsAgain) {
  struct Counting final : Alarm {
    ~Counting() { clear(); }
    std::atomic<int> rung{0};
    std::atomic<bool> hurried{false};

   private:
    std::optional<SteadyInstant> ring() noexcept override {
      if (rung.fetch_add(1) == 0) {
        while (!hurried) std::this_thread::yield();
      }
      return std::chrono::steady_clock::now() + 1h;
    }
  };
  Counting alarm;
  alarm.set(std::chrono::steady_clock::now());
  ASSERT_TRUE(soon([&] { return alarm.rung == 1; }));
  alarm.hurry();
  alarm.hurried = true;
  EXPECT_TRUE(soon([&] { return alarm.rung == 2; }));
}

TEST(AnAlarm, RingsAtItsInstantHoweverManyOthersAreHurried) {
  /// Hurries another for as long as the late one has not rung.
  struct Hasty final : Alarm {
    explicit Hasty(const std::atomic<bool>& late_rang) : late_rang_(late_rang) {}
    ~Hasty() { clear(); }
    std::atomic<int> rung{0};

   private:
    std::optional<SteadyInstant> ring() noexcept override {
      constexpr int most = 2'000'000;
      if (late_rang_ || ++rung == most) return {};
      hurry();
      return std::chrono::steady_clock::now() + 1h;
    }
    const std::atomic<bool>& late_rang_;
  };
  struct Late final : Alarm {
    ~Late() { clear(); }
    std::atomic<bool> rang{false};

   private:
    std::optional<SteadyInstant> ring() noexcept override {
      rang = true;
      return {};
    }
  };
  Late late;
  Hasty hasty(late.rang);
  late.set(std::chrono::steady_clock::now() + 5ms);
  hasty.set(std::chrono::steady_clock::now());
  EXPECT_TRUE(soon([&] { return late.rang.load(); }));
  EXPECT_LT(hasty.rung, 2'000'000);
}

/// An hour a unit, so that whoever waits waits until somebody before it leaves.
struct Slow {
  TokenBucket bucket{{.count = 1, .period = 1h, .burst = 1}};
  Slow() { static_cast<void>(bucket.try_acquire()); }
};

TEST(ManyWaiters, AreAllWokenWhenWhoStoodBeforeThemLeaves) {
  constexpr std::size_t threads = 8;
  for (int round = 0; round < 40; ++round) {
    TokenBucket bucket({.count = 1'000'000, .period = 1s, .burst = 1'000'000});
    static_cast<void>(bucket.drain(1'000'000));
    // 100 s ahead.
    std::vector<TokenBucket::Reservation> before;
    for (int at = 0; at < 100; ++at) before.push_back(bucket.reserve(1'000'000));
    std::vector<std::thread> waiting;
    std::atomic<int> granted{0};
    for (std::size_t at = 0; at < threads; ++at) {
      waiting.emplace_back([&] { granted += bucket.acquire(1) ? 1 : 0; });
    }
    Waited waited;
    const Job job = await_one(bucket, 1, TokenBucket::forever, {}, waited);
    if (round % 2 == 0) {
      ASSERT_TRUE(soon([&] { return bucket.waiting() == 100 + threads + 1; }));
    }
    before.clear();
    for (std::thread& thread : waiting) thread.join();
    ASSERT_TRUE(soon([&] { return ended(waited); }));
    EXPECT_TRUE(waited.outcome);
    job.handle.destroy();
    EXPECT_EQ(granted, threads);
    EXPECT_EQ(bucket.waiting(), 0u);
  }
}

TEST(ManyWaiters, ThatAreStoppedAllComeBack) {
  for (int round = 0; round < 50; ++round) {
    Slow slow;
    std::stop_source stop;
    std::vector<std::thread> waiting;
    std::atomic<int> stopped{0};
    for (int at = 0; at < 4; ++at) {
      waiting.emplace_back([&] {
        stopped += slow.bucket.acquire(1, stop.get_token()).refusal == Refusal::stopped ? 1 : 0;
      });
    }
    std::vector<Waited> waited(4);
    std::vector<Job> jobs;
    for (Waited& one : waited) {
      jobs.push_back(await_one(slow.bucket, 1, TokenBucket::forever, stop.get_token(), one));
    }
    if (round % 2 == 0) {
      ASSERT_TRUE(soon([&] { return slow.bucket.waiting() == 8; }));
    }
    stop.request_stop();
    for (std::thread& thread : waiting) thread.join();
    for (const Waited& one : waited) ASSERT_TRUE(soon([&] { return ended(one); }));
    for (const Job& job : jobs) job.handle.destroy();
    for (const Waited& one : waited) EXPECT_EQ(one.outcome.refusal, Refusal::stopped);
    EXPECT_EQ(stopped, 4);
    EXPECT_EQ(slow.bucket.waiting(), 0u);
  }
}

TEST(SuspendedCoroutines, GiveTheirPlacesBackWhenTheyAreDestroyed) {
  for (int round = 0; round < 200; ++round) {
    Slow slow;
    std::vector<Waited> waited(6);
    std::vector<Job> jobs;
    for (Waited& one : waited) {
      jobs.push_back(await_one(slow.bucket, 1, TokenBucket::forever, {}, one));
    }
    ASSERT_EQ(slow.bucket.waiting(), 6u);
    // Each that goes moves those behind it, which has their alarms rung; none is due for an hour.
    for (std::size_t at = 0; at < jobs.size(); ++at) {
      jobs[at].handle.destroy();
      EXPECT_EQ(slow.bucket.waiting(), jobs.size() - at - 1);
      EXPECT_FALSE(waited[at].done);
    }
    EXPECT_EQ(slow.bucket.peek().remaining, 0);
    EXPECT_LT(slow.bucket.peek().outcome.ready_at, slow.bucket.clock().now() + 1h + 1s);
  }
}

TEST(SuspendedCoroutines, ToldThatTheLimitCanNeverGrantThemGoOn) {
  TokenBucket bucket({.count = 1, .period = 1h, .burst = 5});
  static_cast<void>(bucket.drain(5));
  Waited waited;
  const Job job = await_one(bucket, 5, TokenBucket::forever, {}, waited);
  std::thread blocked([&] { EXPECT_EQ(bucket.acquire(4).verdict, Verdict::impossible); });
  ASSERT_TRUE(soon([&] { return bucket.waiting() == 2; }));
  bucket.reconfigure({.count = 1, .period = 1h, .burst = 3});
  blocked.join();
  ASSERT_TRUE(soon([&] { return ended(waited); }));
  EXPECT_EQ(waited.outcome.verdict, Verdict::impossible);
  job.handle.destroy();
}

}  // namespace
}  // namespace weir
