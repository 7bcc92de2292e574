// The public face, on a table whose answers the test gives.
#include "weir/redis/limiter.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "test/redis/remote_table_by_hand.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr Instant decided_at{Span{1'700'000'000'000'000}};

RemoteAnswer granted(Cost remaining = 4) {
  return {.decision = {Verdict::granted, decided_at, 5, remaining, decided_at + 12s},
          .decided_at = decided_at,
          .grants = {Grant{.cost = 1, .acts_at = decided_at}}};
}

RemoteAnswer deferred(Span until) {
  RemoteAnswer answer = granted();
  answer.decision.verdict = Verdict::deferred;
  answer.decision.ready_at = decided_at + until;
  answer.grants.front().acts_at = answer.decision.ready_at;
  return answer;
}

RemoteAnswer denied(Span until) {
  return {.decision = {Verdict::denied, decided_at + until, 5, 0, decided_at + 60s},
          .decided_at = decided_at};
}

TEST(Limiter, InstantsAreReckonedFromWhenTheReplyCame) {
  Hands hands;
  hands.answers = denied(3s);
  const Limiter limiter(hands, "5/1m");
  const auto before = steady_clock::now();
  const Outcome outcome = limiter.try_acquire("alice");
  const auto after = steady_clock::now();
  EXPECT_FALSE(outcome);
  EXPECT_EQ(outcome.verdict, Verdict::denied);
  EXPECT_EQ(outcome.refusal, Refusal::limit);
  EXPECT_GE(outcome.ready_at, before + 3s);
  EXPECT_LE(outcome.ready_at, after + 3s);
  EXPECT_EQ(outcome.reset_at - outcome.ready_at, 57s);
  EXPECT_EQ(outcome.limit, 5);
  EXPECT_EQ(outcome.remaining, 0);
  EXPECT_FALSE(outcome.grant);
}

TEST(Limiter, AGrantActsNow) {
  Hands hands;
  hands.answers = granted();
  const Limiter limiter(hands, "5/1m");
  const Outcome outcome = limiter.try_acquire("alice");
  EXPECT_TRUE(outcome);
  EXPECT_EQ(outcome.refusal, Refusal::none);
  EXPECT_EQ(outcome.wait(steady_clock::now()), 0ns);
  EXPECT_EQ(outcome.remaining, 4);
  EXPECT_EQ(outcome.source, Source::store);
}

TEST(Limiter, NeverIsTheEndOfTime) {
  Hands hands;
  hands.answers = RemoteAnswer{.decision = {Verdict::impossible, never, 5, 5, decided_at},
                               .decided_at = decided_at};
  const Limiter limiter(hands, "5/1m");
  const Outcome outcome = limiter.try_acquire("alice", 6);
  EXPECT_EQ(outcome.verdict, Verdict::impossible);
  EXPECT_EQ(outcome.ready_at, SteadyInstant::max());
}

TEST(Limiter, WhoDecidedAndWhyIsTold) {
  Hands hands;
  hands.answers = granted();
  hands.answers->source = Source::open;
  hands.answers->trouble = {TroubleKind::unreachable, "nobody listens at 127.0.0.1:6379"};
  const Limiter limiter(hands, "5/1m");
  const Outcome outcome = limiter.try_acquire("alice");
  EXPECT_EQ(outcome.source, Source::open);
  EXPECT_EQ(outcome.trouble.kind, TroubleKind::unreachable);
  EXPECT_EQ(outcome.trouble.message, "nobody listens at 127.0.0.1:6379");
}

TEST(Limiter, ANegativeCostIsImpossibleAndNobodyIsAsked) {
  Hands hands;
  const Limiter limiter(hands, "5/1m");
  EXPECT_EQ(limiter.try_acquire("alice", -1).verdict, Verdict::impossible);
  EXPECT_EQ(limiter.peek("alice", -1).verdict, Verdict::impossible);
  EXPECT_EQ(try_acquire_all({limiter.claim("alice", -1)}).outcome.verdict, Verdict::impossible);
  EXPECT_TRUE(hands.verbs().empty());
}

enum class Plan : std::uint8_t { basic = 7 };

struct Tenant {
  std::string name;
};
std::string_view key_bytes(const Tenant& tenant) { return tenant.name; }

template <typename Key, typename Given>
std::string key_of(const Given& key) {
  Hands hands;
  const Limiter<Key> limiter(hands, "5/1m");
  limiter.try_acquire(key, 1, [](Outcome&&) {});
  return hands.next().keys.front();
}

