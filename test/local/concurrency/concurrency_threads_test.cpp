// Limits in many threads' hands, more than there are cores, counted from outside: never more at
// work than the limit, and at the end everything was given back.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "test/local/concurrency/job.hpp"
#include "weir/local/concurrency.hpp"
#include "weir/local/leased_concurrency.hpp"
#include "weir/local/partitioned_concurrency.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int steps = 300;
#else
constexpr int steps = 1'500;
#endif
constexpr std::size_t threads = 8;
constexpr std::int64_t limit_of_all = 6;

/// Counts who is at work, and the most that ever were.
class Count {
 public:
  void come(std::int64_t weight) {
    const std::int64_t now = now_.fetch_add(weight) + weight;
    std::int64_t most = most_.load();
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
  }
  void go(std::int64_t weight) { now_.fetch_sub(weight); }
  std::int64_t most() const { return most_; }
  std::int64_t now() const { return now_; }

 private:
  std::atomic<std::int64_t> now_{0};
  std::atomic<std::int64_t> most_{0};
};

/// One thread's share of a crowd: it does everything that can be done.
template <typename Gate>
class Member {
 public:
  using Permit = typename Gate::Permit;

  Member(Gate& gate, Count& count, std::uint64_t seed)
      : gate_(gate), count_(count), random_(seed) {}

  void run() {
    for (int step = 0; step < steps; ++step) one();
  }
  int let_in() const { return let_in_; }

