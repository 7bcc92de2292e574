// Stories of other libraries' concurrency limits, told of ours: their documented behaviour, and
// where ours differs by intent.
#include "weir/local/concurrency.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "weir/local/leased_concurrency.hpp"
#include "weir/local/partitioned_concurrency.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Limit = ConcurrencyLimit;
using Permit = Limit::Permit;

/// One who waits without a thread, and is asked.
class Asker final : public Waiter {
 public:
  Asker(ConcurrencyHost& host, std::int64_t weight) : host_(host) {
    entry.weight = weight;
    static_cast<void>(host.enter_or_join(*this, {}));
  }
  bool is_let_in() const { return state == State::let_in; }
  bool is_turned_away() const { return state == State::turned_away; }
  bool waits() const { return state == State::waits; }
  void cancel() { static_cast<void>(host_.give_up(*this, Refusal::stopped, {})); }
  void leave() { host_.leave(entry.weight, {}); }

 private:
  void moved() noexcept override {}
  ConcurrencyHost& host_;
};

// nginx: limit_conn addr 2. A connection counts while its request is processed; one more gets 503.
TEST(NginxLimitConn, CountsConnectionsWhileTheirRequestsLast) {
  Limit per_address({.limit = 2});
  std::optional<Permit> first = per_address.try_enter();
  const auto second = per_address.try_enter();
  EXPECT_TRUE(*first && second);
  EXPECT_FALSE(per_address.try_enter());
  EXPECT_FALSE(per_address.try_enter());  // and a refused one does not count
  first.reset();
  EXPECT_TRUE(per_address.try_enter());
}

// nginx: limit_conn perip 1; limit_conn perserver 2. Both must let it in; one that the second
// refuses does not count in the first.
TEST(NginxLimitConn, OfTwoZonesCountsInNeitherWhatOneRefuses) {
  Limit per_address({.limit = 1});
  Limit per_server({.limit = 2});
  const auto other = per_server.try_enter();
  const auto another = per_server.try_enter();
  auto mine = per_address.try_enter();
  ASSERT_TRUE(mine);
  ASSERT_FALSE(per_server.try_enter());
  mine.withdraw();
  EXPECT_TRUE(per_address.try_enter());
}

// .NET: QueueProcessingOrder.OldestFirst. A full queue refuses the newcomer.
TEST(DotNetConcurrencyLimiter, OldestFirstServesInOrderAndRefusesWhenFull) {
  ConcurrencyHost host(*ConcurrencyHost::configure({.limit = 1, .queue = 2}));
  ASSERT_EQ(host.try_enter({}, {}).verdict, Verdict::granted);
  Asker first(host, 1);
  Asker second(host, 1);
  const Asker third(host, 1);
  EXPECT_TRUE(third.is_turned_away());
  host.leave(1, {});
  EXPECT_TRUE(first.is_let_in());
  EXPECT_TRUE(second.waits());
  first.leave();
  EXPECT_TRUE(second.is_let_in());
}

// .NET: QueueProcessingOrder.NewestFirst. A full queue drops its oldest.
TEST(DotNetConcurrencyLimiter, NewestFirstServesTheLastAndDropsTheOldest) {
  ConcurrencyHost host(
      *ConcurrencyHost::configure({.limit = 1, .queue = 2, .order = QueueOrder::newest_first}));
  ASSERT_EQ(host.try_enter({}, {}).verdict, Verdict::granted);
  const Asker first(host, 1);
  const Asker second(host, 1);
  Asker third(host, 1);
  EXPECT_TRUE(first.is_turned_away());
  host.leave(1, {});
  EXPECT_TRUE(third.is_let_in());
  EXPECT_TRUE(second.waits());
  third.leave();
  EXPECT_TRUE(second.is_let_in());
}

// .NET: with NewestFirst one that only asks is the newest too, and passes those that wait for more.
TEST(DotNetConcurrencyLimiter, NewestFirstLetsASmallRequestPassALargeOne) {
  for (const QueueOrder order : {QueueOrder::first_come, QueueOrder::newest_first}) {
    ConcurrencyHost host(*ConcurrencyHost::configure({.limit = 2, .queue = 2, .order = order}));
    ASSERT_EQ(host.try_enter({}, {}).verdict, Verdict::granted);
    const Asker large(host, 2);
    ASSERT_TRUE(large.waits());
    EXPECT_EQ(host.try_enter({}, {}).verdict == Verdict::granted,
              order == QueueOrder::newest_first);
  }
}