TEST(Limiter, KeysAreTextsAndNumbersInDigits) {
  EXPECT_EQ(key_of<std::string_view>("alice"), "alice");
  EXPECT_EQ(key_of<std::string>(std::string("bob")), "bob");
  EXPECT_EQ(key_of<int>(-42), "-42");
  EXPECT_EQ(key_of<std::uint64_t>(std::uint64_t{18'446'744'073'709'551'615U}),
            "18446744073709551615");
  EXPECT_EQ(key_of<Plan>(Plan::basic), "7");
  EXPECT_EQ(key_of<Tenant>(Tenant{"acme"}), "acme");
}

TEST(Limiter, AStateIsCalledByTheLimitsCanonicalText) {
  Hands hands;
  const Limiter limiter(hands, "gcra 60/60s burst 60");
  limiter.try_acquire("alice", 1, [](Outcome&&) {});
  EXPECT_EQ(hands.next().limit, Limit::of("60/1m").text());
}

TEST(Limiter, WhatItCannotKeepIsRefusedWhenItIsMade) {
  Hands hands;
  EXPECT_THROW(Limiter(hands, "often"), std::invalid_argument);
  EXPECT_THROW(Limiter(hands, "5/1m initial 1"), std::invalid_argument);
}

// ---- Waiting for the answer ----

TEST(Limiter, AThreadWaitsForAnAnswerFromAnother) {
  Hands hands;
  const Limiter limiter(hands, "5/1m");
  std::jthread store([&] { hands.next().then(granted(3)); });
  EXPECT_EQ(limiter.try_acquire("alice").remaining, 3);
}

TEST(Limiter, WhoIsCalledBackIsToldOnceAndLater) {
  Hands hands;
  const Limiter limiter(hands, "5/1m");
  int told = 0;
  limiter.try_acquire("alice", 2, [&](Outcome&& outcome) { told += outcome ? 1 : 100; });
  EXPECT_EQ(told, 0);
  const Asked asked = hands.next();
  EXPECT_EQ(asked.ask.cost, 2);
  EXPECT_EQ(asked.ask.patience, Span{0});
  asked.then(granted());
  EXPECT_EQ(told, 1);
}

TEST(Limiter, AVerbThatWouldWaitForItselfRefusesInstead) {
  Hands hands;
  const Limiter limiter(hands, "5/1m");
  std::optional<Outcome> inner;
  std::optional<Gift> gift;
  limiter.try_acquire("alice", 1, [&](Outcome&&) {
    inner = limiter.try_acquire("bob");
    gift = limiter.refund("bob", 1);
  });
  hands.next().then(granted());
  ASSERT_TRUE(inner);
  EXPECT_FALSE(*inner);
  EXPECT_EQ(inner->source, Source::closed);
  EXPECT_EQ(inner->trouble.kind, TroubleKind::refused);
  EXPECT_FALSE(gift->given);
  EXPECT_EQ(gift->trouble.kind, TroubleKind::refused);
  // And it is no more than that: here one may wait again.
  hands.answers = granted();
  EXPECT_TRUE(limiter.try_acquire("bob"));
}

TEST(Limiter, WhatItBeganEndsWithoutIt) {
  Hands hands;
  int told = 0;
  std::optional<Limiter<>> limiter(std::in_place, hands, "5/1m");
  limiter->try_acquire("alice", 1, [&](Outcome&&) { ++told; });
  limiter.reset();
  hands.next().then(granted());
  EXPECT_EQ(told, 1);
}

// ---- Waiting for one's turn ----

TEST(Limiter, AcquireSleepsUntilItsTurn) {
  Hands hands;
  hands.answers = deferred(30ms);
  const Limiter limiter(hands, "5/1m");
  const auto begun_at = steady_clock::now();
  const Outcome outcome = limiter.acquire("alice");
  EXPECT_EQ(outcome.verdict, Verdict::granted);
  EXPECT_GE(steady_clock::now() - begun_at, 30ms);
}

TEST(Limiter, ATimeoutIsThePatienceThatIsAskedFor) {
  Hands hands;
  const Limiter limiter(hands, "5/1m");
  std::jthread store([&] {
    const Asked asked = hands.next();
    EXPECT_LE(*asked.ask.patience, 2s);
    EXPECT_GT(*asked.ask.patience, 1s);
    asked.then(denied(3s));
  });
  EXPECT_EQ(limiter.try_acquire_for("alice", 1, 2s).verdict, Verdict::denied);
}

TEST(Limiter, AStopGivesTheTurnBack) {
  Hands hands;
  hands.answers = deferred(1h);
  hands.gives = RemoteGift{.given = 1};
  const Limiter limiter(hands, "5/1m");
  std::stop_source stop;
  std::jthread stopper([&] {
    while (hands.verbs().empty()) std::this_thread::yield();
    stop.request_stop();
  });
  const Outcome outcome = limiter.acquire("alice", 1, stop.get_token());
  EXPECT_EQ(outcome.refusal, Refusal::stopped);
  EXPECT_FALSE(outcome);
  EXPECT_EQ(hands.verbs(), (std::vector<std::string>{"take", "cancel"}));
}

