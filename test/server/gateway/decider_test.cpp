#include "server/gateway/decider.hpp"

#include <gmock/gmock.h>

#include "server/gateway/rule_metrics.hpp"
#include "test/server/gateway/gate.hpp"
#include "test/server/scripted_store.hpp"

namespace weir::test {
namespace {

using gateway::Entry;
using server::GateAnswer;
using server::GateAsk;
using server::GateResult;

Cost remaining(const GateAnswer& answer, std::string_view rule) {
  for (const server::Judged& judged : answer.judged) {
    if (judged.rule->label == rule && judged.decision) return judged.decision->remaining;
  }
  return -1;
}

constexpr std::string_view two_rules = R"(
rules:
  - {name: each, key: "{user}", limit: fixed-window 2/365d}
  - {name: all, limit: fixed-window 3/365d}
)";

TEST(Decider, TakesOfAllRulesOrOfNone) {
  Gate gate(two_rules);
  EXPECT_TRUE(gate.lets("ann"));
  EXPECT_TRUE(gate.lets("ann"));
  for (int again = 0; again < 5; ++again) EXPECT_FALSE(gate.lets("ann"));
  const auto bob = gate.ask({.calls = {{.user = "bob"}}});
  EXPECT_TRUE(bob->allowed) << "five refusals took nothing of what all share";
  EXPECT_EQ(remaining(*bob, "all"), 0);
  EXPECT_EQ(remaining(*bob, "each"), 1);
  EXPECT_FALSE(gate.lets("cid"));
  EXPECT_EQ(remaining(*gate.ask({.calls = {{.user = "bob"}}, .verb = GateAsk::Verb::peek}), "each"),
            1);
}

TEST(Decider, NamesTheRuleThatRefusesLongest) {
  Gate gate(R"(
rules:
  - {name: short, limit: fixed-window 1/1h}
  - {name: long, limit: fixed-window 1/365d}
)");
  EXPECT_TRUE(gate.lets("ann"));
  const auto refused = gate.ask({.calls = {{.user = "ann"}}});
  ASSERT_TRUE(refused->binding);
  EXPECT_EQ(refused->judged[*refused->binding].rule->name, "long");
  EXPECT_EQ(refused->retry_at(), refused->judged[*refused->binding].decision->ready_at);
}

TEST(Decider, APeekTakesNothing) {
  Gate gate(two_rules);
  for (int again = 0; again < 5; ++again) {
    EXPECT_TRUE(gate.ask({.calls = {{.user = "ann"}}, .verb = GateAsk::Verb::peek})->allowed);
  }
  EXPECT_EQ(gate.decided("each", GateResult::allowed), 0U);
  EXPECT_EQ(remaining(*gate.ask({.calls = {{.user = "ann"}}}), "each"), 1);
}

TEST(Decider, AShadowRuleCountsAndNeverRefuses) {
  Gate gate("rules: [{name: r, key: '{user}', limit: fixed-window 1/365d, shadow: true}]");
  EXPECT_TRUE(gate.lets("ann"));
  EXPECT_TRUE(gate.lets("ann"));
  EXPECT_EQ(gate.decided("r", GateResult::allowed), 1U);
  EXPECT_EQ(gate.decided("r", GateResult::shadow_limited), 1U);
  EXPECT_EQ(gate.decided("r", GateResult::limited), 0U);
}

TEST(Decider, CandidatesAreTriedOnTheSameCallsAndChangeNoAnswer) {
  Gate gate(
      "rules: [{name: r, key: '{user}', limit: fixed-window 3/365d, candidates: "
      "[fixed-window 1/365d, fixed-window 9/365d]}]");
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(gate.lets("ann"));
  EXPECT_FALSE(gate.lets("ann"));
  const auto& counts = gate.counts("r");
  EXPECT_EQ(counts.candidates[0].allowed.value(), 1U);
  EXPECT_EQ(counts.candidates[0].refused.value(), 3U);
  EXPECT_EQ(counts.candidates[1].allowed.value(), 4U);
  EXPECT_EQ(counts.candidates[1].refused.value(), 0U);
}

TEST(Decider, AKeyOfItsOwnLimitIsHeldToThatAlone) {
  Gate gate(R"(
rules:
  - name: r
    key: "{user}"
    limit: fixed-window 1/365d
    overrides: {ann: unlimited, bob: blocked, cid: fixed-window 2/365d}
)");
  for (int call = 0; call < 9; ++call) EXPECT_TRUE(gate.lets("ann"));
  EXPECT_FALSE(gate.lets("bob"));
  EXPECT_FALSE(gate.ask({.calls = {{.user = "bob"}}})->retry_at() != never) << "it never would";
  EXPECT_TRUE(gate.lets("cid"));
  EXPECT_TRUE(gate.lets("cid"));
  EXPECT_FALSE(gate.lets("cid"));
  EXPECT_TRUE(gate.lets("dan"));
  EXPECT_FALSE(gate.lets("dan"));
}

TEST(Decider, WhoIsRefusedForWhatHeDoesNotSayTakesNothing) {
  Gate gate(R"(
rules:
  - {name: known, key: "{user}", missing: refuse, limit: fixed-window 9/365d}
  - {name: all, limit: fixed-window 1/365d}
)");
  EXPECT_FALSE(gate.ask({.calls = {{}}})->allowed);
  EXPECT_TRUE(gate.lets("ann")) << "the refusal took nothing";
}

TEST(Decider, WhatIsReplacedCountsNothing) {
  Gate gate(R"(
rules:
  - {name: common, limit: fixed-window 1/365d}
  - {name: vip, match: {descriptor: {vip: }}, limit: unlimited, replaces: [common]}
)");
  const std::vector<Entry> vip{{"vip", "yes"}};
  for (int call = 0; call < 5; ++call) {
    EXPECT_TRUE(gate.ask({.calls = {{.descriptor = vip}}})->allowed);
  }
  EXPECT_EQ(gate.decided("vip", GateResult::allowed), 5U);
  EXPECT_EQ(gate.decided("common", GateResult::allowed), 0U);
  EXPECT_TRUE(gate.lets("ann"));
  EXPECT_FALSE(gate.lets("ann"));
}

TEST(Decider, MoreRulesThanCanBeTakenTogetherLetNobodyThrough) {
  std::string text = "rules:\n";
  for (int rule = 0; rule < 17; ++rule) {
    text += "- {name: r" + std::to_string(rule) + ", limit: 5/1s}\n";
  }
  Gate gate(text);
  EXPECT_FALSE(gate.lets("ann"));
  const std::string counted = "weir_limit_hits_total{limit=\"rules-of-a-call\"} ";
  const auto metrics = [&] { return gate.service.metrics.text(gate.service.table.stats()); };
  EXPECT_NE(metrics().find(counted + "1\n"), std::string::npos);
  ASSERT_TRUE(gate.reload(text.substr(0, text.rfind("- "))));
  EXPECT_TRUE(gate.lets("ann")) << "sixteen can";
  EXPECT_NE(metrics().find(counted + "1\n"), std::string::npos);
}

constexpr std::string_view another = R"(
domain: another
descriptors:
  - {key: key2, rate_limit: {unit: year, requests_per_unit: 20}}
  - {key: key3, rate_limit: {unit: year, requests_per_unit: 10}}
)";

