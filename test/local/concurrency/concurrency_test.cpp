// What a concurrency limit promises.
#include "weir/local/concurrency.hpp"

#include <gtest/gtest.h>

#include <future>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "test/local/concurrency/job.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Limit = ConcurrencyLimit;
using Permit = Limit::Permit;

constexpr Entry critical{.priority = Priority::critical};
constexpr Entry background{.priority = Priority::background};
constexpr Entry heavy(std::int64_t weight) { return {.weight = weight}; }

/// A thread that waits to be let in; it stands in line once this is made.
class Caller {
 public:
  Caller(Limit& limit, const Entry& entry, std::vector<int>& served, int name)
      : thread_([&limit, entry, &served, name, this] {
          auto permit = limit.enter(entry, stop_.get_token());
          refusal_ = permit.refused().refusal;
          if (!permit) return;
          served.push_back(name);  // one at a time: the limit is 1, or the test waits
          permit.end(CallEnd::success);
        }) {}
  ~Caller() { join(); }

  void stop() { stop_.request_stop(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  Refusal refusal() {
    join();
    return refusal_;
  }

 private:
  std::stop_source stop_;
  Refusal refusal_ = Refusal::none;
  std::thread thread_;
};

TEST(AConcurrencyLimit, LetsInAsManyAsItsLimitAndOneMoreWhenOneLeaves) {
  Limit limit({.limit = 2});
  auto first = limit.try_enter();
  const auto second = limit.try_enter();
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(first.in_flight(), 1);
  EXPECT_EQ(second.in_flight(), 2);
  const auto third = limit.try_enter();
  EXPECT_FALSE(third);
  EXPECT_EQ(third.in_flight(), 0);
  EXPECT_EQ(third.refused().refusal, Refusal::limit);
  EXPECT_EQ(third.refused().verdict, Verdict::denied);
  first.end(CallEnd::success);
  EXPECT_EQ(limit.in_flight(), 1);
  EXPECT_TRUE(limit.try_enter());
  EXPECT_EQ(limit.in_flight(), 1);
}

TEST(AConcurrencyLimit, TakesAPlaceBackOnce) {
  Limit limit({.limit = 3});
  const auto other = limit.try_enter();
  {
    auto permit = limit.try_enter();
    permit.end(CallEnd::failure);
    permit.end(CallEnd::success);
    permit.withdraw();
    EXPECT_EQ(limit.in_flight(), 1);
    EXPECT_TRUE(permit);  // it was let in, whatever came of it
  }
  {
    auto permit = limit.try_enter();
    auto moved = std::move(permit);
    EXPECT_EQ(limit.in_flight(), 2);
    moved = limit.try_enter();
    EXPECT_EQ(limit.in_flight(), 2);
  }
  EXPECT_EQ(limit.in_flight(), 1);
}

TEST(AConcurrencyLimit, RefusesWeightsThatItCanNeverLetIn) {
  Limit limit({.limit = 4, .queue = 5});
  for (const std::int64_t weight :
       {std::int64_t{5}, std::int64_t{0}, std::int64_t{-1},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(limit.try_enter(heavy(weight)).refused().verdict, Verdict::impossible) << weight;
    EXPECT_EQ(limit.enter(heavy(weight)).refused().verdict, Verdict::impossible) << weight;
    EXPECT_EQ(limit.enter(heavy(weight)).refused().ready_at, SteadyInstant::max());
  }
  EXPECT_EQ(limit.in_flight(), 0);
  EXPECT_TRUE(limit.try_enter(heavy(4)));
}

TEST(AConcurrencyLimit, WorksUpToItsLargestLimit) {
  Limit limit({.limit = PriorityShares::most});
  const auto all_but_one = limit.try_enter(heavy(PriorityShares::most - 1));
  ASSERT_TRUE(all_but_one);
  const auto last = limit.try_enter();
  EXPECT_TRUE(last);
  EXPECT_EQ(limit.in_flight(), PriorityShares::most);
  EXPECT_FALSE(limit.try_enter());
  EXPECT_EQ(limit.limit(), PriorityShares::most);
}

TEST(AConcurrencyLimit, NamesTheSettingThatIsNoGood) {
  const auto what = [](const Limit::Settings& settings) -> std::string {
    try {
      const Limit limit(settings);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(what({.limit = 0}), "concurrency limit: limit: expected from 1 to 2147483647");
  EXPECT_NE(what({.limit = std::int64_t{1} << 31}), "");
  EXPECT_EQ(what({.limit = 1, .queue = 65'537}),
            "concurrency limit: queue: expected 65536 at most");
  EXPECT_EQ(what({.limit = 1, .queue = 65'536}), "");
  EXPECT_NE(what({.limit = 1, .ceilings = {.normal = 1.1}}).find("ceilings.normal"),
            std::string::npos);
  EXPECT_EQ(what({.limit = 1, .ceilings = {.sheddable = -0.1}}),
            "concurrency limit: ceilings.sheddable: expected from 0 to 1");
  EXPECT_NE(what({.limit = 1, .ceilings = {.background = std::numeric_limits<double>::quiet_NaN()}})
                .find("ceilings.background"),
            std::string::npos);
}

TEST(AConcurrencyLimit, TellsWhenARefusedCallAskedWhereItKnows) {
  Limit limit({.limit = 1});
  const auto held = limit.try_enter();
  EXPECT_EQ(limit.try_enter({}, SteadyInstant{5s}).refused().ready_at, SteadyInstant{5s});
  EXPECT_EQ(limit.try_enter().refused().ready_at, SteadyInstant{});
}

struct Samples {
  std::vector<CallSample>* heard;
  void operator()(const CallSample& sample) const noexcept { heard->push_back(sample); }
};

TEST(AListener, HearsOfEachCallThatRanAndOfNoOther) {
  ManualTime time{SteadyInstant{100s}};
  std::vector<CallSample> heard;
  BasicConcurrencyLimit<ManualClock, Samples> limit({.limit = 3}, ManualClock(time), {&heard});
  auto first = limit.try_enter();
  auto second = limit.try_enter({}, SteadyInstant{101s});
  auto third = limit.try_enter();
  static_cast<void>(limit.try_enter());
  time.set(SteadyInstant{102s});
  first.end(CallEnd::success);
  second.end(CallEnd::failure, SteadyInstant{100s});  // a clock set back
  third.withdraw();
  static_cast<void>(limit.try_enter());
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(heard[0].latency, 2s);
  EXPECT_EQ(heard[0].in_flight, 1);
  EXPECT_EQ(heard[0].end, CallEnd::success);
  EXPECT_EQ(heard[0].ended_at, SteadyInstant{102s});
  EXPECT_EQ(heard[1].latency, 0s);
  EXPECT_EQ(heard[1].in_flight, 2);
  EXPECT_EQ(heard[1].end, CallEnd::failure);
  EXPECT_EQ(heard[2].end, CallEnd::ignored);
}

TEST(Priorities, FindTheirCeilingsRoundedUp) {
  Limit limit({.limit = 20, .ceilings = {.normal = 0.9, .sheddable = 0.5, .background = 0}});
  std::vector<Permit> held;
  const auto enter_all = [&](Priority priority) {
    for (;;) {
      auto permit = limit.try_enter({.priority = priority});
      if (!permit) return limit.in_flight();
      held.push_back(std::move(permit));
    }
  };
  EXPECT_EQ(limit.try_enter(background).refused().verdict, Verdict::impossible);
  EXPECT_EQ(enter_all(Priority::sheddable), 10);
  EXPECT_EQ(enter_all(Priority::normal), 18);
  EXPECT_EQ(enter_all(Priority::critical), 20);
  held.clear();
  limit.set_limit(1);
  EXPECT_EQ(enter_all(Priority::sheddable), 1);
}

TEST(Priorities, NeverFillMoreThanWhatIsMoreUrgent) {
  const auto shares = PriorityShares::configure({.normal = 0.5, .sheddable = 0.75});
  ASSERT_TRUE(shares);
  EXPECT_EQ(shares->ceiling(100, Priority::critical), 100u);
  EXPECT_EQ(shares->ceiling(100, Priority::normal), 50u);
  EXPECT_EQ(shares->ceiling(100, Priority::sheddable), 50u);
  EXPECT_EQ(shares->ceiling(100, Priority::background), 50u);
}

TEST(Priorities, AreExactWhereTheShareIsAWholeNumber) {
  for (std::int64_t tenths = 0; tenths <= 10; ++tenths) {
    const double share = static_cast<double>(tenths) / 10;
    const auto shares = PriorityShares::configure({share, share, share});
    ASSERT_TRUE(shares);
    for (std::uint64_t limit = 1; limit < 3000; ++limit) {
      const std::uint64_t exact = (limit * static_cast<std::uint64_t>(tenths) + 9) / 10;
      ASSERT_EQ(shares->ceiling(limit, Priority::normal), exact) << limit << " " << tenths;
    }
  }
}

TEST(AWaiter, OfHigherPriorityIsServedFirstAndNobodyOvertakesIt) {
  Limit limit({.limit = 1, .queue = 10});
  std::vector<int> served;
  auto held = limit.try_enter();
  Caller late(limit, background, served, 3);
  ASSERT_TRUE(soon([&] { return limit.waiting() == 1; }));
  Caller usual(limit, {}, served, 2);
  ASSERT_TRUE(soon([&] { return limit.waiting() == 2; }));
  Caller urgent(limit, critical, served, 1);
  ASSERT_TRUE(soon([&] { return limit.waiting() == 3; }));
  held.end(CallEnd::success);
  late.join();
  usual.join();
  urgent.join();
  EXPECT_EQ(served, (std::vector{1, 2, 3}));
}

TEST(AWaiter, BelowItsCeilingDoesNotHoldUpWhatIsMoreUrgent) {
  Limit limit({.limit = 10, .queue = 10, .ceilings = {.normal = 0.5}});
  auto held = limit.try_enter(heavy(5));
  std::vector<int> served;
  Caller waits(limit, {}, served, 1);
  ASSERT_TRUE(soon([&] { return limit.waiting() == 1; }));
  EXPECT_FALSE(limit.try_enter());
  {
    const auto urgent = limit.try_enter({.weight = 5, .priority = Priority::critical});
    EXPECT_TRUE(urgent);
  }
  EXPECT_EQ(limit.waiting(), 1u);
  held.end(CallEnd::success);
  waits.join();
  EXPECT_EQ(served, std::vector{1});
}

TEST(AWaiter, ThatWantsMuchHoldsBackThoseBehindItAndIsNotStarved) {
  Limit limit({.limit = 10, .queue = 10});
  auto first = limit.try_enter(heavy(5));
  auto second = limit.try_enter(heavy(2));
  std::vector<int> served;
  Caller large(limit, heavy(8), served, 8);
  ASSERT_TRUE(soon([&] { return limit.waiting() == 1; }));
  EXPECT_FALSE(limit.try_enter(heavy(1)));  // there is room for it
  first.end(CallEnd::success);
  large.join();
  EXPECT_EQ(served, std::vector{8});
}

TEST(AWaiter, ThatLeavesLetsThroughThoseItHeldBack) {
  Limit limit({.limit = 10, .queue = 10});
  const auto held = limit.try_enter(heavy(5));
  std::vector<int> served;
  Caller large(limit, heavy(8), served, 8);
  ASSERT_TRUE(soon([&] { return limit.waiting() == 1; }));
  Caller small(limit, heavy(1), served, 1);
  ASSERT_TRUE(soon([&] { return limit.waiting() == 2; }));
  large.stop();
  EXPECT_EQ(large.refusal(), Refusal::stopped);
  small.join();
  EXPECT_EQ(served, std::vector{1});
  EXPECT_TRUE(limit.try_enter(heavy(5)));  // and nobody waits any more
}

TEST(AWaiter, GivesUpWhenItsTimeIsOver) {
  ManualTime time{SteadyInstant{1s}};
  BasicConcurrencyLimit<ManualClock> limit({.limit = 1, .queue = 1}, ManualClock(time));
  auto held = limit.try_enter();
  EXPECT_EQ(limit.enter_for({}, 0s).refused().refusal, Refusal::limit);
  EXPECT_EQ(limit.enter_for({}, -1s).refused().refusal, Refusal::limit);
  std::thread waits(
      [&] { EXPECT_EQ(limit.enter_for({}, 10s).refused().refusal, Refusal::timed_out); });
  ASSERT_TRUE(soon([&] { return limit.waiting() == 1; }));
  time.advance(10s);
  waits.join();
  EXPECT_EQ(limit.waiting(), 0u);
  held.end(CallEnd::success);
  EXPECT_TRUE(limit.enter_for({}, 0s));
}

TEST(AWaiter, ThatIsStoppedAlreadyTakesNothing) {
  Limit limit({.limit = 1});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(limit.enter({}, stop.get_token()).refused().refusal, Refusal::stopped);
  EXPECT_EQ(limit.in_flight(), 0);
}

TEST(AQueue, OfNoPlacesTurnsAwayAtOnce) {
  Limit limit({.limit = 1});
  const auto held = limit.enter();
  EXPECT_EQ(limit.enter().refused().refusal, Refusal::line_full);
  EXPECT_EQ(limit.waiting(), 0u);
}

TEST(AQueue, ThatIsFullTurnsAwayWhatIsLeastUrgent) {
  Limit limit({.limit = 1, .queue = 2});
  auto held = limit.try_enter();
  std::vector<int> served;
  Caller usual(limit, {}, served, 2);
  ASSERT_TRUE(soon([&] { return limit.waiting() == 1; }));
  Caller late(limit, background, served, 3);
  ASSERT_TRUE(soon([&] { return limit.waiting() == 2; }));
  EXPECT_EQ(limit.enter(background).refused().refusal, Refusal::line_full);
  Caller urgent(limit, critical, served, 1);
  EXPECT_EQ(late.refusal(), Refusal::line_full);
  held.end(CallEnd::success);
  usual.join();
  urgent.join();
  EXPECT_EQ(served, (std::vector{1, 2}));
}

TEST(ALimitSetLive, WakesWaitersWhenItIsRaisedAndRevokesNothingWhenLowered) {
  Limit limit({.limit = 4, .queue = 10});
  auto held = limit.try_enter(heavy(4));
  limit.set_limit(2);
  EXPECT_EQ(limit.in_flight(), 4);
  EXPECT_FALSE(limit.try_enter());
  std::vector<int> served;
  Caller waits(limit, {}, served, 1);
  ASSERT_TRUE(soon([&] { return limit.waiting() == 1; }));
  limit.set_limit(5);
  waits.join();
  EXPECT_EQ(served, std::vector{1});
  limit.set_limit(0);
  EXPECT_EQ(limit.limit(), 1);
  limit.set_limit(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(limit.limit(), PriorityShares::most);
  limit.set_limit(5);
  held.end(CallEnd::success);
  EXPECT_TRUE(limit.try_enter(heavy(5)));
}

TEST(ALimitSetLive, TellsWaitersThatWantMoreThanItThatItIsImpossible) {
  Limit limit({.limit = 4, .queue = 10});
  auto held = limit.try_enter(heavy(3));
  std::thread large(
      [&] { EXPECT_EQ(limit.enter(heavy(4)).refused().verdict, Verdict::impossible); });
  ASSERT_TRUE(soon([&] { return limit.waiting() == 1; }));
  limit.set_limit(3);
  large.join();
  EXPECT_EQ(limit.waiting(), 0u);
}

using Waiting = Waited<Permit>;

TEST(ACoroutine, GoesOnAtOnceWhereThereIsRoom) {
  Limit limit({.limit = 1});
  Waiting waited;
  auto begin = [&] { return limit.async_enter(); };
  const auto job = await_one(begin, waited);
  ASSERT_TRUE(waited.ended());
  EXPECT_TRUE(*waited.permit);
  EXPECT_EQ(limit.in_flight(), 1);
}

TEST(ACoroutine, WaitsIsHandedTheRoomAndGivesItBack) {
  Limit limit({.limit = 1, .queue = 1});
  auto held = limit.try_enter();
  Waiting waited;
  auto begin = [&] { return limit.async_enter(); };
  const auto job = await_one(begin, waited);
  EXPECT_EQ(limit.waiting(), 1u);
  EXPECT_FALSE(waited.ended());
  held.end(CallEnd::success);
  ASSERT_TRUE(soon([&] { return waited.ended(); }));
  EXPECT_TRUE(*waited.permit);
  EXPECT_EQ(limit.in_flight(), 1);
  waited.permit->end(CallEnd::success);
  EXPECT_EQ(limit.in_flight(), 0);
}

TEST(ACoroutine, IsStoppedTimedOutAndTurnedAwayAsAThreadIs) {
  Limit limit({.limit = 1, .queue = 1});
  const auto held = limit.try_enter();
  const auto refusal_of = [&](auto begin, auto act) {
    Waiting waited;
    const auto job = await_one(begin, waited);
    act();
    EXPECT_TRUE(soon([&] { return waited.ended(); }));
    return waited.permit->refused().refusal;
  };
  std::stop_source stop;
  EXPECT_EQ(refusal_of([&] { return limit.async_enter({}, stop.get_token()); },
                       [&] { stop.request_stop(); }),
            Refusal::stopped);
  EXPECT_EQ(refusal_of([&] { return limit.async_enter({}, stop.get_token()); }, [] {}),
            Refusal::stopped);
  EXPECT_EQ(refusal_of([&] { return limit.async_enter_for({}, 1ms); }, [] {}), Refusal::timed_out);
  EXPECT_EQ(refusal_of([&] { return limit.async_enter_for({}, 0s); }, [] {}), Refusal::limit);
  Waiting urgent;
  auto begin = [&] { return limit.async_enter(critical); };
  std::optional<Job<Permit>> job;
  EXPECT_EQ(refusal_of([&] { return limit.async_enter(); },
                       [&] { job.emplace(await_one(begin, urgent)); }),
            Refusal::line_full);
  EXPECT_EQ(limit.waiting(), 1u);
}

TEST(ACoroutine, ThatIsDestroyedGivesBackItsPlaceInLine) {
  Limit limit({.limit = 1, .queue = 4});
  auto held = limit.try_enter();
  Waiting waited[2];
  auto begin = [&] { return limit.async_enter(); };
  auto first = await_one(begin, waited[0]);
  auto second = await_one(begin, waited[1]);
  EXPECT_EQ(limit.waiting(), 2u);
  first.destroy();
  EXPECT_EQ(limit.waiting(), 1u);
  held.end(CallEnd::success);
  ASSERT_TRUE(soon([&] { return waited[1].ended(); }));
  EXPECT_TRUE(*waited[1].permit);
  EXPECT_EQ(limit.in_flight(), 1);
}

/// Keeps the thread of the alarms busy, so that nobody is resumed.
class Bell final : public Alarm {
 public:
  Bell() {
    set(std::chrono::steady_clock::now());
    EXPECT_TRUE(soon([this] { return rings_.load(); }));
  }
  ~Bell() {
    may_end_ = true;
    clear();
  }

 private:
  std::optional<SteadyInstant> ring() noexcept override {
    rings_ = true;
    while (!may_end_) std::this_thread::yield();
    return std::chrono::steady_clock::now() + 1h;
  }
  std::atomic<bool> rings_{false};
  std::atomic<bool> may_end_{false};
};

TEST(ACoroutine, ThatIsDestroyedGivesBackWhatItWasHanded) {
  Limit limit({.limit = 1, .queue = 4});
  auto held = limit.try_enter();
  Waiting waited[2];
  auto begin = [&] { return limit.async_enter(); };
  auto first = await_one(begin, waited[0]);
  const auto second = await_one(begin, waited[1]);
  {
    const Bell bell;
    held.end(CallEnd::success);
    EXPECT_EQ(limit.waiting(), 1u);  // the first was let in, and does not run yet
    EXPECT_EQ(limit.in_flight(), 1);
    first.destroy();
    EXPECT_EQ(limit.waiting(), 0u);  // so the second has it
    EXPECT_EQ(limit.in_flight(), 1);
  }
  ASSERT_TRUE(soon([&] { return waited[1].ended(); }));
  EXPECT_FALSE(waited[0].ended());
  EXPECT_TRUE(*waited[1].permit);
  waited[1].permit.reset();
  EXPECT_EQ(limit.in_flight(), 0);
}

}  // namespace
}  // namespace weir