// .NET: cancelling a queued request completes it, and lets those behind it through.
TEST(DotNetConcurrencyLimiter, ACancelledRequestLeavesTheQueue) {
  ConcurrencyHost host(*ConcurrencyHost::configure({.limit = 3, .queue = 2}));
  ASSERT_EQ(host.try_enter({.weight = 2}, {}).verdict, Verdict::granted);
  Asker large(host, 3);
  const Asker small(host, 1);
  ASSERT_TRUE(large.waits() && small.waits());
  large.cancel();
  EXPECT_TRUE(small.is_let_in());
  EXPECT_EQ(host.waiting(), 0u);
}

// .NET throws for more permits than the limit; here it is a verdict. .NET's queue counts permits,
// ours those that wait.
TEST(DotNetConcurrencyLimiter, WouldThrowWhereThisSaysImpossible) {
  Limit limit({.limit = 3, .queue = 2});
  EXPECT_EQ(limit.try_enter({.weight = 4}).refused().verdict, Verdict::impossible);
}

// Java: new Semaphore(n, true) is fair, but its tryAcquire() barges in. Here nothing does.
TEST(JavaSemaphore, IsLessFairToThoseThatWait) {
  ConcurrencyHost host(*ConcurrencyHost::configure({.limit = 2, .queue = 4}));
  ASSERT_EQ(host.try_enter({}, {}).verdict, Verdict::granted);
  const Asker large(host, 2);
  EXPECT_EQ(host.try_enter({}, {}).verdict, Verdict::denied);  // though one permit is free
  host.leave(1, {});
  EXPECT_TRUE(large.is_let_in());
}

// Java: reducePermits() shrinks without revoking; acquired permits come back one by one.
TEST(JavaSemaphore, ReducedPermitsAreOwed) {
  Limit limit({.limit = 3});
  std::vector<Permit> held;
  for (int at = 0; at < 3; ++at) held.push_back(limit.try_enter());
  limit.set_limit(1);
  held.pop_back();
  EXPECT_FALSE(limit.try_enter());
  held.pop_back();
  EXPECT_FALSE(limit.try_enter());
  held.pop_back();
  EXPECT_TRUE(limit.try_enter());
}

// Java: release() without acquire() adds permits. Here a place is given back by its holder, once.
TEST(JavaSemaphore, ReleasingTwiceMintsNothing) {
  Limit limit({.limit = 1});
  auto permit = limit.try_enter();
  permit.end(CallEnd::success);
  permit.end(CallEnd::success);
  const auto one = limit.try_enter();
  EXPECT_TRUE(one);
  EXPECT_FALSE(limit.try_enter());
}

// Netflix: partitions bind only when the whole is full, and then may exceed it together. Here what
// is guaranteed is kept free, and the sum is never exceeded.
TEST(NetflixPartitions, KeepTheirGuaranteeAndNeverExceedTheWhole) {
  PartitionedConcurrencyLimit limit(
      {.limit = 10, .partitions = {{"live", 0.5}, {"batch", 0.3}, {"rest", 0}}});
  auto& live = limit.partition(0);
  auto& batch = *limit.partition("batch");
  auto& rest = limit.partition(2);
  EXPECT_EQ(limit.partition("nobody"), nullptr);

  const auto open = rest.try_enter({.weight = 2});
  EXPECT_TRUE(open);
  EXPECT_FALSE(rest.try_enter());  // 8 are kept
  EXPECT_EQ(rest.try_enter({.weight = 3}).refused().verdict, Verdict::impossible);
  const auto guaranteed = live.try_enter({.weight = 5});
  EXPECT_TRUE(guaranteed);
  EXPECT_FALSE(live.try_enter());  // 3 are kept for batch
  EXPECT_EQ(limit.in_flight(), 7);
  const auto all = batch.try_enter({.weight = 3});
  EXPECT_TRUE(all);
  EXPECT_EQ(limit.in_flight(), 10);
  EXPECT_FALSE(batch.try_enter());
  EXPECT_EQ(live.host().guaranteed(), 5);
}

TEST(NetflixPartitions, ShareWhatIsGuaranteedToNobody) {
  PartitionedConcurrencyLimit limit({.limit = 10, .partitions = {{"live", 0.5}, {"batch", 0.1}}});
  const auto most = limit.partition(1).try_enter({.weight = 5});
  EXPECT_TRUE(most);
  EXPECT_FALSE(limit.partition(1).try_enter());
  limit.set_limit(20);
  EXPECT_TRUE(limit.partition(1).try_enter({.weight = 5}));
  EXPECT_EQ(limit.partition(0).host().guaranteed(), 10);
}

