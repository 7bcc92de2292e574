// The recipe of Spring Cloud Gateway.
#include <algorithm>
#include <cmath>
#include <random>

#include "test/redis/recipe_fixture.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;

constexpr Cost most_capacity = (Cost{1} << 53) - 1;
const std::string tokens_key = "request_rate_limiter.{route.id}.tokens";
const std::string timestamp_key = "request_rate_limiter.{route.id}.timestamp";

/// What the gateway's own script answers.
struct Told {
  std::int64_t allowed = -1;
  std::int64_t left = -1;

  bool operator==(const Told&) const = default;
};
void PrintTo(const Told& told, std::ostream* out) { *out << told.allowed << ", " << told.left; }

/// A gateway's call of its own script.
struct GatewayCall {
  SpringLimit limit;
  std::int64_t second;
  Cost requested;
};

class Spring : public RecipeTest {
 protected:
  Decision take(const SpringLimit& limit, Cost cost = 1) {
    return RecipeTest::take(Recipe::spring, spring_words({"route", "id"}, limit, cost)).decision;
  }
  void request(const SpringLimit& limit, Cost cost = 1) { static_cast<void>(take(limit, cost)); }

  /// Our script, called as the gateway calls its own; an empty `second` is the store's.
  Told as_gateway(const GatewayCall& call, const std::string& second) {
    RecipeWords words = spring_words({"route", "id"}, call.limit, call.requested);
    words.insert(words.end() - 1, second);
    const wire::Reply reply = store_->run(Recipe::spring, words);
    EXPECT_EQ(reply.elements.size(), 2u) << reply.text;
    if (reply.elements.size() != 2) return {};
    return {reply.elements[0].integer, reply.elements[1].integer};
  }
  Told as_gateway(const GatewayCall& call) { return as_gateway(call, std::to_string(call.second)); }

  /// What a gateway does to the keys, by its documentation and published vectors.
  Told gateway(const GatewayCall& call) {
    const wire::Reply kept = command({"GET", tokens_key});
    const wire::Reply since = command({"GET", timestamp_key});
    const auto capacity = static_cast<double>(call.limit.capacity);
    double tokens = kept.type == wire::ReplyType::null ? capacity : to_number(kept.text);
    const double passed = static_cast<double>(call.second) -
                          (since.type == wire::ReplyType::null ? 0 : to_number(since.text));
    tokens = std::min(capacity, tokens + std::max(0.0, passed) * call.limit.rate);
    const bool allowed = tokens >= static_cast<double>(call.requested);
    if (allowed) tokens -= static_cast<double>(call.requested);
    const auto expiry = static_cast<std::int64_t>(std::floor(capacity / call.limit.rate * 2));
    char written[32];
    std::snprintf(written, sizeof written, "%.17g", tokens);
    if (expiry > 0) {
      command({"SETEX", tokens_key, std::to_string(expiry), written});
      command({"SETEX", timestamp_key, std::to_string(expiry), std::to_string(call.second)});
    }
    return {allowed, static_cast<std::int64_t>(tokens)};
  }

  void forget() {
    command({"DEL", tokens_key});
    command({"DEL", timestamp_key});
  }
};
INSTANTIATE_TEST_SUITE_P(In, Spring, testing::ValuesIn(recipe_stores()), name_of);

TEST(SpringKeys, AreTheGateways) {
  EXPECT_EQ(spring_keys({"route", "id"}), (std::array{tokens_key, timestamp_key}));
  EXPECT_EQ(spring_keys({"", "id"}),
            (std::array<std::string, 2>{"request_rate_limiter.{id}.tokens",
                                        "request_rate_limiter.{id}.timestamp"}));
}