 private:
  void one() {
    const Entry entry{.weight = 1 + static_cast<std::int64_t>(random_() % 3),
                      .priority = static_cast<Priority>(random_() % priorities)};
    switch (random_() % 8) {
      case 0:
      case 1: return work(gate_.try_enter(entry), entry);
      case 2:
      case 3: return work(gate_.enter(entry), entry);
      case 4: return work(gate_.enter_for(entry, nanoseconds{random_() % 200'000}), entry);
      case 5: return stopped(entry);
      default: return await(entry);
    }
  }

  void work(Permit permit, const Entry& entry) {
    if (!permit) return;
    ++let_in_;
    count_.come(entry.weight);
    if (random_() % 4 == 0) std::this_thread::yield();
    count_.go(entry.weight);
    if (random_() % 2 == 0) permit.end(CallEnd::success);
    if (random_() % 4 == 0) permit.withdraw();
  }

  void stopped(const Entry& entry) {
    std::stop_source stop;
    std::thread stopper([&] {
      std::this_thread::yield();
      stop.request_stop();
    });
    work(gate_.enter(entry, stop.get_token()), entry);
    stopper.join();
  }

  void await(const Entry& entry) {
    std::stop_source stop;
    Waited<Permit> waited;
    const auto within = random_() % 2 == 0 ? nanoseconds{random_() % 200'000} : Gate::forever;
    auto begin = [&] { return gate_.async_enter_for(entry, within, stop.get_token()); };
    const auto job = await_one(begin, waited);
    if (random_() % 2 == 0) stop.request_stop();
    ASSERT_TRUE(soon([&] { return waited.ended(); }));
    work(std::move(*waited.permit), entry);
  }

  Gate& gate_;
  Count& count_;
  std::mt19937_64 random_;
  int let_in_ = 0;
};

template <typename Gate>
int let_in_by_a_crowd(const std::vector<Gate*>& gates, Count& count) {
  std::vector<Member<Gate>> members;
  for (std::size_t at = 0; at < threads; ++at) {
    members.emplace_back(*gates[at % gates.size()], count, at + 1);
  }
  std::vector<std::thread> running;
  for (auto& member : members) running.emplace_back([&member] { member.run(); });
  for (std::thread& thread : running) thread.join();
  int let_in = 0;
  for (const auto& member : members) let_in += member.let_in();
  return let_in;
}

void expect_all_back(const Count& count, int let_in) {
  EXPECT_LE(count.most(), limit_of_all);
  EXPECT_EQ(count.now(), 0);
  EXPECT_GT(let_in, static_cast<int>(threads) * steps / 4);
}

TEST(ACrowd, NeverExceedsTheLimitAndGivesEverythingBack) {
  for (const QueueOrder order : {QueueOrder::first_come, QueueOrder::newest_first}) {
    ConcurrencyLimit limit({.limit = limit_of_all, .queue = 4, .order = order});
    Count count;
    const int let_in = let_in_by_a_crowd(
        std::vector<PermitGate<ConcurrencyHost, DefaultClock, NoSamples>*>{&limit}, count);
    expect_all_back(count, let_in);
    EXPECT_EQ(limit.in_flight(), 0);
    EXPECT_EQ(limit.waiting(), 0u);
  }
}

TEST(ACrowd, OfLeasesNeverExceedsTheLimit) {
  LeasedConcurrencyLimit limit({.limit = limit_of_all, .lease_for = 1h, .queue = 4});
  Count count;
  const int let_in = let_in_by_a_crowd(
      std::vector<PermitGate<LeasedHost, DefaultClock, NoSamples>*>{&limit}, count);
  expect_all_back(count, let_in);
  EXPECT_EQ(limit.in_flight(), 0);
  EXPECT_EQ(limit.waiting(), 0u);
}

TEST(ACrowd, InPartitionsNeverExceedsTheLimitOfAll) {
  PartitionedConcurrencyLimit limit({.limit = limit_of_all,
                                     .partitions = {{"first", 0.4}, {"second", 0.2}, {"third", 0}},
                                     .queue = 4});
  Count count;
  const int let_in = let_in_by_a_crowd(
      std::vector{&limit.partition(0), &limit.partition(1), &limit.partition(2)}, count);
  expect_all_back(count, let_in);
  EXPECT_EQ(limit.in_flight(), 0);
  EXPECT_EQ(limit.partition(0).host().waiting(), 0u);
}

TEST(ALimitSetLive, UnderLoadIsNeverExceededByNewcomers) {
  ConcurrencyLimit limit({.limit = limit_of_all, .queue = 8});
  Count count;
  std::atomic<bool> ended{false};
  std::thread changer([&] {
    std::mt19937_64 random(99);
    // At least 3, so that nobody's weight is impossible for good.
    while (!ended) {
      limit.set_limit(3 + static_cast<std::int64_t>(random() % (limit_of_all - 2)));
      std::this_thread::yield();
    }
    limit.set_limit(limit_of_all);
  });
  const int let_in = let_in_by_a_crowd(
      std::vector<PermitGate<ConcurrencyHost, DefaultClock, NoSamples>*>{&limit}, count);
  ended = true;
  changer.join();
  expect_all_back(count, let_in);
  EXPECT_EQ(limit.in_flight(), 0);
  EXPECT_EQ(limit.waiting(), 0u);
}

TEST(ALease, ThatEndsWakesWhoWaits) {
  LeasedConcurrencyLimit limit({.limit = 1, .lease_for = 20ms, .queue = 2});
  const auto lost = limit.try_enter();
  ASSERT_TRUE(lost);
  const SteadyInstant begin_at = limit.clock().now();
  auto next = limit.enter_for({}, 20s);  // a thread
  ASSERT_TRUE(next);
  EXPECT_LT(limit.clock().now() - begin_at, 10s);
  Waited<LeasedConcurrencyLimit::Permit> waited;  // a coroutine, when that one is lost too
  auto begin = [&] { return limit.async_enter(); };
  const auto job = await_one(begin, waited);
  EXPECT_EQ(limit.waiting(), 1u);
  ASSERT_TRUE(soon([&] { return waited.ended(); }));
  EXPECT_TRUE(*waited.permit);
  EXPECT_FALSE(next.renew());
}

TEST(ALimitOfOne, OrdersWhatIsDoneUnderIt) {
  ConcurrencyLimit limit({.limit = 1, .queue = threads});
  std::int64_t plain = 0;  // no atomic: the limit is what keeps threads apart
  std::vector<std::thread> running;
  for (std::size_t at = 0; at < threads; ++at) {
    running.emplace_back([&] {
      for (int step = 0; step < steps; ++step) {
        auto permit = limit.enter();
        ASSERT_TRUE(permit);
        ++plain;
        permit.end(CallEnd::success);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(plain, static_cast<std::int64_t>(threads) * steps);
}

}  // namespace
}  // namespace weir
