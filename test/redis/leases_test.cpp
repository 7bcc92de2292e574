// Units that are taken ahead: few round trips, and a bound that is kept.
#include "redis/leases.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "test/redis/remote_calls.hpp"

namespace weir::redis {
namespace {

using Machine = Limit::Machine;
using Words = VirtualStore::Words;
using std::chrono::microseconds;
using std::chrono::milliseconds;

Policy leasing(Cost most_units) {
  return {.remembered_denials = 0, .lease = LeaseSettings{.most_units = most_units}};
}

TEST(Lease, OfAHundredMakesFiftyTimesFewerRoundTripsOnAHotKey) {
  RemoteCalls calls(leasing(100));
  (void)calls.take("100000/1s", "warm");
  const std::size_t before = calls.store.calls();
  std::size_t leased = 0;
  for (int call = 0; call < 10'000; ++call) {
    const RemoteAnswer answer = calls.take("100000/1s", "k");
    ASSERT_EQ(answer.decision.verdict, Verdict::granted);
    if (answer.source == Source::lease) ++leased;
    if (call % 10 == 0) calls.store.pass(milliseconds{1});
  }
  EXPECT_LE(calls.store.calls() - before, 10'000u / 50);
  EXPECT_GT(leased, 9'900u);
}

TEST(Lease, IsNotTakenForAKeyThatIsAskedForSeldom) {
  RemoteCalls calls(leasing(100));
  for (int call = 0; call < 10; ++call) {
    EXPECT_EQ(calls.take("100/1s", "k").source, Source::store);
    calls.store.pass(milliseconds{200});
  }
  EXPECT_EQ(calls.table.leased(), 0);
}

TEST(Lease, GivesBackWhatIsLeft) {
  RemoteCalls calls(leasing(100));
  for (int call = 0; call < 20; ++call) (void)calls.take("1000/1h", "k");
  const Cost held = calls.table.leased();
  EXPECT_GT(held, 0);
  const Cost left_in_store = calls.peek("1000/1h", "k").decision.remaining;
  EXPECT_EQ(left_in_store + held, 980);
  calls.store.pass(milliseconds{99});
  calls.table.tick();
  EXPECT_EQ(calls.table.leased(), held);
  calls.store.pass(milliseconds{1});
  calls.table.tick();
  EXPECT_EQ(calls.table.leased(), 0);
  EXPECT_EQ(calls.peek("1000/1h", "k").decision.remaining, 980);
}

TEST(Lease, GivesBackWhenTheTableGoes) {
  VirtualStore store;
  Rules rules;
  const Subject subject{rules.find("1000/1h").value(), "k", nullptr, {}};
  Cost remaining = 0;
  {
    RemoteTable table(store, leasing(100), time_of(store));
    for (int call = 0; call < 20; ++call) table.take(subject, {}, [](RemoteAnswer&&) {});
    EXPECT_GT(table.leased(), 0);
  }
  RemoteTable(store, {}, time_of(store)).peek(subject, {}, [&](RemoteAnswer&& answer) {
    remaining = answer.decision.remaining;
  });
  EXPECT_EQ(remaining, 980);
}

TEST(Lease, LeavesTheLastUnitsOfALimitToBeHad) {
  for (const char* limit : {"100/1h", "fixed-window 100/1h", "sliding-window 100/1h",
                            "sliding-log 100/1h", "100/1h & fixed-window 500/1d"}) {
    RemoteCalls calls(leasing(64));
    Cost granted = 0;
    for (int call = 0; call < 150; ++call) {
      if (taken(calls.take(limit, "k").decision.verdict)) ++granted;
    }
    EXPECT_EQ(granted, 100) << limit;
    EXPECT_EQ(calls.table.leased(), 0) << limit;
  }
}

TEST(Lease, ThatIsRefusedIsAskedForOneByOne) {
  RemoteCalls calls(leasing(100));
  for (int call = 0; call < 4; ++call) (void)calls.take("1000/1h", "k");
  // Another process takes nearly all that is left.
  RemoteTable other(calls.store, {}, time_of(calls.store));
  const Cost left = calls.peek("1000/1h", "k").decision.remaining;
  other.take(calls.subject("1000/1h", "k"), {.cost = left - 2}, [](RemoteAnswer&&) {});
  Cost granted = 0;
  const Cost held = calls.table.leased();
  for (int call = 0; call < 50; ++call) {
    if (taken(calls.take("1000/1h", "k").decision.verdict)) ++granted;
  }
  EXPECT_EQ(granted, held + 2);
}

TEST(Lease, IsOnlyOfLimitsWhoseGrantsHaveNoHoldersPenaltiesOrDistance) {
  for (const char* limit : {"concurrency 100/1h", "1000/1s block 1s",
                            "leaky-bucket 100/1s queue 50", "1000/1s & concurrency 100/1s"}) {
    RemoteCalls calls(leasing(100));
    for (int call = 0; call < 20; ++call) (void)calls.take(limit, "k");
    EXPECT_EQ(calls.table.leased(), 0) << limit;
  }
}

TEST(Lease, CallersWaitForTheOneThatAsks) {
  RemoteCalls calls(leasing(100));
  for (int call = 0; call < 7; ++call) (void)calls.take("1000/1h", "k");
  ASSERT_EQ(calls.table.leased(), 0);
  calls.store.fate = [](const Words&) { return Fate::held; };
  for (int call = 0; call < 8; ++call) calls.start_take("1000/1h", "k");
  EXPECT_EQ(calls.store.held(), 1u);
  EXPECT_TRUE(calls.answers.empty());
  calls.store.fate = [](const Words&) { return Fate::answered; };
  calls.store.release();
  ASSERT_EQ(calls.answers.size(), 8u);
  for (const RemoteAnswer& answer : calls.answers) {
    EXPECT_EQ(answer.decision.verdict, Verdict::granted);
    EXPECT_EQ(answer.source, Source::lease);
  }
}

TEST(Lease, WhoWaitedForACallThatFailedIsToldSoInTime) {
  RemoteCalls calls(leasing(100));
  for (int call = 0; call < 7; ++call) (void)calls.take("1000/1h", "k");
  calls.store.fate = [](const Words&) { return Fate::held; };
  for (int call = 0; call < 8; ++call) calls.start_take("1000/1h", "k");
  const std::size_t before = calls.store.calls();
  calls.store.release_as({CallOutcome::timed_out, StoreReply::Kind::none, {}, "no answer"});
  ASSERT_EQ(calls.answers.size(), 8u);
  for (const RemoteAnswer& answer : calls.answers) {
    EXPECT_EQ(answer.source, Source::fallback);
    EXPECT_EQ(answer.trouble.kind, TroubleKind::timed_out);
  }
  EXPECT_EQ(calls.store.calls(), before);
}

TEST(Lease, IsGoneWithAReset) {
  RemoteCalls calls(leasing(100));
  for (int call = 0; call < 20; ++call) (void)calls.take("1000/1h", "k");
  ASSERT_GT(calls.table.leased(), 0);
  EXPECT_EQ(calls.reset("1000/1h", "k").given, 1);
  EXPECT_EQ(calls.table.leased(), 0);
  EXPECT_EQ(calls.peek("1000/1h", "k").decision.remaining, 1000);
}

TEST(Lease, WhatIsHeardOfAfterTheTableIsGoneIsGivenBackAndWhoWaitedIsTold) {
  VirtualStore store;
  Rules rules;
  const Subject subject{rules.find("1000/1h").value(), "k", nullptr, {}};
  std::size_t granted = 0;
  const auto count = [&](RemoteAnswer&& answer) {
    if (taken(answer.decision.verdict)) ++granted;
  };
  {
    RemoteTable table(store, leasing(100), time_of(store));
    for (int call = 0; call < 7; ++call) table.take(subject, {}, count);
    ASSERT_EQ(table.leased(), 0);
    store.fate = [](const Words&) { return Fate::held; };
    for (int call = 0; call < 3; ++call) table.take(subject, {}, count);
    ASSERT_EQ(store.held(), 1u);
  }
  store.fate = [](const Words&) { return Fate::answered; };
  store.release();
  EXPECT_EQ(granted, 10u);
  RemoteTable(store, {}, time_of(store)).peek(subject, {}, [&](RemoteAnswer&& answer) {
    EXPECT_EQ(answer.decision.remaining, 990);
  });
}

TEST(Lease, NobodyWaitsForACallThatMayEndAfterHisOwnDeadline) {
  RemoteCalls calls(leasing(100));
  for (int call = 0; call < 7; ++call) (void)calls.take("1000/1h", "k");
  calls.store.fate = [](const Words&) { return Fate::held; };
  // Who is answered first asks anew at once, for more than there is.
  calls.table.take(calls.subject("1000/1h", "k"), {},
                   [&](RemoteAnswer&&) { calls.start_take("1000/1h", "k", {.cost = 8}); });
  calls.start_take("1000/1h", "k", {.cost = 9});
  ASSERT_EQ(calls.store.held(), 1u);
  calls.store.pass(milliseconds{4});
  calls.store.release();
  EXPECT_EQ(calls.store.held(), 2u);  // the other one, whose deadline is nearer, asks for itself
  calls.store.fate = [](const Words&) { return Fate::answered; };
  calls.store.release();
  EXPECT_EQ(calls.answers.size(), 2u);
}

/// Members whose requests come in bursts and pauses of any length, some of them at the same keys.
class Members {
 public:
  Members(std::size_t count, Cost most_units, std::uint64_t seed) : random_(seed) {
    Policy policy = leasing(most_units);
    policy.lease->kept_for = milliseconds{1 + static_cast<int>(random_() % 50)};
    for (std::size_t at = 0; at < count; ++at) {
      members_.push_back(std::make_unique<RemoteTable>(store_, policy, time_of(store_)));
    }
  }

  struct Act {
    Instant at;
    Cost cost;
    Cost held_before;  ///< by all members
  };

  /// What acted under the limit, in order.
  std::vector<Act> run(const char* limit, int events) {
    const Subject subject{rules_.find(limit).value(), "k", nullptr, {}};
    std::vector<Act> acts;
    for (int event = 0; event < events; ++event) {
      RemoteTable& member = *members_[random_() % members_.size()];
      if (random_() % 8 == 0) store_.pass(microseconds{random_() % 30'000});
      if (random_() % 16 == 0) member.tick();
      const Cost cost = random_() % 8 == 0 ? 1 + static_cast<Cost>(random_() % 5) : 1;
      Cost held = 0;
      for (const auto& one : members_) held += one->leased();
      for (std::uint64_t burst = random_() % 12; burst > 0; --burst) {
        member.take(subject, {.cost = cost, .patience = Span{0}}, [&](RemoteAnswer&& answer) {
          if (answer.source == Source::lease) ++leased;
          if (!taken(answer.decision.verdict)) return;
          acts.push_back({answer.decision.ready_at, cost, held});
        });
      }
    }
    return acts;
  }

  std::size_t leased = 0;

 private:
  std::mt19937_64 random_;
  VirtualStore store_;
  Rules rules_;
  std::vector<std::unique_ptr<RemoteTable>> members_;
};

TEST(Lease, LetsInNoMoreThanTheBoundAndWhatWasHeldWhenTheSpanBegan) {
  constexpr std::size_t members = 4;
  constexpr Cost most_units = 16;
  std::size_t leased = 0;
  for (const char* text :
       {"100/100ms", "300/100ms burst 40", "fixed-window 80/100ms", "sliding-window 90/100ms",
        "sliding-window 64/50ms parts 4", "sliding-log 80/100ms",
        "500/1s burst 60 & fixed-window 90/200ms", "sliding-log 60/50ms & 1000/1s burst 100"}) {
    const Limit limit = Limit::of(text);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      Members group(members, most_units, seed);
      const auto acts = group.run(text, 250);
      leased += group.leased;
      ASSERT_GT(acts.size(), 100u) << text;
      for (std::size_t first = 0; first < acts.size(); ++first) {
        // The span begins just before this act: what was held then is what was before it.
        ASSERT_LE(acts[first].held_before, static_cast<Cost>(members) * most_units);
        Cost sum = 0;
        for (std::size_t last = first; last < acts.size(); ++last) {
          sum += acts[last].cost;
          const Span length = acts[last].at - acts[first].at + Span{1};
          const Cost bound = Machine::bound(limit.config(), length, 5);
          ASSERT_LE(sum, bound + acts[first].held_before)
              << text << ", seed " << seed << ", " << length.count() << " us from act " << first;
        }
      }
    }
  }
  EXPECT_GT(leased, 1'000u);
}

}  // namespace
}  // namespace weir::redis
