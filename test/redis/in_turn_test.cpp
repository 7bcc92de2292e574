// Requests over keys of several slots of a cluster.
#include "redis/in_turn.hpp"

#include <gtest/gtest.h>

#include "redis/slots.hpp"
#include "redis/stored_key.hpp"
#include "test/redis/remote_calls.hpp"

namespace weir::redis {
namespace {

using Words = VirtualStore::Words;

struct Cluster : RemoteCalls {
  explicit Cluster(const Policy& policy = {.remembered_denials = 0}) : RemoteCalls(policy) {
    store.nodes = 3;
    store.reply = [this](const Words& words) -> std::optional<StoreReply> {
      if (words[0] == "FUNCTION") return {};
      for (std::size_t at = 4; at < 3 + static_cast<std::size_t>(words.at(2)[0] - '0'); ++at) {
        if (slot_of(words.at(at)) != slot_of(words.at(3))) crossed = true;
      }
      asked.push_back(words.at(1) + " " + words.at(3));
      return {};
    };
  }
  Cost remaining(const char* limit, const char* key) { return peek(limit, key).decision.remaining; }
  bool crossed = false;  ///< one command had keys of two slots
  std::vector<std::string> asked;
};

TEST(SlotsOfARequest, AreInTheOrderOfTheKeysAndEachKeyIsInItsOwn) {
  std::vector<std::string> keys;
  for (const char* key : {"z", "a", "m", "a", "z"}) keys.push_back(stored_key({key, "5/1s"}));
  keys.push_back(stored_key({"m", "9/1m"}));
  EXPECT_EQ(InTurn::slots_of(keys),
            (std::vector<std::vector<std::size_t>>{{1, 3}, {2, 5}, {0, 4}}));
}

TEST(ClaimsInSeveralSlots, AreAllTakenAndTheAnswerSaysThatItWasInTurn) {
  Cluster cluster;
  const RemoteAnswer answer = cluster.take_all("5/1h", {"c", "a", "b"});
  EXPECT_EQ(answer.decision.verdict, Verdict::granted);
  EXPECT_FALSE(answer.atomic);
  EXPECT_EQ(answer.source, Source::store);
  EXPECT_EQ(answer.grants.size(), 3u);
  EXPECT_FALSE(cluster.crossed);
  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(cluster.remaining("5/1h", key), 4);
}

TEST(ClaimsInSeveralSlots, ArePeekedAtInTurnAndNothingIsTaken) {
  Cluster cluster;
  const RemoteAnswer answer = cluster.peek_all("5/1h", {"c", "a", "b"});
  EXPECT_EQ(answer.decision.verdict, Verdict::granted);
  EXPECT_EQ(answer.decision.remaining, 5);
  EXPECT_FALSE(answer.atomic);
  EXPECT_FALSE(cluster.crossed);
  for (int each = 0; each < 5; ++each) (void)cluster.take("5/1h", "b");
  cluster.asked.clear();
  const RemoteAnswer refused = cluster.peek_all("5/1h", {"c", "a", "b"});
  EXPECT_EQ(refused.decision.verdict, Verdict::denied);
  EXPECT_EQ(refused.binding, 2u);
  for (const std::string& asked : cluster.asked) EXPECT_TRUE(asked.starts_with("weir_1_peek"));
  for (const char* key : {"a", "c"}) EXPECT_EQ(cluster.remaining("5/1h", key), 5);
}

TEST(ClaimsInOneSlot, AreTakenAtOnce) {
  Cluster cluster;
  const RemoteAnswer answer = cluster.take_all("5/1h", {"a", "a"});
  EXPECT_TRUE(answer.atomic);
  EXPECT_EQ(cluster.remaining("5/1h", "a"), 3);
  const RemoteAnswer peeked = cluster.peek_all("5/1h", {"a", "a"});
  EXPECT_TRUE(peeked.atomic);
  EXPECT_EQ(peeked.decision.remaining, 3);
  EXPECT_EQ(cluster.remaining("5/1h", "a"), 3);
}

TEST(ClaimsInSeveralSlots, WhereOneIsRefusedLeaveNothingCharged) {
  for (const char* limit : {"5/1h", "fixed-window 5/1h", "sliding-window 5/1h", "sliding-log 5/1h",
                            "concurrency 5/1h", "5/1h & concurrency 5/1h"}) {
    Cluster cluster;
    for (int call = 0; call < 5; ++call) (void)cluster.take(limit, "c");
    for (int call = 0; call < 3; ++call) {
      const RemoteAnswer answer = cluster.take_all(limit, {"b", "c", "a"});
      EXPECT_EQ(answer.decision.verdict, Verdict::denied);
      EXPECT_EQ(answer.binding, 1u);
      EXPECT_FALSE(answer.atomic);
    }
    EXPECT_EQ(cluster.remaining(limit, "a"), 5) << limit;
    EXPECT_EQ(cluster.remaining(limit, "b"), 5) << limit;
    EXPECT_EQ(cluster.remaining(limit, "c"), 0) << limit;
  }
}

TEST(ClaimsInSeveralSlots, AreGivenBackInReverse) {
  Cluster cluster;
  (void)cluster.take("1/1h", "c");
  cluster.asked.clear();
  (void)cluster.take_all("1/1h", {"c", "a", "b"});
  const std::vector<std::string> last(cluster.asked.end() - 2, cluster.asked.end());
  EXPECT_EQ(last, (std::vector<std::string>{"weir_1_refund weir:{b}:1/1h",
                                            "weir_1_refund weir:{a}:1/1h"}));
}

TEST(ClaimsInSeveralSlots, DenyOthersOnlyWhileTheyAreUnderWay) {
  Cluster cluster;
  (void)cluster.take("1/1h", "b");
  cluster.store.fate = [](const Words& words) {
    return words.at(3) == "weir:{b}:1/1h" ? Fate::held : Fate::answered;
  };
  const std::array claims{Claim{cluster.subject("1/1h", "a"), 1},
                          Claim{cluster.subject("1/1h", "b"), 1}};
  Verdict verdict = Verdict::granted;
  cluster.table.take_all(claims, {},
                         [&](RemoteAnswer&& answer) { verdict = answer.decision.verdict; });
  EXPECT_EQ(cluster.take("1/1h", "a").decision.verdict, Verdict::denied);  // wrongly, for now
  cluster.store.fate = [](const Words&) { return Fate::answered; };
  cluster.store.release();
  EXPECT_EQ(verdict, Verdict::denied);
  EXPECT_EQ(cluster.take("1/1h", "a").decision.verdict, Verdict::granted);
}

TEST(ClaimsInSeveralSlots, WhereANodeIsGoneAreDecidedWithoutTheStore) {
  Cluster cluster({.without_store = WithoutStore::closed, .remembered_denials = 0});
  cluster.store.fate = [](const Words& words) {
    return words.size() > 3 && words[3] == "weir:{b}:5/1h" ? Fate::not_sent : Fate::answered;
  };
  const RemoteAnswer answer = cluster.take_all("5/1h", {"a", "b"});
  EXPECT_EQ(answer.source, Source::closed);
  EXPECT_EQ(answer.trouble.kind, TroubleKind::unreachable);
  EXPECT_EQ(cluster.remaining("5/1h", "a"), 5);
}

}  // namespace
}  // namespace weir::redis