TEST(Decider, EachDescriptorOfAnEnvoyFileCountsByItself) {
  Gate gate(another);
  const std::vector<Entry> key2{{"key2", "x"}};
  const std::vector<Entry> key3{{"key3", "x"}};
  for (int call = 1; call <= 15; ++call) {
    const auto answer = gate.ask({.calls = {{.descriptor = key2}, {.descriptor = key3}}});
    EXPECT_EQ(answer->allowed, call <= 10) << call;
    EXPECT_FALSE(answer->judged.at(0).refuses);
    EXPECT_EQ(answer->judged.at(0).decision->remaining, 20 - call) << "it keeps counting";
    EXPECT_EQ(answer->judged.at(1).refuses, call > 10);
  }
}

TEST(Decider, NoHitsOnlyAsk) {
  Gate gate(another);
  const std::vector<Entry> key3{{"key3", "x"}};
  for (int call = 0; call < 3; ++call) {
    const auto answer = gate.ask({.calls = {{.descriptor = key3}}, .hits = {0}});
    EXPECT_TRUE(answer->allowed);
    EXPECT_EQ(answer->judged.at(0).decision->remaining, 10);
  }
  EXPECT_FALSE(gate.ask({.calls = {{.descriptor = key3}}, .hits = {11}})->allowed);
  EXPECT_TRUE(gate.ask({.calls = {{.descriptor = key3}}, .hits = {10}})->allowed)
      << "what was refused whole took no part";
}