TEST(Limiter, WhoIsStoppedAlreadyTakesNothing) {
  Hands hands;
  std::stop_source stop;
  stop.request_stop();
  const Limiter limiter(hands, "5/1m");
  EXPECT_EQ(limiter.acquire("alice", 1, stop.get_token()).refusal, Refusal::stopped);
  EXPECT_TRUE(hands.verbs().empty());
}

TEST(Limiter, ATurnFurtherOffThanTheStoreLetsWaitIsAskedForAgain) {
  Hands hands;
  const Limiter limiter(hands, "5/1m");
  std::jthread store([&] {
    hands.next().then(denied(1min + 20ms));
    const Asked again = hands.next();
    EXPECT_EQ(*again.ask.patience, 1min);
    again.then(granted());
  });
  EXPECT_TRUE(limiter.acquire("alice"));
}

TEST(Limiter, WhoIsRefusedForWantOfAStoreDoesNotWaitForIt) {
  Hands hands;
  hands.answers = denied(1s);
  hands.answers->source = Source::closed;
  const Limiter limiter(hands, "5/1m");
  EXPECT_EQ(limiter.acquire("alice").source, Source::closed);
  EXPECT_EQ(hands.verbs().size(), 1U);
}

// ---- Giving back ----

TEST(Limiter, CancelGivesBackWhatTheStoreGranted) {
  Hands hands;
  hands.answers = deferred(1h);
  hands.gives = RemoteGift{.given = 1};
  const Limiter limiter(hands, "5/1m");
  const Outcome outcome = limiter.try_acquire("alice");
  EXPECT_EQ(limiter.cancel("alice", outcome).given, 1);
  Outcome of_no_store;
  EXPECT_EQ(limiter.cancel("alice", of_no_store).given, 0);
  EXPECT_EQ(hands.verbs(), (std::vector<std::string>{"take", "cancel"}));
}

TEST(Limiter, RefundAndResetTellWhatCameOfThem) {
  Hands hands;
  hands.gives = RemoteGift{.given = {}, .trouble = {TroubleKind::timed_out, "late"}};
  const Limiter limiter(hands, "5/1m");
  EXPECT_FALSE(limiter.refund("alice", 2).given);
  EXPECT_EQ(limiter.reset("alice").trouble.message, "late");
  EXPECT_EQ(limiter.refund("alice", 0).given, 0);
  EXPECT_EQ(limiter.leave("alice", PermitId{3}).trouble.kind, TroubleKind::timed_out);
  EXPECT_EQ(limiter.renew("alice", PermitId{3}).trouble.kind, TroubleKind::timed_out);
  EXPECT_EQ(hands.verbs(), (std::vector<std::string>{"refund", "reset", "leave", "renew"}));
}

// ---- Several at once ----

TEST(Limiter, SeveralAreAskedTogether) {
  Hands hands;
  const auto limits = std::make_shared<Limits>(hands);
  const Limiter<> per_user(limits, "5/1m");
  const Limiter<int> per_port(limits, "100/1m");
  std::jthread store([&] {
    const Asked asked = hands.next();
    EXPECT_EQ(asked.keys, (std::vector<std::string>{"5/1m alice", "100/1m 80"}));
    EXPECT_EQ(asked.costs, (std::vector<Cost>{1, 2}));
    RemoteAnswer answer = denied(1s);
    answer.binding = 1;
    answer.atomic = false;
    asked.then(std::move(answer));
  });
  const Joint joint = try_acquire_all({per_user.claim("alice"), per_port.claim(80, 2)});
  EXPECT_FALSE(joint.outcome);
  EXPECT_EQ(joint.binding, 1U);
  EXPECT_FALSE(joint.atomic);
}

TEST(Limiter, OnlyLimitersOfOneLimitsAreAskedTogether) {
  Hands hands;
  const Limiter one(hands, "5/1m");
  const Limiter other(hands, "5/1m");
  EXPECT_THROW(static_cast<void>(try_acquire_all({one.claim("a"), other.claim("a")})),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(try_acquire_all(std::initializer_list<SharedLimit::Claim>{})),
               std::invalid_argument);
  const std::vector<SharedLimit::Claim> many(17, one.claim("a"));
  EXPECT_THROW(static_cast<void>(try_acquire_all(many)), std::invalid_argument);
}

}  // namespace
}  // namespace weir::redis