TEST_P(Spring, AnswersTheGatewaysVectors) {
  const std::int64_t second = 1'763'800'000;
  EXPECT_EQ(as_gateway({{1, 10}, second, 1}), (Told{1, 9}));
  EXPECT_GE(number({"PTTL", tokens_key}), 10'000);
  EXPECT_GE(number({"PTTL", timestamp_key}), 10'000);
  forget();
  EXPECT_EQ(as_gateway({{1, 10}, second, 5}), (Told{1, 5}));
  EXPECT_EQ(as_gateway({{1, 10}, second + 3, 5}), (Told{1, 3}));
  forget();
  EXPECT_EQ(as_gateway({{1, 10}, second, 1}), (Told{1, 9}));
  EXPECT_EQ(as_gateway({{1, 10}, second + 10, 1}), (Told{1, 9}));
  forget();
  EXPECT_EQ(as_gateway({{1, 10}, second, 20}), (Told{0, 10}));
  EXPECT_EQ(as_gateway({{1, most_capacity}, second, 1}), (Told{1, most_capacity - 1}));
}

TEST_P(Spring, KeepsItsKeysForTwiceTheTimeThatTheyTakeToFill) {
  request({3, 20});
  EXPECT_EQ(number({"PTTL", tokens_key}), 13'000);
  EXPECT_EQ(number({"PTTL", timestamp_key}), 13'000);
  EXPECT_EQ(text({"GET", tokens_key}), "19");
  EXPECT_EQ(text({"GET", timestamp_key}), "1750000000");
}

TEST_P(Spring, GoesByTheStoresWholeSecondsWhereNoneIsTold) {
  at(noon + 999'999us);
  EXPECT_EQ(as_gateway({{1, 1}, 0, 1}, ""), (Told{1, 0}));
  EXPECT_EQ(text({"GET", timestamp_key}), "1750000000");
  const Decision refused = take({1, 1});
  EXPECT_EQ(refused.verdict, Verdict::denied);
  EXPECT_EQ(refused.ready_at, noon + 1s);
  at(refused.ready_at);
  EXPECT_EQ(as_gateway({{1, 1}, 0, 1}, ""), (Told{1, 0}));
}

TEST_P(Spring, SharesABucketWithAGatewayDecisionByDecision) {
  constexpr double rates[] = {1, 3, 10, 0.5, 0.125};
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 chance(seed);
    const double rate = rates[chance() % std::size(rates)];
    const SpringLimit limit{
        rate, std::max<Cost>(1, static_cast<Cost>(rate)) + static_cast<Cost>(chance() % 20)};
    at(noon);
    std::vector<GatewayCall> calls;
    for (std::int64_t second = 1'750'000'000; calls.size() < 40;) {
      second += static_cast<std::int64_t>(chance() % 3);
      calls.push_back({limit, second, static_cast<Cost>(1 + chance() % 6)});
    }
    std::vector<Told> alone;
    forget();
    for (const GatewayCall& call : calls) {
      at(Instant{std::chrono::seconds{call.second}});
      alone.push_back(gateway(call));
    }
    at(noon);
    forget();
    for (std::size_t at_call = 0; at_call < calls.size(); ++at_call) {
      const GatewayCall& call = calls[at_call];
      at(Instant{std::chrono::seconds{call.second}});
      Told told;
      switch (chance() % 3) {
        case 0: told = gateway(call); break;
        case 1: told = as_gateway(call, chance() % 2 ? "" : std::to_string(call.second)); break;
        default: {
          const Decision decision = take(limit, call.requested);
          told = {decision.verdict == Verdict::granted, decision.remaining};
          break;
        }
      }
      ASSERT_EQ(told, alone[at_call]) << at_call;
    }
  }
}

TEST_P(Spring, IsReadyAtTheInstantThatARefusalTells) {
  for (const double rate : {1.0, 3.0, 0.1, 0.7}) {
    std::mt19937_64 chance(11);
    forget();
    for (int request = 0; request < 100; ++request) {
      at(now_ + std::chrono::microseconds{chance() % 3'000'000});
      const auto cost = static_cast<Cost>(1 + chance() % 7);
      const Decision decision = take({rate, 7}, cost);
      if (decision.verdict == Verdict::granted) continue;
      ASSERT_EQ(decision.verdict, Verdict::denied);
      at(decision.ready_at - 1us);
      ASSERT_EQ(take({rate, 7}, cost).verdict, Verdict::denied);
      at(decision.ready_at);
      ASSERT_EQ(take({rate, 7}, cost).verdict, Verdict::granted);
    }
    const Decision last = take({rate, 7}, 0);
    at(last.reset_at - 1us);
    EXPECT_LT(take({rate, 7}, 0).remaining, 7);
    at(last.reset_at);
    EXPECT_EQ(take({rate, 7}, 0).remaining, 7);
  }
}

TEST_P(Spring, WritesNothingWhereItRefusesOrIsAsked) {
  EXPECT_EQ(take({1, 3}, 4).ready_at, never);
  EXPECT_EQ(take({1, 3}, 0).remaining, 3);
  EXPECT_EQ(number({"PTTL", tokens_key}), -2);
  request({1, 3}, 3);
  at(noon + 1500ms);
  EXPECT_EQ(take({1, 3}, 2).verdict, Verdict::denied);
  EXPECT_EQ(as_gateway({{1, 3}, 0, 2}, ""), (Told{0, 1}));
  EXPECT_EQ(text({"GET", tokens_key}), "0");
  EXPECT_EQ(text({"GET", timestamp_key}), "1750000000");
  EXPECT_EQ(number({"PTTL", tokens_key}), 4500);
}

TEST_P(Spring, MintsNothingWhereTheGatewaysClockGoesBackAndForth) {
  std::vector<std::int64_t> theirs;
  std::vector<std::int64_t> ours;
  const std::int64_t seconds[] = {100, 100, 90, 100, 90, 100};
  for (const std::int64_t second : seconds) theirs.push_back(gateway({{1, 1}, second, 1}).allowed);
  forget();
  for (const std::int64_t second : seconds) ours.push_back(as_gateway({{1, 1}, second, 1}).allowed);
  EXPECT_EQ(theirs, (std::vector<std::int64_t>{1, 0, 0, 1, 0, 1}));
  EXPECT_EQ(ours, (std::vector<std::int64_t>{1, 0, 0, 0, 0, 0}));
  forget();
  EXPECT_EQ(as_gateway({{1, 10}, 100, 5}), (Told{1, 5}));
  EXPECT_EQ(as_gateway({{1, 10}, 90, 5}), (Told{1, 0}));
  EXPECT_EQ(as_gateway({{1, 10}, 100, 1}), (Told{0, 0}));
}

TEST_P(Spring, LocksNobodyOutForLongAfterAClockWasSetBack) {
  request({1, 5}, 5);
  const Instant back = noon - 1h;
  at(back);
  const Decision refused = take({1, 5}, 5);
  EXPECT_EQ(refused.ready_at, back + 70s);
  EXPECT_EQ(text({"GET", timestamp_key}), std::to_string(1'750'000'000 - 3600 + 65));
  at(refused.ready_at);
  EXPECT_EQ(take({1, 5}, 5).verdict, Verdict::granted);
}

TEST_P(Spring, NeverPutsBackATimeThatAnotherWroteInFractionsOfASecond) {
  command({"SETEX", tokens_key, "20", "0"});
  command({"SETEX", timestamp_key, "20", "1750000000.75"});
  at(noon + 800ms);
  EXPECT_EQ(take({4, 10}).verdict, Verdict::denied);
  EXPECT_EQ(take({4, 10}).ready_at, noon + 1s);
  at(noon + 1s);
  EXPECT_EQ(take({4, 10}).remaining, 0);
  EXPECT_EQ(text({"GET", timestamp_key}), "1750000001");
}

TEST_P(Spring, LimitsABucketThatTheGatewayWouldNeverWrite) {
  const GatewayCall call{{10, 4}, 1'750'000'000, 3};
  EXPECT_EQ(gateway(call).allowed, 1);
  EXPECT_EQ(gateway(call).allowed, 1);
  EXPECT_EQ(as_gateway(call), (Told{1, 1}));
  EXPECT_EQ(as_gateway(call), (Told{0, 1}));
  EXPECT_EQ(number({"PTTL", tokens_key}), 1000);
}

TEST_P(Spring, BlocksAllWhereThereIsNoCapacity) {
  EXPECT_EQ(take({1, 0}).verdict, Verdict::impossible);
  EXPECT_EQ(as_gateway({{1, 0}, 0, 1}, ""), (Told{0, 0}));
}

TEST_P(Spring, TellsAnInstantThatItCanWhereABucketTakesAgesToFill) {
  EXPECT_EQ(take({1, most_capacity}, most_capacity).verdict, Verdict::granted);
  EXPECT_EQ(take({1, most_capacity}, most_capacity).ready_at, Instant{Span{Cost{1} << 52}});
}

TEST_P(Spring, LeavesAloneWhatIsNoBucket) {
  for (const char* value : {"", "x", "nan", "inf", "1 2"}) {
    command({"SETEX", timestamp_key, "20", value});
    const std::string said = complaint(Recipe::spring, spring_words({"route", "id"}, {1, 1}, 1));
    EXPECT_EQ(said.substr(0, 20 + timestamp_key.size()), "WRONGTYPE weir: key " + timestamp_key);
    EXPECT_EQ(text({"GET", timestamp_key}), value);
  }
  EXPECT_EQ(number({"PTTL", tokens_key}), -2);
}

TEST_P(Spring, RefusesArgumentsThatMakeNoLimit) {
  for (const RecipeWords& words : std::vector<RecipeWords>{{"2", "a", "b", "1", "1"},
                                                           {"2", "a", "b", "1", "1", "", "1", "1"},
                                                           {"1", "a", "1", "1", "1"},
                                                           {"2", "a", "b", "0", "1", "1"},
                                                           {"2", "a", "b", "nan", "1", "1"},
                                                           {"2", "a", "b", "inf", "1", "1"},
                                                           {"2", "a", "b", "1", "1e300", "1"},
                                                           {"2", "a", "b", "1", "1", "-1"},
                                                           {"2", "a", "b", "1", "x", "1"}}) {
    EXPECT_EQ(complaint(Recipe::spring, words).substr(0, 9), "ERR weir:");
  }
}

}  // namespace
}  // namespace weir::redis