TEST(Decider, QuotasRefuseWhereAllOfThemAreOver) {
  Gate gate(R"(
domain: d
descriptors:
  - {key: a, quota_mode: true, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: b, quota_mode: true, rate_limit: {unit: year, requests_per_unit: 2}}
)");
  const std::vector<Entry> a{{"a", "x"}};
  const std::vector<Entry> b{{"b", "x"}};
  const auto ask = [&] {
    return gate.ask({.calls = {{.descriptor = a}, {.descriptor = b}}})->allowed;
  };
  EXPECT_TRUE(ask());
  EXPECT_TRUE(ask()) << "one quota is left";
  EXPECT_FALSE(ask());
}

TEST(Decider, KeepsAnAnswerBackUntilItsSlot) {
  Gate gate("rules: [{name: r, key: '{user}', limit: leaky-bucket 50/1s queue 10, hold: 1s}]");
  constexpr Span waits = std::chrono::seconds(1);
  EXPECT_TRUE(gate.ask({.calls = {{.user = "ann"}}, .patience = waits})->allowed);
  const std::vector<gateway::Call> calls{{.user = "ann"}};
  const std::vector<Cost> once{1};
  std::optional<GateAnswer> answer;
  gate.decider.decide({.rules = gate.decider.generation()->rules.usual(),
                       .calls = calls,
                       .hits = once,
                       .patience = waits},
                      [&answer](GateAnswer&& came) { answer = std::move(came); });
  ASSERT_FALSE(answer) << "its slot is a fiftieth of a second away";
  const auto began = std::chrono::steady_clock::now();
  gate.loop.run();
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->allowed);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(10));
  EXPECT_FALSE(gate.ask({
                            .calls = calls,
                        })
                   ->allowed)
      << "who does not wait is refused";
}

TEST(Decider, KeepsAnAnswerBackNoLongerThanEveryLimitThatIsMetMay) {
  for (const auto& [other, let] : {std::pair{"limit: unlimited", true},
                                   {"limit: 9/s, shadow: true", true},
                                   {"limit: 9/s, hold: 1s", true},
                                   {"limit: 9/s", false}}) {
    Gate gate("rules: [{name: a, limit: leaky-bucket 50/1s queue 10, hold: 1s}, {name: b, " +
              std::string(other) + "}]");
    constexpr Span waits = std::chrono::seconds(1);
    EXPECT_TRUE(gate.ask({.calls = {{}}, .patience = waits})->allowed);
    const auto refused = gate.ask({.calls = {{}}, .patience = waits});
    EXPECT_EQ(!refused, let) << other << ": it is kept back, or refused at once";
  }
}

TEST(Decider, KeepsSoManyAnswersBackAndCountsWhoIsRefusedForThat) {
  Gate gate("rules: [{name: r, limit: leaky-bucket 1000/1s queue 20000, hold: 1m}]");
  constexpr Span waits = std::chrono::minutes(1);
  EXPECT_TRUE(gate.ask({.calls = {{}}, .patience = waits})->allowed);
  const std::string counted = "weir_limit_hits_total{limit=\"held-answers\"} ";
  const auto metrics = [&] { return gate.service.metrics.text(gate.service.table.stats()); };
  for (std::size_t held = 0; held < server::Decider::most_held; ++held) {
    ASSERT_FALSE(gate.ask({.calls = {{}}, .patience = waits})) << held;
  }
  EXPECT_NE(metrics().find(counted + "0\n"), std::string::npos);
  EXPECT_FALSE(gate.ask({.calls = {{}}, .patience = waits})->allowed);
  EXPECT_NE(metrics().find(counted + "1\n"), std::string::npos);
}

TEST(Decider, ARaisedLimitKeepsWhatWasUsedAndANewNameBeginsAnew) {
  Gate gate("rules: [{name: r, key: '{user}', limit: fixed-window 2/365d}]");
  EXPECT_TRUE(gate.lets("ann"));
  EXPECT_TRUE(gate.lets("ann"));
  EXPECT_FALSE(gate.lets("ann"));
  ASSERT_TRUE(gate.reload("rules: [{name: r, key: '{user}', limit: fixed-window 3/365d}]"));
  EXPECT_TRUE(gate.lets("ann"));
  EXPECT_FALSE(gate.lets("ann"));
  ASSERT_TRUE(gate.reload("rules: [{name: r, key: '{user}', limit: fixed-window 2/365d}]"));
  EXPECT_FALSE(gate.lets("ann")) << "back to the old numbers is no amnesty";
  ASSERT_TRUE(gate.reload("rules: [{name: s, key: '{user}', limit: fixed-window 2/365d}]"));
  EXPECT_TRUE(gate.lets("ann"));
}

