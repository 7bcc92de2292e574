// Several keys at once: all of them or none.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "weir/local/table.hpp"

namespace weir {
namespace {

using enum Verdict;
using namespace std::chrono_literals;
using std::string;
using Machine = Limit::Machine;

constexpr Instant start{std::chrono::seconds{1'750'000'000}};

class TakeAll : public testing::Test {
 protected:
  const Rule* rule(std::string_view text) { return rules_.find(text).value(); }
  Cost remaining(const Rule* rule, std::string_view key, Instant now) {
    return table_.peek({rule, key}, {now, 0, {}}).decision.remaining;
  }

  Rules rules_;
  Table table_;
};

TEST_F(TakeAll, TakesEveryClaim) {
  const std::array claims{Claim{{rule("5/1h"), "one"}, 2}, Claim{{rule("9/1h"), "other"}, 3}};
  const JointAnswer answer = table_.take_all(claims, {start, 0, {}});
  EXPECT_EQ(answer.decision.verdict, granted);
  EXPECT_EQ(answer.decided_at, start);
  EXPECT_EQ(remaining(rule("5/1h"), "one", start), 3);
  EXPECT_EQ(remaining(rule("9/1h"), "other", start), 6);
}

TEST_F(TakeAll, RaisesALateReadingToTheLatestOfItsKeys) {
  ASSERT_EQ(table_.take({rule("5/1h"), "other"}, {start + 1s, 1, {}}).decision.verdict, granted);
  const std::array claims{Claim{{rule("5/1h"), "one"}}, Claim{{rule("5/1h"), "other"}}};
  const JointAnswer answer = table_.take_all(claims, {start, 0, {}});
  EXPECT_EQ(answer.decided_at, start + 1s);
  EXPECT_EQ(answer.decision.ready_at, start + 1s);
}

TEST_F(TakeAll, TakesNoneWhereOneRefuses) {
  const std::array claims{Claim{{rule("5/1h"), "one"}, 2}, Claim{{rule("2/1h"), "other"}, 2}};
  ASSERT_EQ(table_.take_all(claims, {start, 0, {}}).decision.verdict, granted);
  const JointAnswer answer = table_.take_all(claims, {start + 1s, 0, {}});
  EXPECT_EQ(answer.decision.verdict, denied);
  EXPECT_EQ(answer.binding, 1u);
  EXPECT_EQ(answer.decision.ready_at, start + 1h);
  EXPECT_EQ(answer.decision.limit, 2);
  EXPECT_EQ(answer.decision.remaining, 0);
  EXPECT_EQ(remaining(rule("5/1h"), "one", start + 1s), 3);
}

TEST_F(TakeAll, TakesNoneWhereOneIsImpossible) {
  const std::array claims{Claim{{rule("5/1h"), "one"}, 2}, Claim{{rule("2/1h"), "other"}, 3}};
  const JointAnswer answer = table_.take_all(claims, {start, 0, {}});
  EXPECT_EQ(answer.decision.verdict, impossible);
  EXPECT_EQ(answer.binding, 1u);
  EXPECT_EQ(table_.stats().keys, 0u);
}

TEST_F(TakeAll, TheSameKeyNamedTwicePaysForBoth) {
  const Rule* five = rule("5/1h");
  const std::array claims{Claim{{five, "one"}, 2}, Claim{{rule("9/1h"), "other"}, 1},
                          Claim{{five, "one"}, 2}};
  EXPECT_EQ(table_.take_all(claims, {start, 0, {}}).decision.verdict, granted);
  EXPECT_EQ(remaining(five, "one", start), 1);
  const JointAnswer again = table_.take_all(claims, {start, 0, {}});
  EXPECT_EQ(again.decision.verdict, denied);
  EXPECT_EQ(again.binding, 0u);
  EXPECT_EQ(remaining(five, "one", start), 1);
  EXPECT_EQ(remaining(rule("9/1h"), "other", start), 8);
}

TEST_F(TakeAll, TwoRulesOnOneKeyAreTwoKeys) {
  const std::array claims{Claim{{rule("1/1h"), "user"}, 1}, Claim{{rule("2/1h"), "user"}, 1}};
  EXPECT_EQ(table_.take_all(claims, {start, 0, {}}).decision.verdict, granted);
  EXPECT_EQ(table_.take_all(claims, {start, 0, {}}).decision.verdict, denied);
  EXPECT_EQ(remaining(rule("2/1h"), "user", start), 1);
}

TEST_F(TakeAll, TooMuchInSumIsImpossible) {
  const Rule* five = rule("5/1h");
  const std::array claims{Claim{{five, "one"}, 3}, Claim{{five, "one"}, 3}};
  EXPECT_EQ(table_.take_all(claims, {start, 0, {}}).decision.verdict, impossible);
}

TEST_F(TakeAll, ActsAtTheInstantAtWhichAllAgree) {
  const Rule* slow = rule("1/10s");
  const Rule* fast = rule("1/4s");
  const std::array claims{Claim{{slow, "one"}}, Claim{{fast, "other"}}};
  ASSERT_EQ(table_.take_all(claims, {start, 0, {}}).decision.verdict, granted);
  const JointAnswer denied_answer = table_.take_all(claims, {start, 0, Span{9s}});
  EXPECT_EQ(denied_answer.decision.verdict, denied);
  EXPECT_EQ(denied_answer.decision.ready_at, start + 1s);  // with this patience
  const JointAnswer answer = table_.take_all(claims, {start, 0, Span{10s}});
  EXPECT_EQ(answer.decision.verdict, deferred);
  EXPECT_EQ(answer.decision.ready_at, start + 10s);
  EXPECT_EQ(answer.binding, 0u);
  // The faster one was charged at that instant too.
  EXPECT_EQ(table_.peek({fast, "other"}, {start, 1, {}}).decision.ready_at, start + 14s);
}

TEST_F(TakeAll, ProbesWithCostZero) {
  const std::array claims{Claim{{rule("1/1h"), "one"}, 0}, Claim{{rule("2/1h"), "other"}, 0}};
  const JointAnswer answer = table_.take_all(claims, {start, 0, {}});
  EXPECT_EQ(answer.decision.verdict, granted);
  EXPECT_EQ(answer.binding, 0u);
  EXPECT_EQ(answer.decision.remaining, 1);
  EXPECT_EQ(table_.stats().keys, 0u);
}

TEST_F(TakeAll, PunishesOnlyTheKeyThatRefuses) {
  const Rule* blocking = rule("1/1s block 1m");
  const std::array claims{Claim{{blocking, "one"}}, Claim{{blocking, "other"}}};
  ASSERT_EQ(table_.take({blocking, "one"}, {start, 1, {}}).decision.verdict, granted);
  EXPECT_EQ(table_.take_all(claims, {start, 0, {}}).decision.verdict, denied);
  EXPECT_EQ(table_.take({blocking, "one"}, {start + 59s, 1, {}}).decision.verdict, denied);
  EXPECT_EQ(table_.take({blocking, "other"}, {start + 59s, 1, {}}).decision.verdict, granted);
}

TEST_F(TakeAll, IsToldByAPeekAndNothingIsTaken) {
  const std::array claims{Claim{{rule("5/1h"), "one"}, 2}, Claim{{rule("3/1h"), "other"}, 3}};
  for (int each = 0; each < 2; ++each) {
    const JointAnswer peeked = table_.peek_all(claims, {start, 0, {}});
    EXPECT_EQ(peeked.decision, (Decision{granted, start, 3, 3, start}));
    EXPECT_EQ(peeked.binding, 1u);
  }
  EXPECT_EQ(table_.stats().keys, 0u);
  EXPECT_EQ(table_.stats().bytes, 0u);  // no room was kept for them
  ASSERT_EQ(table_.take_all(claims, {start, 0, {}}).decision.verdict, granted);
  const JointAnswer peeked = table_.peek_all(claims, {start + 1s, 0, {}});
  EXPECT_EQ(peeked.decision.verdict, denied);
  EXPECT_EQ(peeked.binding, 1u);
  EXPECT_EQ(remaining(rule("5/1h"), "one", start + 1s), 3);
}

TEST_F(TakeAll, GrantsAreGivenBackOneByOne) {
  const Rule* one = rule("5/1h");
  const Rule* other = rule("sliding-log 9/1h");
  const std::array claims{Claim{{one, "a"}, 2}, Claim{{other, "b"}, 3}};
  std::array<Grant, 2> grants;
  ASSERT_EQ(table_.take_all(claims, {start, 0, {}}, grants.data()).decision.verdict, granted);
  EXPECT_EQ(table_.cancel({one, "a"}, start, grants[0]), 2);
  EXPECT_EQ(table_.cancel({other, "b"}, start, grants[1]), 3);
  EXPECT_EQ(remaining(one, "a", start), 5);
  EXPECT_EQ(remaining(other, "b", start), 9);
}

/// A grant that was put off for another key's sake must not let an older grant's units return
/// beside it.
TEST_F(TakeAll, AnOlderGrantIsNotGivenBackBesideAJointOne) {
  const Rule* bucket = rule("1/2s burst 2");
  const Rule* slow = rule("1/3s");
  Grant older;
  ASSERT_EQ(table_.take({bucket, "k"}, {start, 2, {}}, &older).decision.verdict, granted);
  ASSERT_EQ(table_.take({slow, "s"}, {start, 1, {}}).decision.verdict, granted);
  const std::array claims{Claim{{bucket, "k"}}, Claim{{slow, "s"}}};
  const JointAnswer joint = table_.take_all(claims, {start, 0, Span{1min}});
  ASSERT_EQ(joint.decision.ready_at, start + 3s);
  (void)table_.cancel({bucket, "k"}, start, older);
  const Answer next = table_.take({bucket, "k"}, {start, 2, Span{1min}});
  ASSERT_TRUE(taken(next.decision.verdict));
  const Cost sum = 3;
  const Instant first = std::min(joint.decision.ready_at, next.decision.ready_at);
  const Instant last = std::max(joint.decision.ready_at, next.decision.ready_at);
  EXPECT_LE(sum, Machine::bound(bucket->limit.config(), last - first + 1us, 2));
}

/// The same from the pure states, one key at a time.
class PureTakeAll {
 public:
  struct Answer {
    Verdict verdict;
    Instant ready_at;
    bool operator==(const Answer&) const = default;
  };

  Answer take(const std::vector<Claim>& claims, const Request& request) {
    std::map<std::pair<const Rule*, string>, Cost> costs;
    for (const Claim& claim : claims) {
      costs[{claim.subject.rule, string(claim.subject.key)}] += claim.cost;
    }
    Instant ready_at = request.now;
    std::optional<Span> own;
    for (const auto& [name, cost] : costs) {
      const auto& config = name.first->limit.config();
      if (cost > Machine::capacity(config)) return {impossible, never};
      ready_at = std::max(ready_at, Machine::earliest(config, states_[name], request.now, cost));
      const auto wait = Machine::own_wait(config, cost);
      if (wait) own = std::min(wait.value(), own.value_or(longest_span));
    }
    Span patience = request.patience.value_or(own.value_or(Span{0}));
    if (own) patience = std::min(patience, *own);
    if (ready_at - request.now > patience) return {denied, ready_at - patience};
    for (const auto& [name, cost] : costs) {
      if (cost > 0) Machine::charge(name.first->limit.config(), states_[name], ready_at, cost);
    }
    return {ready_at == request.now ? granted : deferred, ready_at};
  }

 private:
  std::map<std::pair<const Rule*, string>, Limit::State> states_;
};

TEST_F(TakeAll, AgreesWithThePureStates) {
  std::mt19937_64 random(5);
  const auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  const std::array texts{"5/1s",
                         "3/7ms burst 20",
                         "leaky-bucket 20/1s queue 9",
                         "fixed-window 4/1s",
                         "sliding-window 8/1s",
                         "sliding-log 6/2s",
                         "9/1s & 50/1m"};
  const std::array keys{"a", "b", "c", "a key that does not lie inside the entry"};
  PureTakeAll pure;
  Instant now = start;
  std::array<std::size_t, 4> verdicts{};
  for (int event = 0; event < 20'000; ++event) {
    if (below(3) > 0) now += Span{static_cast<std::int64_t>(below(200'000))};
    std::vector<Claim> claims(1 + below(4));
    for (Claim& claim : claims) {
      claim = {{rule(texts[below(texts.size())]), keys[below(keys.size())]},
               static_cast<Cost>(below(4))};
    }
    Request request{now, 0, {}};
    if (below(2) == 0) request.patience = Span{static_cast<std::int64_t>(below(400'000))};
    const JointAnswer peeked = table_.peek_all(claims, request);
    ASSERT_EQ(table_.peek_all(claims, request).decision, peeked.decision);
    const JointAnswer answer = table_.take_all(claims, request);
    const Decision decision = answer.decision;
    ASSERT_EQ(peeked.decision.verdict, decision.verdict) << "event " << event;
    ASSERT_EQ(peeked.decision.ready_at, decision.ready_at) << "event " << event;
    if (decision.verdict != granted) {
      ASSERT_EQ(peeked.binding, answer.binding) << "event " << event;
    }
    ++verdicts[static_cast<std::size_t>(decision.verdict)];
    ASSERT_EQ((PureTakeAll::Answer{decision.verdict, decision.ready_at}),
              pure.take(claims, request))
        << "event " << event;
    if (event % 100 == 0) table_.sweep(now, 64);
  }
  for (const std::size_t count : verdicts) EXPECT_GT(count, 50u);
}

}  // namespace
}  // namespace weir
