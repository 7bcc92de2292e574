// What a shared limit does when its store does not decide.
#include <gtest/gtest.h>

#include <limits>

#include "test/redis/remote_calls.hpp"

namespace weir::redis {
namespace {

using Words = VirtualStore::Words;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RemoteTable, TellsHowACallFailedAndThatItDecidedItself) {
  struct Row {
    Fate fate;
    TroubleKind kind;
  };
  for (const auto& [fate, kind] :
       {Row{Fate::lost, TroubleKind::timed_out}, Row{Fate::broken_off, TroubleKind::timed_out},
        Row{Fate::not_sent, TroubleKind::unreachable}}) {
    RemoteCalls calls{Policy{}};
    calls.store.fate = [&, ended = fate](const Words&) { return ended; };
    const RemoteAnswer answer = calls.take("5/1s", "k");
    EXPECT_EQ(answer.trouble.kind, kind);
    EXPECT_NE(answer.trouble.message, "");
    EXPECT_EQ(answer.source, Source::fallback);
    EXPECT_EQ(answer.decision.verdict, Verdict::granted);
    EXPECT_TRUE(answer.grants.empty());
    EXPECT_EQ(calls.store.calls(), 1u);
    EXPECT_FALSE(calls.refund("5/1s", "k", 1).given);
    EXPECT_EQ(calls.refund("5/1s", "k", 1).trouble.kind, kind);
    EXPECT_EQ(calls.reset("5/1s", "k").trouble.kind, kind);
  }
}

TEST(RemoteTable, AGarbledReplyDecidesNothing) {
  for (const std::vector<std::int64_t>& reply :
       {std::vector<std::int64_t>{}, {0}, {0, 1, 1, 5, 4, 1}, {9, 1, 1, 5, 4, 1, 0, 1, 0}}) {
    RemoteCalls calls{{.without_store = WithoutStore::closed}};
    calls.store.reply = [&](const Words&) { return integers_reply(reply); };
    const RemoteAnswer answer = calls.take("5/1s", "k");
    EXPECT_EQ(answer.trouble.kind, TroubleKind::garbled);
    EXPECT_EQ(answer.source, Source::closed);
    EXPECT_EQ(answer.decision.verdict, Verdict::denied);
  }
}

TEST(RemoteTable, AKeyThatHoldsSomethingElseIsNoReasonToLeaveTheStoreAlone) {
  RemoteCalls calls{{.without_store = WithoutStore::closed}};
  calls.store.reply = [](const Words& words) -> std::optional<StoreReply> {
    if (words.size() < 4 || words[3] != "weir:{list}:5/1s") return {};
    return error_reply("WRONGTYPE weir: key list holds something else");
  };
  for (int call = 0; call < 50; ++call) {
    EXPECT_EQ(calls.take("5/1s", "list").trouble.kind, TroubleKind::refused);
  }
  EXPECT_EQ(calls.take("5/1s", "k").source, Source::store);
}

TEST(RemoteTable, ALimitThatNoStoreKeepsIsRefusedWithoutAsking) {
  RemoteCalls calls{{.without_store = WithoutStore::closed}};
  constexpr std::int64_t parts_in_tick = (std::int64_t{1} << 52) + 1;
  const Interval finest(Interval::Parts{.count = 1, .parts_in_tick = parts_in_tick});
  const RemoteAnswer answer = calls.take_of(Gcra::Config{finest, 1, finest.times(1)}, "k");
  EXPECT_EQ(answer.trouble.kind, TroubleKind::refused);
  EXPECT_EQ(answer.source, Source::closed);
  EXPECT_EQ(calls.store.calls(), 0u);
}

TEST(RemoteTable, OpenLetsInWhatTheLimitCouldAndClosedNothing) {
  for (const WithoutStore policy : {WithoutStore::open, WithoutStore::closed}) {
    RemoteCalls calls{{.without_store = policy}};
    calls.store.fate = [](const Words&) { return Fate::not_sent; };
    for (int call = 0; call < 20; ++call) {
      const RemoteAnswer answer = calls.take("5/1s", "k");
      const bool open = policy == WithoutStore::open;
      EXPECT_EQ(answer.source, open ? Source::open : Source::closed);
      EXPECT_EQ(answer.decision.verdict, open ? Verdict::granted : Verdict::denied);
      EXPECT_EQ(answer.decision.limit, 5);
      EXPECT_EQ(answer.decided_at, calls.store.unix());
      EXPECT_EQ(answer.decision.ready_at,
                open ? answer.decided_at : answer.decided_at + seconds{1});
    }
    const RemoteAnswer too_much = calls.take("5/1s", "k", {.cost = 6});
    EXPECT_EQ(too_much.decision.verdict, Verdict::impossible);
    EXPECT_EQ(too_much.decision.ready_at, never);
  }
}

TEST(RemoteTable, AShareIsTheLimitDividedByTheMembers) {
  RemoteCalls calls{{.members = 4}};
  calls.store.fate = [](const Words&) { return Fate::not_sent; };
  Cost let_in = 0;
  for (int call = 0; call < 100; ++call) {
    if (calls.take("20/1s", "k").decision.verdict == Verdict::granted) ++let_in;
  }
  EXPECT_EQ(let_in, 5);
  calls.store.pass(milliseconds{200});  // one unit at a quarter of the rate
  EXPECT_EQ(calls.peek("20/1s", "k").decision.verdict, Verdict::granted);
  EXPECT_EQ(calls.take("20/1s", "k").decision.verdict, Verdict::granted);
  EXPECT_EQ(calls.take("20/1s", "k").decision.verdict, Verdict::denied);
  EXPECT_EQ(calls.take("20/1s", "other").decision.verdict, Verdict::granted);
}

TEST(RemoteTable, WhatTheShareCanNeverGrantIsDeniedAndNotImpossible) {
  RemoteCalls calls{{.members = 4}};
  calls.store.fate = [](const Words&) { return Fate::not_sent; };
  const RemoteAnswer answer = calls.take("20/1s", "k", {.cost = 10});
  EXPECT_EQ(answer.decision.verdict, Verdict::denied);
  EXPECT_EQ(answer.decision.ready_at, answer.decided_at + seconds{1});
  EXPECT_EQ(calls.take("20/1s", "k", {.cost = 21}).decision.verdict, Verdict::impossible);
}

TEST(RemoteTable, TheStoreGoesOnWithItsOwnStatesWhenItIsBack) {
  RemoteCalls calls{{.members = 2, .remembered_denials = 0}};
  for (int call = 0; call < 3; ++call) (void)calls.take("6/1m", "k");
  calls.store.fate = [](const Words&) { return Fate::not_sent; };
  Cost by_share = 0;
  for (int call = 0; call < 10; ++call) {
    if (taken(calls.take("6/1m", "k").decision.verdict)) ++by_share;
  }
  EXPECT_EQ(by_share, 3);  // of the 6 a half
  calls.store.fate = [](const Words&) { return Fate::answered; };
  calls.store.pass(seconds{2});
  Cost by_store = 0;
  for (int call = 0; call < 10; ++call) {
    const RemoteAnswer answer = calls.take("6/1m", "k");
    EXPECT_EQ(answer.source, Source::store);
    if (taken(answer.decision.verdict)) ++by_store;
  }
  EXPECT_EQ(by_store, 3);  // the other three: the excess is the share that was used
}

TEST(RemoteTable, SeveralClaimsAreTakenByShareAllOrNone) {
  RemoteCalls calls{{.members = 2}};
  calls.store.fate = [](const Words&) { return Fate::not_sent; };
  EXPECT_EQ(calls.take_all("10/1m", {"a", "b"}).decision.verdict, Verdict::granted);
  for (int call = 0; call < 4; ++call) (void)calls.take("10/1m", "b");
  const RemoteAnswer answer = calls.take_all("10/1m", {"a", "b"});
  EXPECT_EQ(answer.source, Source::fallback);
  EXPECT_EQ(answer.decision.verdict, Verdict::denied);
  EXPECT_EQ(answer.binding, 1u);
  EXPECT_EQ(calls.peek("10/1m", "a").decision.remaining, 4);
}

TEST(RemoteTable, SeveralClaimsArePeekedAtByShareAndNothingIsTaken) {
  RemoteCalls calls{{.members = 2}};
  calls.store.fate = [](const Words&) { return Fate::not_sent; };
  for (int call = 0; call < 2; ++call) {
    const RemoteAnswer answer = calls.peek_all("10/1m", {"a", "b"});
    EXPECT_EQ(answer.source, Source::fallback);
    EXPECT_EQ(answer.decision.verdict, Verdict::granted);
    EXPECT_EQ(answer.decision.remaining, 5);
  }
}

TEST(RemoteTable, SharesOfNumbersThatComeWithTheCallAreDividedToo) {
  RemoteCalls calls{{.members = 2}};
  calls.store.fate = [](const Words&) { return Fate::not_sent; };
  const Limit::Machine::Config numbers =
      RedisCell::configure({.max_burst = 9, .count = 10, .period_s = 1}).value();
  Cost let_in = 0;
  for (int call = 0; call < 20; ++call) {
    if (taken(calls.take_of(numbers, "k").decision.verdict)) ++let_in;
  }
  EXPECT_EQ(let_in, 5);
}

TEST(RemoteTable, AHugeRefundGivesBackWhatIsOwed) {
  RemoteCalls calls{Policy{}};
  (void)calls.take("5/1m", "k", {.cost = 3});
  EXPECT_EQ(calls.refund("5/1m", "k", std::numeric_limits<Cost>::max()).given, 3);
}

TEST(RemoteTable, ARuleThatIsGoneIsNotTakenForTheOneInItsPlace) {
  for (const Fate fate : {Fate::answered, Fate::not_sent}) {
    RemoteCalls calls{Policy{}};
    calls.store.fate = [&](const Words&) { return fate; };
    std::optional<Rule> place;
    const auto take = [&] {
      Verdict verdict = Verdict::impossible;
      calls.table.take({&*place, "k", nullptr, {}}, {},
                       [&](RemoteAnswer&& answer) { verdict = answer.decision.verdict; });
      return verdict;
    };
    place.emplace(Rule{1, "1/1m", Limit::of("1/1m"), false});
    EXPECT_EQ(take(), Verdict::granted);
    EXPECT_EQ(take(), Verdict::denied);
    place.emplace(Rule{2, "3/1m", Limit::of("3/1m"), false});
    for (int call = 0; call < 3; ++call) EXPECT_EQ(take(), Verdict::granted);
    EXPECT_EQ(take(), Verdict::denied);
    place.emplace(Rule{3, "1/1m", Limit::of("1/1m"), false});
    EXPECT_EQ(take(), Verdict::denied);  // of one name and text: one state
  }
}

TEST(Breaker, LeavesTheStoreAloneAfterFiveFailuresOfTwentyAndProbesThen) {
  RemoteCalls calls{{.without_store = WithoutStore::closed}};
  (void)calls.take("100/1s", "k");
  for (int call = 0; call < 10; ++call) (void)calls.take("100/1s", "k");
  const std::size_t before = calls.store.calls();
  calls.store.fate = [](const Words&) { return Fate::lost; };
  for (int call = 0; call < 50; ++call) (void)calls.take("100/1s", "k");
  EXPECT_EQ(calls.store.calls() - before, 5u);
  EXPECT_EQ(calls.take("100/1s", "k").trouble.kind, TroubleKind::unreachable);

  calls.store.pass(milliseconds{999});
  (void)calls.take("100/1s", "k");
  EXPECT_EQ(calls.store.calls() - before, 5u);
  calls.store.pass(milliseconds{501});  // a second, and half of it by chance at the most
  for (int call = 0; call < 50; ++call) (void)calls.take("100/1s", "k");
  EXPECT_EQ(calls.store.calls() - before, 6u);  // one probe, which failed

  calls.store.fate = [](const Words&) { return Fate::answered; };
  calls.store.pass(milliseconds{1500});
  for (int call = 0; call < 10; ++call) {
    EXPECT_EQ(calls.take("100/1s", "k").source, Source::store);
  }
}

TEST(Breaker, OnlyOneProbeIsUnderWayAtATime) {
  RemoteCalls calls{{.without_store = WithoutStore::closed}};
  calls.store.fate = [](const Words&) { return Fate::lost; };
  for (int call = 0; call < 5; ++call) (void)calls.take("100/1s", "k");
  calls.store.pass(milliseconds{1500});
  calls.store.fate = [](const Words&) { return Fate::held; };
  for (int call = 0; call < 10; ++call) calls.start_take("100/1s", "k");
  EXPECT_EQ(calls.store.held(), 1u);
  EXPECT_EQ(calls.answers.size(), 9u);
  calls.store.fate = [](const Words&) { return Fate::answered; };
  calls.store.release();
  EXPECT_EQ(calls.answers.size(), 10u);
  EXPECT_EQ(calls.answers.back().source, Source::store);
}

TEST(Breaker, FourFailuresOfTwentyDoNotOpenIt) {
  RemoteCalls calls{{.without_store = WithoutStore::closed}};
  (void)calls.take("1000/1s", "k");
  int call = 0;
  calls.store.fate = [&](const Words&) { return call % 5 == 0 ? Fate::lost : Fate::answered; };
  for (call = 1; call < 16; ++call) {
    EXPECT_NE(calls.take("1000/1s", "k").trouble.kind, TroubleKind::unreachable);
  }
}

TEST(Policy, WithNumbersThatAreNoneIsRefused) {
  const auto refused = [](const Policy& policy) {
    try {
      const RemoteCalls calls{policy};
      return false;
    } catch (const std::invalid_argument&) {
      return true;
    }
  };
  constexpr auto always = std::chrono::nanoseconds::max();
  constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
  EXPECT_TRUE(refused({.deadline = milliseconds{0}}));
  EXPECT_TRUE(refused({.deadline = always}));
  EXPECT_TRUE(refused({.members = 0}));
  EXPECT_TRUE(refused({.keys = 0}));
  EXPECT_TRUE(refused({.breaker = {.failures = 0}}));
  EXPECT_TRUE(refused({.breaker = {.failures = 5, .calls = 4}}));
  EXPECT_TRUE(refused({.breaker = {.probe_every = seconds{0}}}));
  EXPECT_TRUE(refused({.breaker = {.probe_every = always}}));
  EXPECT_TRUE(refused({.remembered_denials = all}));
  EXPECT_TRUE(refused({.lease = LeaseSettings{.most_units = 0}}));
  EXPECT_TRUE(refused({.lease = LeaseSettings{.most_units = std::numeric_limits<Cost>::max()}}));
  EXPECT_TRUE(refused({.lease = LeaseSettings{.kept_for = seconds{0}}}));
  EXPECT_TRUE(refused({.lease = LeaseSettings{.kept_for = always}}));
  EXPECT_TRUE(refused({.lease = LeaseSettings{.keys = 0}}));
  EXPECT_FALSE(refused({.deadline = std::chrono::hours{1}, .lease = LeaseSettings{}}));
}

}  // namespace
}  // namespace weir::redis