TEST(Decider, ARaisedLimitOfTheCalendarKeepsWhatWasUsed) {
  Gate gate("rules: [{name: r, key: '{user}', limit: calendar-window 2/year}]");
  EXPECT_TRUE(gate.lets("ann"));
  EXPECT_TRUE(gate.lets("ann"));
  EXPECT_FALSE(gate.lets("ann"));
  ASSERT_TRUE(gate.reload("rules: [{name: r, key: '{user}', limit: calendar-window 3/year}]"));
  EXPECT_TRUE(gate.lets("ann"));
  EXPECT_FALSE(gate.lets("ann"));
}

TEST(RuleMetrics, TellAWindowWhereItHasOneLength) {
  Gate gate(R"(
rules:
  - {name: hourly, limit: 50/1h}
  - {name: monthly, limit: calendar-window 50/month}
)");
  std::string text;
  const server::RuleCounts* const counts = &gate.decider.counts();
  server::write_rule_metrics(text, server::OfRules::themselves,
                             {*gate.decider.generation(), {&counts, 1}, {}});
  EXPECT_THAT(text, testing::HasSubstr(R"(weir_rule_limit{domain="default",rule="monthly"} 50)"));
  EXPECT_THAT(
      text, testing::HasSubstr(R"(weir_rule_window_seconds{domain="default",rule="hourly"} 3600)"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr(
                        R"(weir_rule_window_seconds{domain="default",rule="monthly"})")));
}

TEST(RuleMetrics, TellHowFullTheFullestKeyIs) {
  Gate gate(R"(
rules:
  - {name: full, match: {descriptor: {to: full}}, key: '{user}', limit: 4/365d}
  - {name: idle, match: {descriptor: {to: idle}}, limit: 4/365d}
  - {name: free, match: {descriptor: {to: free}}, limit: unlimited}
)");
  const auto ask = [&](std::string_view to, std::string_view user) {
    const std::vector<Entry> entry{{"to", to}};
    gate.ask({.calls = {{.user = user, .descriptor = entry}}});
  };
  const auto told = [&](std::chrono::minutes later) {
    std::string text;
    const server::RuleCounts* const counts = &gate.decider.counts();
    server::write_rule_metrics(
        text, server::OfRules::themselves,
        {*gate.decider.generation(), {&counts, 1}, gate.service.clock.now() + later});
    const std::string head = R"(weir_rule_utilization_ratio{domain="default",rule=")";
    std::string all;
    for (std::size_t at = 0; (at = text.find(head, at)) != std::string::npos;) {
      at += head.size();
      all += text.substr(at, text.find('\n', at) - at) + "; ";
    }
    return all;
  };
  for (const char* user : {"ann", "ann", "ann", "bob"}) ask("full", user);
  ask("free", "ann");
  EXPECT_EQ(told({}), R"(full"} 0.75; idle"} 0; free"} 0; )");
  ask("full", "ann");
  ask("full", "ann");
  EXPECT_EQ(told({}), R"(full"} 1; idle"} 0; free"} 0; )");
  EXPECT_EQ(told(std::chrono::minutes(2)), R"(full"} 0; idle"} 0; free"} 0; )");
}

