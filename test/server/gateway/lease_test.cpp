// Units that a client of RateLimitService is given at once.
#include <gtest/gtest.h>

#include "test/server/gateway/gate.hpp"
#include "test/server/scripted_store.hpp"

namespace weir::test {
namespace {

using gateway::Entry;
using server::GateAnswer;
using server::GateAsk;
using server::GateResult;

constexpr GateAsk::Leasing leases = GateAsk::Leasing::as_rules_say;

const std::vector<Entry> a{{"a", "x"}};
const std::vector<Entry> b{{"b", "x"}};

/// What is left of the limit of one descriptor.
Cost left(Gate& gate, std::span<const Entry> descriptor) {
  const auto told = gate.ask({.calls = {{.descriptor = descriptor}}, .verb = GateAsk::Verb::peek});
  return told->judged.at(0).decision->remaining;
}

constexpr std::string_view ten_of_a = R"(
domain: d
descriptors:
  - {key: a, rate_limit: {unit: year, requests_per_unit: 100, lease: 10}}
  - {key: b, rate_limit: {unit: year, requests_per_unit: 100}}
)";

TEST(Lease, TakesAllThatItTells) {
  Gate gate(ten_of_a);
  const GateAnswer answer = *gate.ask({.calls = {{.descriptor = a}}, .leasing = leases});
  ASSERT_EQ(answer.leases.size(), 1U);
  EXPECT_EQ(answer.leases[0].calls, 10) << "the one that was asked is among them";
  EXPECT_EQ(answer.leases[0].valid_until, answer.decided_at + std::chrono::seconds(1));
  EXPECT_EQ(answer.judged.at(0).decision->remaining, 90);
  EXPECT_EQ(left(gate, a), 90);
  EXPECT_EQ(gate.counts("a").hits[0].value(), 10U);
}

TEST(Lease, WhatIsGivenAndWhatIsAskedNeverPassTheLimit) {
  Gate gate(ten_of_a);
  Cost given = 0;
  for (int call = 0; call < 200; ++call) {
    const GateAnswer answer = *gate.ask({.calls = {{.descriptor = a}}, .leasing = leases});
    given += !answer.leases.empty() ? answer.leases[0].calls : answer.allowed ? 1 : 0;
  }
  EXPECT_EQ(given, 100);
  EXPECT_EQ(gate.counts("a").hits[0].value(), 100U);
}

TEST(Lease, IsNeverMoreThanHalfOfWhatIsLeft) {
  Gate gate(ten_of_a);
  gate.ask({.calls = {{.descriptor = a}}, .hits = {82}});
  EXPECT_TRUE(gate.ask({.calls = {{.descriptor = a}}, .leasing = leases})->leases.empty())
      << "17 are left, and half of them are 8";
  EXPECT_EQ(left(gate, a), 17);
}

TEST(Lease, EndsNoLaterThanTheLimitIsWholeAgain) {
  Gate gate("rules: [{name: r, key: '{descriptor.a}', limit: 100/1s, lease: 10}]");
  const GateAnswer answer = *gate.ask({.calls = {{.descriptor = a}}, .leasing = leases});
  ASSERT_EQ(answer.leases.size(), 1U);
  EXPECT_EQ(answer.leases[0].valid_until, answer.judged.at(0).decision->reset_at);
  EXPECT_LE(answer.leases[0].valid_until, answer.decided_at + std::chrono::milliseconds(100));
}

TEST(Lease, IsOnlyForWhoAsksOneHitAndMayHaveIt) {
  Gate gate(ten_of_a);
  EXPECT_TRUE(gate.ask({.calls = {{.descriptor = a}}})->leases.empty()) << "not of RLS";
  EXPECT_TRUE(
      gate.ask({.calls = {{.descriptor = a}}, .hits = {2}, .leasing = leases})->leases.empty());
  EXPECT_TRUE(
      gate.ask({.calls = {{.descriptor = a}}, .hits = {0}, .leasing = leases})->leases.empty());
  EXPECT_TRUE(gate.ask({.calls = {{.descriptor = b}}, .leasing = leases})->leases.empty());
  gate.ask({.calls = {{.descriptor = b}}, .hits = {99}});
  EXPECT_TRUE(gate.ask({.calls = {{.descriptor = a}, {.descriptor = b}}, .leasing = leases})
                  ->leases.empty())
      << "the request is refused";
  EXPECT_EQ(left(gate, a), 96);
}

TEST(Lease, IsOfEachDescriptorByItself) {
  Gate gate(ten_of_a);
  const GateAnswer answer =
      *gate.ask({.calls = {{.descriptor = b}, {.descriptor = a}}, .leasing = leases});
  ASSERT_EQ(answer.leases.size(), 1U);
  EXPECT_EQ(answer.leases[0].call, 1U);
  EXPECT_EQ(left(gate, b), 99);
  EXPECT_EQ(left(gate, a), 90);
}

TEST(Lease, OfSeveralRulesIsTheLeastOfAllOfThem) {
  Gate gate(R"(
rules:
  - {name: many, match: {descriptor: {a: , b: }}, limit: fixed-window 100/365d, lease: 20, cost: 2}
  - {name: few, match: {descriptor: {a: }}, limit: fixed-window 100/365d, lease: 5}
  - {name: none, match: {descriptor: {b: }}, limit: fixed-window 100/365d}
)");
  const std::vector<Entry> both{{"a", "x"}, {"b", "x"}};
  EXPECT_TRUE(gate.ask({.calls = {{.descriptor = both}}, .leasing = leases})->leases.empty())
      << "one of them gives nothing ahead";
  ASSERT_TRUE(gate.reload(R"(
rules:
  - {name: many, match: {descriptor: {a: }}, limit: fixed-window 100/365d, lease: 20, cost: 2}
  - {name: few, match: {descriptor: {a: }}, limit: fixed-window 100/365d, lease: 5}
)"));
  const GateAnswer answer = *gate.ask({.calls = {{.descriptor = a}}, .leasing = leases});
  ASSERT_EQ(answer.leases.size(), 1U);
  EXPECT_EQ(answer.leases[0].calls, 5);
  EXPECT_EQ(answer.judged.at(0).decision->remaining, 98 - 10);
  EXPECT_EQ(answer.judged.at(1).decision->remaining, 99 - 5);
}

TEST(Lease, OfOneStateIsGivenOnce) {
  Gate gate("rules: [{name: r, limit: fixed-window 22/365d, lease: 11}]");
  const GateAnswer answer =
      *gate.ask({.calls = {{.descriptor = a}, {.descriptor = b}}, .leasing = leases});
  ASSERT_EQ(answer.leases.size(), 1U);
  EXPECT_EQ(left(gate, a), 10) << "half is left for those who ask";
}

TEST(Lease, GoesByRulesThatRefuse) {
  Gate gate(R"(
rules:
  - {name: r, key: "{descriptor.a}", limit: fixed-window 100/365d, lease: 10}
  - {name: s, limit: fixed-window 3/365d, shadow: true}
)");
  const GateAnswer answer = *gate.ask({.calls = {{.descriptor = a}}, .leasing = leases});
  ASSERT_EQ(answer.leases.size(), 1U) << "what is tried in shadow changes nothing";
  EXPECT_EQ(answer.leases[0].calls, 10);
  ASSERT_TRUE(gate.reload("rules: [{name: s, limit: fixed-window 9/365d, shadow: true}]"));
  EXPECT_TRUE(gate.ask({.calls = {{.descriptor = a}}, .leasing = leases})->leases.empty());
}

TEST(Lease, IsTriedByCandidatesToo) {
  Gate gate(
      "rules: [{name: r, limit: fixed-window 100/365d, lease: 10, "
      "candidates: [fixed-window 9/365d]}]");
  gate.ask({.calls = {{.descriptor = a}}, .leasing = leases});
  EXPECT_EQ(gate.counts("r").candidates[0].refused.value(), 1U) << "ten are more than nine";
}

TEST(Lease, IsNotGivenWhereARuleWasReplaced) {
  Gate gate(R"(
rules:
  - {name: all, match: {descriptor: {a: }}, limit: fixed-window 5/365d}
  - {name: each, match: {descriptor: {a: }}, limit: fixed-window 100/365d, lease: 10}
  - {name: vip, match: {descriptor: {b: }}, limit: unlimited, replaces: [all]}
)");
  const GateAnswer answer =
      *gate.ask({.calls = {{.descriptor = a}, {.descriptor = b}}, .leasing = leases});
  EXPECT_TRUE(answer.allowed);
  EXPECT_TRUE(answer.leases.empty()) << "asked without b, a counts for all";
}

TEST(Lease, IsNotGivenWithoutTheStore) {
  Gate gate(ten_of_a);
  GoneStore store;
  redis::RemoteTable table(store, {});
  gate.service.store = &table;
  const GateAnswer answer = *gate.ask({.calls = {{.descriptor = a}}, .leasing = leases});
  EXPECT_TRUE(answer.allowed);
  EXPECT_TRUE(answer.leases.empty());
}

class LeaseOverAStore : public testing::Test {
 protected:
  LeaseOverAStore() {
    gate_.service.store = &table_;
    gate_.decider.decide({.rules = gate_.decider.generation()->rules.usual(),
                          .calls = calls_,
                          .hits = once_,
                          .leasing = leases},
                         [this](GateAnswer&& came) { answer_ = std::move(came); });
    EXPECT_EQ(store_.calls(), 1U);
    store_.end(0, ScriptedStore::granted(4));
  }

  ScriptedStore store_;
  redis::RemoteTable table_{store_, {}};
  Gate gate_{"rules: [{name: r, key: '{descriptor.a}', limit: 5/1m, lease: 3}]"};
  const std::vector<gateway::Call> calls_{{.descriptor = a}};
  const std::vector<Cost> once_{1};
  std::optional<GateAnswer> answer_;
};

TEST_F(LeaseOverAStore, IsToldOnceItIsTaken) {
  ASSERT_EQ(store_.calls(), 2U);
  EXPECT_FALSE(answer_) << "two more are asked for first";
  store_.end(1, ScriptedStore::granted(2));
  ASSERT_TRUE(answer_);
  ASSERT_EQ(answer_->leases.size(), 1U);
  EXPECT_EQ(answer_->leases[0].calls, 3);
  EXPECT_EQ(answer_->judged.at(0).decision->remaining, 2);
}

TEST_F(LeaseOverAStore, IsNotToldWhereNobodyKnowsWhetherItWasTaken) {
  ASSERT_EQ(store_.calls(), 2U);
  store_.end(1, ScriptedStore::ended(redis::CallOutcome::indeterminate));
  ASSERT_TRUE(answer_);
  EXPECT_TRUE(answer_->allowed) << "the request at hand has its unit";
  EXPECT_TRUE(answer_->leases.empty());
  EXPECT_EQ(answer_->judged.at(0).decision->remaining, 4);
}

TEST(JointLeaseOverAStore, IsNotGivenWhereNobodyKnowsWhatIsLeft) {
  Gate gate(R"(
rules:
  - {name: r, key: "{descriptor.a}", limit: 5/1m, lease: 2}
  - {name: s, limit: 5/1h, lease: 2}
)");
  ScriptedStore store;
  redis::RemoteTable table(store, {});
  gate.service.store = &table;
  store.answer_at_once();
  const auto answer = gate.ask({.calls = {{.descriptor = a}}, .leasing = leases});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->allowed);
  EXPECT_TRUE(answer->leases.empty());
  EXPECT_EQ(store.calls(), 1U) << "both together, and nothing ahead";
}

}  // namespace
}  // namespace weir::test
