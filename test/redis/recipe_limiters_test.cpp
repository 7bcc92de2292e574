// The recipes' public face, over a store that the test speaks for.
#include <gtest/gtest.h>

#include <deque>
#include <stdexcept>

#include "redis/recipes.hpp"
#include "weir/redis/recipes.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

StoreReply granted() {
  return {CallOutcome::answered,
          StoreReply::Kind::integers,
          {0, 1'000'000, 1'000'000, 3, 2, 61'000'000}};
}
StoreReply error(std::string text) {
  return {CallOutcome::answered, StoreReply::Kind::error, {}, std::move(text)};
}

/// Answers at once what it was told to, and keeps what it was asked.
class ToldStore : public Store {
 public:
  struct Asked {
    Words words;
    std::string route;
    SteadyInstant deadline_at;
  };

  void ask(const StoreCall& call, Then then) override {
    asked.push_back(
        {Words(call.words.begin(), call.words.end()), std::string(call.route), call.deadline_at});
    StoreReply reply = std::move(replies.at(asked.size() - 1));
    then(std::move(reply));
  }

  std::deque<StoreReply> replies;
  std::vector<Asked> asked;
};

const IncrWindow::Settings three_a_minute{.limit = 3, .period = 1min};

std::string digest(Recipe recipe) { return std::string(text_of(recipe).digest); }
std::string script(Recipe recipe) { return std::string(text_of(recipe).script); }

TEST(RecipeLimiters, TellADecisionByTheSteadyClock) {
  ToldStore store;
  store.replies = {granted()};
  const IncrWindow window(store, three_a_minute);
  const SteadyInstant before = std::chrono::steady_clock::now();
  const Outcome outcome = window.try_acquire("c");
  const SteadyInstant after = std::chrono::steady_clock::now();
  EXPECT_EQ(outcome.verdict, Verdict::granted);
  EXPECT_EQ(outcome.source, Source::store);
  EXPECT_EQ(outcome.limit, 3);
  EXPECT_EQ(outcome.remaining, 2);
  EXPECT_GE(outcome.reset_at, before + 60s);
  EXPECT_LE(outcome.reset_at, after + 60s);
  EXPECT_EQ(outcome.trouble, Trouble{});
}

TEST(RecipeLimiters, SayWhatTheirScriptsWant) {
  ToldStore store;
  store.replies = {granted(), granted(), granted(), granted()};
  const auto words = [&] { return store.asked.back().words; };
  EXPECT_TRUE(IncrWindow(store, three_a_minute).try_acquire("c", 2));
  EXPECT_EQ(words(),
            (Words{"EVALSHA", digest(Recipe::incr_window), "1", "c", "3", "60000000", "2"}));
  EXPECT_EQ(store.asked.back().route, "c");
  EXPECT_TRUE(
      ZsetLog(store, {.limit = 3, .period = 1s, .scores = ScoreUnit::seconds}).try_acquire("z"));
  EXPECT_EQ(words(),
            (Words{"EVALSHA", digest(Recipe::zset_log), "1", "z", "3", "1000000", "1", "1000000"}));
  const std::string bucket = "request_rate_limiter.{r.id}.";
  EXPECT_TRUE(SpringBucket(store, {.replenish_rate = 0.1, .burst_capacity = 60, .route = "r"})
                  .try_acquire("id", 6));
  EXPECT_EQ(words(), (Words{"EVALSHA", digest(Recipe::spring), "2", bucket + "tokens",
                            bucket + "timestamp", "0.1", "60", "6"}));
  EXPECT_EQ(store.asked.back().route, bucket + "tokens");
  EXPECT_TRUE(SpringBucket(store, {.replenish_rate = 10, .burst_capacity = 60}).try_acquire("id"));
  EXPECT_EQ(words().at(3), "request_rate_limiter.{id}.tokens");
  EXPECT_EQ(words().at(5), "10");
}