TEST(FullestKey, IsThatOfThisMinuteAndTheOneBefore) {
  server::FullestKey fullest;
  const Instant noon = Instant{} + std::chrono::hours(500'000);
  const auto at = [&](int seconds) { return noon + std::chrono::seconds(seconds); };
  EXPECT_EQ(fullest.share(noon), 0);
  fullest.saw(3, 4, at(0));
  fullest.saw(1, 2, at(1));
  EXPECT_EQ(fullest.share(at(59)), 0.75) << "the highest counts, not the last";
  fullest.saw(1, 2, at(60));
  EXPECT_EQ(fullest.share(at(119)), 0.75);
  EXPECT_EQ(fullest.share(at(120)), 0.5);
  fullest.saw(9, 4, at(121));
  EXPECT_EQ(fullest.share(at(121)), 1) << "more than the limit is all of it";
  fullest.saw(-9, std::numeric_limits<Cost>::max(), at(122));
  EXPECT_EQ(fullest.share(at(240)), 0) << "nobody was seen since";
  fullest.saw(1, 2, at(-300));
  EXPECT_EQ(fullest.share(at(-300)), 0.5) << "a clock may be set back";
}

TEST(Decider, ABadFileChangesNothing) {
  Gate gate("rules: [{name: r, key: '{user}', limit: fixed-window 1/365d}]");
  const std::uint64_t generation = gate.decider.generation()->number;
  EXPECT_TRUE(gate.lets("ann"));
  EXPECT_FALSE(gate.reload("rules: [{name: r, limt: 5/s}]"));
  EXPECT_EQ(gate.decider.generation()->number, generation);
  EXPECT_FALSE(gate.lets("ann"));
}

TEST(Decider, ARuleSaysWhatHoldsWhileTheStoreIsGone) {
  Gate gate(R"(
rules:
  - {name: open, match: {descriptor: {to: open}}, limit: fixed-window 1/365d, without_store: open}
  - {name: closed, match: {descriptor: {to: closed}}, limit: 9/s, without_store: closed}
  - {name: share, match: {descriptor: {to: share}}, limit: fixed-window 2/365d}
)");
  GoneStore store;
  redis::RemoteTable table(store, {});
  gate.service.store = &table;
  const auto ask = [&](std::string_view to) {
    const std::vector<Entry> entry{{"to", to}};
    return *gate.ask({.calls = {{.descriptor = entry}}});
  };
  for (int call = 0; call < 5; ++call) {
    const GateAnswer open = ask("open");
    EXPECT_TRUE(open.allowed);
    EXPECT_EQ(open.judged.at(0).source, redis::Source::open);
    const GateAnswer closed = ask("closed");
    EXPECT_FALSE(closed.allowed);
    EXPECT_EQ(closed.judged.at(0).source, redis::Source::closed);
  }
  int shared = 0;
  for (int call = 0; call < 9; ++call) shared += ask("share").allowed ? 1 : 0;
  EXPECT_EQ(shared, 2) << "this process alone, on its share";
}

/// How many of nine calls a gate lets through whose store is gone.
int let_through(Gate& gate, const redis::Policy& policy) {
  GoneStore store;
  redis::RemoteTable table(store, policy);
  gate.service.store = &table;
  int let = 0;
  for (int call = 0; call < 9; ++call) let += gate.ask({.calls = {{}}})->allowed ? 1 : 0;
  return let;
}

TEST(Decider, OfRulesThatAreMetTogetherEachSaysWhatHoldsWhileTheStoreIsGone) {
  struct Row {
    std::string_view first;
    std::string_view second;
    int let;
  };
  // A share is of two units; the other rule's is larger, or smaller.
  for (const auto& [first, second, let] :
       {Row{"open", "open", 9}, Row{"open", "closed", 0}, Row{"closed", "open", 0},
        Row{"share", "closed", 0}, Row{"share", "open", 2}, Row{"share", "share", 1}}) {
    Gate gate("rules: [{name: a, limit: fixed-window 2/365d, without_store: " + std::string(first) +
              "}, {name: b, limit: fixed-window 1/365d, without_store: " + std::string(second) +
              "}]");
    EXPECT_EQ(let_through(gate, {}), let) << first << " and " << second;
  }
}

TEST(Decider, ARulesOwnWordOnAStoreThatIsGoneGoesBeforeTheServers) {
  using enum redis::WithoutStore;
  for (const auto server : {share, open, closed}) {
    for (const auto& [word, let] : {std::pair{"share", 2}, {"open", 9}, {"closed", 0}}) {
      Gate gate("rules: [{name: a, limit: fixed-window 2/365d, without_store: " +
                std::string(word) + "}]");
      EXPECT_EQ(let_through(gate, {.without_store = server}), let) << word;
    }
  }
}

TEST(Decider, WithoutItsStoreWhatCanNeverBeGrantedIsNot) {
  Gate gate("rules: [{name: a, limit: fixed-window 2/365d, without_store: open}]");
  GoneStore store;
  redis::RemoteTable table(store, {});
  gate.service.store = &table;
  EXPECT_TRUE(gate.ask({.calls = {{}}, .hits = {2}})->allowed);
  EXPECT_FALSE(gate.ask({.calls = {{}}, .hits = {3}})->allowed);
}

}  // namespace
}  // namespace weir::test