// A lease: who never comes back frees its place, and coming back late changes nothing.
TEST(ALease, OfAHolderThatNeverComesBackFreesItself) {
  ManualTime time{SteadyInstant{100s}};
  BasicLeasedConcurrencyLimit<ManualClock> limit({.limit = 1, .lease_for = 30s}, ManualClock(time));
  auto lost = limit.try_enter();
  ASSERT_TRUE(lost);
  time.advance(30s - 1ns);
  EXPECT_FALSE(limit.try_enter());
  time.advance(1ns);
  auto next = limit.try_enter();
  ASSERT_TRUE(next);
  lost.end(CallEnd::success);
  EXPECT_EQ(limit.in_flight(), 1);  // of the next one
  EXPECT_FALSE(lost.renew());
  time.advance(29s);
  EXPECT_TRUE(next.renew());
  time.advance(29s);
  EXPECT_FALSE(limit.try_enter());
  next.end(CallEnd::success);
  EXPECT_FALSE(next.renew());
  EXPECT_TRUE(limit.try_enter());
}

TEST(ALease, ThatEndsLateIsNoSample) {
  struct Samples {
    int* heard;
    void operator()(const CallSample&) const noexcept { ++*heard; }
  };
  ManualTime time{SteadyInstant{100s}};
  int heard = 0;
  BasicLeasedConcurrencyLimit<ManualClock, Samples> limit({.limit = 2, .lease_for = 30s},
                                                          ManualClock(time), {&heard});
  auto late = limit.try_enter();
  auto in_time = limit.try_enter();
  time.advance(29s);
  in_time.end(CallEnd::success);
  EXPECT_EQ(heard, 1);
  time.advance(1s);
  late.end(CallEnd::success);
  EXPECT_EQ(heard, 1);
}

TEST(ALease, BySettingsThatAreNoGoodIsNone) {
  const auto error = [](const LeasedHost::Settings& settings) -> std::string {
    const auto config = LeasedHost::configure(settings);
    return config ? "" : config.error().setting;
  };
  EXPECT_EQ(error({.limit = 0, .lease_for = 1s}), "limit");
  EXPECT_EQ(error({.limit = LeasedPermits::most + 1, .lease_for = 1s}), "limit");
  EXPECT_EQ(error({.limit = 1, .lease_for = 0s}), "lease_for");
  EXPECT_EQ(error({.limit = 1, .lease_for = 1s, .queue = 65'537}), "queue");
  EXPECT_EQ(error({.limit = 1, .lease_for = 1s, .ceilings = {.background = 2}}),
            "ceilings.background");
  EXPECT_EQ(error({.limit = 1, .lease_for = std::chrono::nanoseconds::max()}), "");
}

TEST(PartitionSettings, BySettingsThatAreNoGoodAreNone) {
  using Settings = PartitionedConcurrencyLimit::Settings;
  const auto what = [](const Settings& settings) -> std::string {
    try {
      const PartitionedConcurrencyLimit limit(settings);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(what({.limit = 0, .partitions = {{"a", 1}}}).find("limit: expected"),
            std::string::npos);
  EXPECT_NE(what({.limit = 1, .partitions = {}}).find("partitions: expected"), std::string::npos);
  EXPECT_NE(what({.limit = 1, .partitions = {{"a", 0.5}, {"b", 0.6}}}).find("share: expected"),
            std::string::npos);
  EXPECT_NE(what({.limit = 1, .partitions = {{"a", -0.5}}}).find("share: expected"),
            std::string::npos);
  EXPECT_NE(what({.limit = 1, .partitions = {{"a", 0}, {"a", 0}}}).find("name: expected"),
            std::string::npos);
  Settings tenths{.limit = 10, .partitions = {}};
  for (int at = 0; at < 10; ++at) tenths.partitions.push_back({std::to_string(at), 0.1});
  EXPECT_EQ(what(tenths), "");
  PartitionedConcurrencyLimit limit(tenths);
  for (std::size_t at = 0; at < 10; ++at) EXPECT_EQ(limit.partition(at).host().guaranteed(), 1);
}

TEST(PartitionSettings, RoundTheirGuaranteesDownButNotByTheErrorsOfDoubles) {
  for (std::int64_t limit = 1; limit <= 1'000; ++limit) {
    for (std::int64_t share = 0; share <= 100; ++share) {
      const double shares[] = {static_cast<double>(share) / 100};
      const weir::Partitions one(*weir::Partitions::configure(limit, shares));
      ASSERT_EQ(one.guaranteed(0), limit * share / 100) << limit << " " << share;
    }
  }
}

}  // namespace
}  // namespace weir
