// More keys than the table may keep: what is shared then must never admit a key too much.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>
#include <string>

#include "test/local/admitted.hpp"
#include "weir/local/table.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using std::string;
using Machine = Limit::Machine;

constexpr Instant start{std::chrono::seconds{1'750'000'000}};

const char* const every_machine[] = {"5/1m",
                                     "5/1m burst 2",
                                     "leaky-bucket 5/1m queue 3",
                                     "fixed-window 5/1m",
                                     "sliding-window 5/1m",
                                     "sliding-log 5/1m",
                                     "concurrency 5/1m",
                                     "5/1m block 10s",
                                     "7/1m burst 3 & sliding-log 20/1h",
                                     "leaky-bucket 7/1m queue 4 & fixed-window 5/1m",
                                     "9/1m & concurrency 5/1m"};

class Flood : public testing::TestWithParam<const char*> {
 protected:
  Flood() : rule_(rules_.find(GetParam()).value()) {}

  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
  }

  Request request() {
    Request request{now_, 1 + below(2), {}};
    if (below(3) == 0) request.patience = Span{below(40'000'000)};
    return request;
  }

  Rules rules_;
  const Rule* rule_;
  std::mt19937_64 random_{7};
  Instant now_ = start;
};

/// A key alone, told only of what the table granted it: would it have granted that too?
struct Alone {
  Limit::State state;

  /// To the tick: a request that others put off may begin in the fraction of a tick where they end.
  bool grants(const Machine::Config& config, const Request& request, Instant ready_at) {
    const Instant earliest = Machine::earliest(config, state, request.now, request.cost);
    const bool would = earliest <= ready_at + Span{1};
    Machine::charge(config, state, ready_at, request.cost);
    return would;
  }
};

TEST_P(Flood, AdmitsNoKeyMoreThanItWouldBeAdmittedAlone) {
  Table table({.max_keys = 40, .shards = 4, .hash_key = {1, 2}});
  std::map<string, Alone> alone;
  std::map<string, Admitted> admitted;
  std::size_t taken_count = 0;
  for (int event = 0; event < 40'000; ++event) {
    now_ += Span{below(4'000)};
    // A few keys knock often, most of them once or twice.
    const string key = below(4) == 0 ? std::to_string(below(60)) : std::to_string(below(20'000));
    const Request asked = request();
    const Answer answer = table.take({rule_, key}, asked);
    if (!taken(answer.decision.verdict)) continue;
    ++taken_count;
    admitted[key].add(answer.decision.ready_at, asked.cost);
    ASSERT_TRUE(alone[key].grants(rule_->limit.config(), {answer.decided_at, asked.cost, {}},
                                  answer.decision.ready_at))
        << "key " << key << ", event " << event;
  }
  for (auto& [key, grants] : admitted) EXPECT_LE(grants.above(rule_->limit.config()), 0) << key;
  EXPECT_GT(taken_count, 10'000u);
  EXPECT_GT(table.stats().shared_answers, 20'000u);
  EXPECT_LE(table.stats().keys, 40u);
}

TEST_P(Flood, LeavesTheKeysThatHaveTheirOwnStateAsTheyAre) {
  constexpr std::size_t own = 50;
  Table table({.max_keys = own, .shards = 4, .hash_key = {1, 2}});
  std::vector<Limit::State> pure(own);
  const auto ask = [&](std::size_t at, const Request& asked) {
    const Answer answer = table.take({rule_, "own" + std::to_string(at)}, asked);
    Request same = asked;
    same.now = answer.decided_at;
    return answer.decision == step<Machine>(rule_->limit.config(), pure[at], same);
  };
  const Cost all = Machine::capacity(rule_->limit.config());
  for (std::size_t at = 0; at < own; ++at) ASSERT_TRUE(ask(at, {now_, all, {}}));
  // Not so long that any of them rests until it is fresh.
  for (int event = 0; event < 20'000; ++event) {
    now_ += Span{below(1'000)};
    (void)table.take({rule_, "stranger" + std::to_string(event)}, request());
    if (event % 5 == 0) {
      const auto at = static_cast<std::size_t>(below(own));
      ASSERT_TRUE(ask(at, request())) << "own key " << at << ", event " << event;
    }
  }
  EXPECT_EQ(table.stats().shared_answers, 20'000u);
  EXPECT_EQ(table.stats().dropped, 0u);
}

/// What strangers give back on shared states would be taken from others' debt.
TEST_P(Flood, GivesNothingBackAtTheCostOfAnother) {
  Table table({.max_keys = 1, .shards = 1, .hash_key = {1, 2}});
  // The sixty-fifth rule that shares has few states, so that keys meet often.
  ASSERT_TRUE(
      taken(table.take({rules_.find("1/1d").value(), "only"}, {now_, 1, {}}).decision.verdict));
  for (int at = 1; at <= 64; ++at) {
    const Rule* other = rules_.find(std::to_string(at) + "/7d").value();
    (void)table.take({other, "x"}, {now_, 1, {}});
  }
  std::vector<Alone> victims(20);
  std::size_t shared = 0;
  for (int event = 0; event < 20'000; ++event) {
    now_ += Span{below(300)};
    const auto victim = static_cast<std::size_t>(below(200));
    if (victim < victims.size()) {
      const Request asked = request();
      const Answer answer = table.take({rule_, "victim" + std::to_string(victim)}, asked);
      if (!taken(answer.decision.verdict)) continue;
      ++shared;
      ASSERT_TRUE(victims[victim].grants(rule_->limit.config(), {answer.decided_at, asked.cost, {}},
                                         answer.decision.ready_at))
          << "victim " << victim << ", event " << event;
      continue;
    }
    const string attacker = "attacker" + std::to_string(below(500));
    Grant grant;
    const Answer answer = table.take({rule_, attacker}, request(), &grant);
    if (taken(answer.decision.verdict)) (void)table.cancel({rule_, attacker}, now_, grant);
    (void)table.refund({rule_, attacker}, now_, 5);
    if (const auto term = rule_->limit.permit_term()) {
      const PermitId permit = Concurrency::permit_of(grant.marks.at(*term));
      (void)table.renew({rule_, attacker}, now_, permit);
      (void)table.leave({rule_, attacker}, now_, permit);
    }
  }
  EXPECT_GT(shared, 0u);
}

INSTANTIATE_TEST_SUITE_P(Every, Flood, testing::ValuesIn(every_machine), [](const auto& test) {
  string name;
  for (const char c : string(test.param)) name += std::isalnum(c) ? c : '_';
  return name;
});

TEST(FloodOfStrangers, HardlyEverDeniesOneThatCameOnce) {
  for (const char* text : {"5/1m", "leaky-bucket 5/1m queue 4", "fixed-window 5/1m",
                           "sliding-window 5/1m", "sliding-log 5/1m", "5/1m block 10m"}) {
    Rules rules;
    const Rule* rule = rules.find(text).value();
    Table table({.max_keys = 100, .hash_key = {3, 4}});
    constexpr int keys = 50'000;
    int wrongly_denied = 0;
    for (int key = 0; key < keys; ++key) {
      const Answer answer = table.take({rule, "user" + std::to_string(key)}, {start, 1, {}});
      if (!taken(answer.decision.verdict)) ++wrongly_denied;
    }
    std::cout << text << ": " << wrongly_denied << " of " << keys
              << " strangers denied their first request\n";
    EXPECT_LT(wrongly_denied, keys / 1'000) << text;
  }
}

}  // namespace
}  // namespace weir
