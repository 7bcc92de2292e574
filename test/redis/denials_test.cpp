// Denials that are told again without asking the store.
#include "redis/denials.hpp"

#include <gtest/gtest.h>

#include <random>

#include "test/redis/remote_calls.hpp"

namespace weir::redis {
namespace {

using Words = VirtualStore::Words;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(RememberedDenial, AnswersUntilTheVeryInstantAndNoLonger) {
  RemoteCalls calls{Policy{}};
  for (int call = 0; call < 5; ++call) (void)calls.take("5/1s", "k");
  const RemoteAnswer denied = calls.take("5/1s", "k");
  ASSERT_EQ(denied.source, Source::store);
  const std::size_t before = calls.store.calls();
  for (int call = 0; call < 100; ++call) {
    const RemoteAnswer again = calls.take("5/1s", "k");
    EXPECT_EQ(again.source, Source::cache);
    EXPECT_EQ(again.decision.ready_at, denied.decision.ready_at);
    EXPECT_EQ(again.decision.verdict, Verdict::denied);
    calls.store.pass(milliseconds{1});
  }
  calls.store.set_time(denied.decision.ready_at - microseconds{1});
  EXPECT_EQ(calls.take("5/1s", "k").source, Source::cache);
  EXPECT_EQ(calls.store.calls(), before);
  calls.store.set_time(denied.decision.ready_at);
  const RemoteAnswer granted = calls.take("5/1s", "k");
  EXPECT_EQ(granted.source, Source::store);
  EXPECT_EQ(granted.decision.verdict, Verdict::granted);
}

TEST(RememberedDenial, HoldsForMoreUnitsAndLessPatienceOnly) {
  RemoteCalls calls{Policy{}};
  for (int call = 0; call < 4; ++call) (void)calls.take("5/1s", "k");
  const RemoteTable::Ask two{.cost = 2, .patience = milliseconds{20}};
  const RemoteAnswer denied = calls.take("5/1s", "k", two);
  ASSERT_EQ(denied.decision.verdict, Verdict::denied);
  const auto source = [&](Cost cost, Span patience) {
    const RemoteAnswer answer = calls.take("5/1s", "k", {.cost = cost, .patience = patience});
    EXPECT_EQ(answer.decision.verdict, Verdict::denied);
    return answer.source;
  };
  EXPECT_EQ(source(2, milliseconds{20}), Source::cache);
  EXPECT_EQ(source(3, milliseconds{10}), Source::cache);
  EXPECT_EQ(source(2, milliseconds{0}), Source::cache);
  EXPECT_EQ(calls.take("5/1s", "k", {.cost = 2}).decision.ready_at,
            denied.decision.ready_at + milliseconds{20});  // who waits less comes later
  EXPECT_EQ(source(2, milliseconds{21}), Source::store);
  EXPECT_EQ(calls.take("5/1s", "k", {.cost = 1}).source, Source::store);
  EXPECT_EQ(calls.take("5/1s", "k", {.cost = 6}).decision.verdict, Verdict::impossible);
}

TEST(RememberedDenial, IsOfThatKeyAndLimit) {
  RemoteCalls calls{Policy{}};
  (void)calls.take("1/1s", "k");
  (void)calls.take("1/1s", "k");
  EXPECT_EQ(calls.take("1/1s", "k").source, Source::cache);
  EXPECT_EQ(calls.take("1/1s", "l").source, Source::store);
  EXPECT_EQ(calls.take("2/1s", "k").source, Source::store);
}

TEST(RememberedDenial, IsOfThoseNumbersWhereTheyComeWithTheCall) {
  RemoteCalls calls{Policy{}};
  const auto numbers = [](std::int64_t burst) -> Limit::Machine::Config {
    return RedisCell::configure({.max_burst = burst, .count = 10, .period_s = 1}).value();
  };
  (void)calls.take_of(numbers(0), "k");
  EXPECT_EQ(calls.take_of(numbers(0), "k").decision.verdict, Verdict::denied);
  EXPECT_EQ(calls.take_of(numbers(0), "k").source, Source::cache);
  EXPECT_EQ(calls.take_of(numbers(5), "k").decision.verdict, Verdict::granted);
}

TEST(RememberedDenial, IsForgottenWhenTheTableGivesBack) {
  for (const int verb : {0, 1, 2}) {
    RemoteCalls calls{Policy{}};
    const RemoteAnswer granted = calls.take("1/1s", "k");
    (void)calls.take("1/1s", "k");
    ASSERT_EQ(calls.take("1/1s", "k").source, Source::cache);
    if (verb == 0) {
      EXPECT_EQ(calls.refund("1/1s", "k", 1).given, 1);
    } else if (verb == 1) {
      EXPECT_EQ(calls.cancel("1/1s", "k", granted.grants.at(0)).given, 1);
    } else {
      EXPECT_EQ(calls.reset("1/1s", "k").given, 1);
    }
    EXPECT_EQ(calls.take("1/1s", "k").decision.verdict, Verdict::granted);
  }
}

TEST(RememberedDenial, IsForgottenWhenLeasedUnitsGoBack) {
  RemoteCalls calls{{.lease = LeaseSettings{.most_units = 100}}};
  for (int call = 0; call < 8; ++call) (void)calls.take("1000/1h", "k");
  const Cost held = calls.table.leased();
  ASSERT_GT(held, 0);
  const RemoteTable::Ask all{.cost = 992};
  calls.store.pass(milliseconds{90});
  ASSERT_EQ(calls.take("1000/1h", "k", all).decision.verdict, Verdict::denied);
  ASSERT_EQ(calls.take("1000/1h", "k", all).source, Source::cache);
  calls.store.pass(milliseconds{200});
  calls.table.tick();
  ASSERT_EQ(calls.table.leased(), 0);
  EXPECT_EQ(calls.take("1000/1h", "k", all).decision.verdict, Verdict::granted);
}

TEST(RememberedDenial, IsNeverToldToEndEarlierThanItDoes) {
  RemoteCalls calls{{.deadline = std::chrono::seconds{1}}};
  (void)calls.take("5/1s", "k", {.cost = 5});
  calls.store.fate = [](const Words&) { return Fate::held; };
  calls.start_take("5/1s", "k");
  calls.store.pass(milliseconds{50});  // on its way there
  calls.store.fate = [](const Words&) { return Fate::answered; };
  calls.store.release();
  calls.store.pass(milliseconds{10});
  calls.answers.clear();
  const RemoteAnswer told = calls.take("5/1s", "k");
  ASSERT_EQ(told.source, Source::cache);
  EXPECT_EQ(told.decided_at, calls.store.unix());
  EXPECT_EQ(told.decision.ready_at - told.decided_at, milliseconds{140});
}

TEST(RememberedDenial, ThatWasOnItsWayDuringARefundIsNotKept) {
  RemoteCalls calls{Policy{}};
  (void)calls.take("1/1s", "k");
  calls.store.fate = [](const Words& words) {
    return words.at(1) == "weir_1_take" ? Fate::answered_late : Fate::answered;
  };
  calls.start_take("1/1s", "k");  // denied by the store, but not heard yet
  EXPECT_EQ(calls.refund("1/1s", "k", 1).given, 1);
  calls.store.fate = [](const Words&) { return Fate::answered; };
  calls.store.release();
  ASSERT_EQ(calls.answers.size(), 1u);
  EXPECT_EQ(calls.answers[0].decision.verdict, Verdict::denied);
  calls.answers.clear();
  EXPECT_EQ(calls.take("1/1s", "k").decision.verdict, Verdict::granted);
}

TEST(RememberedDenial, ALateAnswerDoesNotMakeItHoldForLonger) {
  RemoteCalls calls{{.deadline = std::chrono::seconds{1}}};
  (void)calls.take("5/1s", "k", {.cost = 5});
  calls.store.fate = [](const Words&) { return Fate::answered_late; };
  calls.start_take("5/1s", "k");
  calls.store.pass(milliseconds{150});  // on its way back, of the 200 that it holds
  calls.store.fate = [](const Words&) { return Fate::answered; };
  calls.store.release();
  calls.answers.clear();
  calls.store.pass(milliseconds{49});
  EXPECT_EQ(calls.take("5/1s", "k").source, Source::cache);
  calls.store.pass(milliseconds{1});
  EXPECT_EQ(calls.take("5/1s", "k").decision.verdict, Verdict::granted);
}

TEST(RememberedDenial, IsAskedAgainAfterASecondSinceOthersMayHaveGivenBack) {
  RemoteCalls calls{Policy{}};
  (void)calls.take("1/1h", "k");
  (void)calls.take("1/1h", "k");
  calls.store.lua().erase("weir:{k}:1/1h");  // as another process resets
  calls.store.pass(milliseconds{999});
  EXPECT_EQ(calls.take("1/1h", "k").source, Source::cache);
  calls.store.pass(milliseconds{1});
  EXPECT_EQ(calls.take("1/1h", "k").decision.verdict, Verdict::granted);
}

TEST(RememberedDenial, IsNotOfALimitWhosePlacesBecomeFreeOrWhoseRefusalsPunish) {
  for (const char* limit : {"concurrency 1/1m", "1/1s block 2s", "1/1s & 5/1m block 3s"}) {
    RemoteCalls calls{Policy{}};
    (void)calls.take(limit, "k");
    EXPECT_EQ(calls.take(limit, "k").decision.verdict, Verdict::denied);
    EXPECT_EQ(calls.take(limit, "k").source, Source::store);
  }
}

TEST(RememberedDenial, IsNotKeptWhereNoneAreToBe) {
  RemoteCalls calls{{.remembered_denials = 0}};
  (void)calls.take("1/1s", "k");
  (void)calls.take("1/1s", "k");
  EXPECT_EQ(calls.take("1/1s", "k").source, Source::store);
}

TEST(RememberedDenial, AmongMoreKeysThanAreKeptStaysThatOfItsOwnKey) {
  Denials denials(64);
  const SteadyInstant now{};
  const Instant told_at{Span{1'000'000}};
  std::mt19937 random(1);
  std::size_t told = 0;
  for (int round = 0; round < 20'000; ++round) {
    const int number = static_cast<int>(random() % 200);
    const std::string key = std::to_string(number);
    const Denials::Question question{
        .key = key, .limit = "t", .cost = 1, .patience = Span{0}, .now = now};
    const Denials::Found found = denials.find(question);
    if (found.answer) {
      ++told;
      ASSERT_EQ(found.answer->decision.remaining, number);
      continue;
    }
    const Decision decision{
        .verdict = Verdict::denied, .ready_at = told_at + milliseconds{10}, .remaining = number};
    denials.keep({question, now, found.forgotten, {decision, told_at}});
  }
  EXPECT_GT(told, 1'000u);
  EXPECT_LT(told, 15'000u);
}

}  // namespace
}  // namespace weir::redis