TEST(RecipeLimiters, SendTheScriptWholeWhereTheStoreLacksIt) {
  ToldStore store;
  store.replies = {error("NOSCRIPT No matching script. Please use EVAL."), granted()};
  EXPECT_TRUE(IncrWindow(store, three_a_minute).try_acquire("c"));
  ASSERT_EQ(store.asked.size(), 2u);
  EXPECT_EQ(store.asked[1].words,
            (Words{"EVAL", script(Recipe::incr_window), "1", "c", "3", "60000000", "1"}));
  EXPECT_EQ(store.asked[1].deadline_at, store.asked[0].deadline_at);
}

TEST(RecipeLimiters, NeverAskTwiceWhatMayHaveCounted) {
  for (StoreReply reply : {StoreReply{CallOutcome::timed_out}, StoreReply{CallOutcome::not_sent},
                           StoreReply{CallOutcome::indeterminate}, error("LOADING"), granted()}) {
    ToldStore store;
    if (reply == granted()) reply.integers.pop_back();
    store.replies = {reply};
    const Outcome outcome = IncrWindow(store, three_a_minute).try_acquire("c");
    EXPECT_EQ(store.asked.size(), 1u);
    EXPECT_EQ(outcome.verdict, Verdict::granted);
    EXPECT_EQ(outcome.source, Source::open);
    EXPECT_NE(outcome.trouble.kind, TroubleKind::none);
  }
}

TEST(RecipeLimiters, LetNobodyInWithoutTheStoreWhereThePolicySaysSo) {
  ToldStore store;
  store.replies = {error("WRONGTYPE weir: key c holds something else"), {}};
  const IncrWindow window(
      store, {.limit = 3, .period = 1min, .policy = {.without_store = WithoutStore::closed}});
  const Outcome outcome = window.try_acquire("c");
  EXPECT_EQ(outcome.verdict, Verdict::denied);
  EXPECT_EQ(outcome.source, Source::closed);
  EXPECT_EQ(outcome.trouble.kind, TroubleKind::refused);
  EXPECT_EQ(outcome.trouble.message, "WRONGTYPE weir: key c holds something else");
  EXPECT_EQ(window.try_acquire("c", 4).verdict, Verdict::impossible);
}

TEST(RecipeLimiters, AskNobodyForLessThanNothing) {
  ToldStore store;
  EXPECT_EQ(IncrWindow(store, three_a_minute).try_acquire("c", -1).verdict, Verdict::impossible);
  EXPECT_TRUE(store.asked.empty());
}

TEST(RecipeLimiters, OutliveTheirObjectAndDoNotWaitForThemselves) {
  ToldStore store;
  store.replies = {granted(), granted()};
  Outcome inner;
  IncrWindow(store, three_a_minute).try_acquire("c", 1, [&](Outcome&& outer) {
    EXPECT_TRUE(outer);
    inner = IncrWindow(store, three_a_minute).try_acquire("c");
  });
  EXPECT_EQ(inner.trouble.kind, TroubleKind::refused);
  EXPECT_EQ(store.asked.size(), 1u);
}

TEST(RecipeLimiters, RefuseSettingsThatMakeNoLimit) {
  ToldStore store;
  const auto window = [&](const IncrWindow::Settings& with) { IncrWindow(store, with); };
  EXPECT_THROW(window({.limit = 0, .period = 1s}), std::invalid_argument);
  EXPECT_THROW(window({.limit = Cost{1} << 53, .period = 1s}), std::invalid_argument);
  EXPECT_THROW(window({.limit = 1}), std::invalid_argument);
  EXPECT_THROW(window({.limit = 1, .period = 1s, .policy = {.deadline = 0s}}),
               std::invalid_argument);
  EXPECT_THROW(window({.limit = 1, .period = 1s, .policy = {.without_store = WithoutStore::share}}),
               std::invalid_argument);
  EXPECT_THROW(ZsetLog(store, {.limit = 100'001, .period = 1s}), std::invalid_argument);
  EXPECT_THROW(ZsetLog(store, {.limit = 1}), std::invalid_argument);
  EXPECT_THROW(SpringBucket(store, {.replenish_rate = 0}), std::invalid_argument);
  EXPECT_THROW(SpringBucket(store, {.replenish_rate = 1, .burst_capacity = -1}),
               std::invalid_argument);
}

}  // namespace
}  // namespace weir::redis
