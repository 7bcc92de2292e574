// A remote table over a real cluster: requests whose keys lie in several slots.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "redis/remote_table.hpp"
#include "redis/slots.hpp"
#include "redis/stored_key.hpp"
#include "test/redis/asking.hpp"
#include "test/redis/redis_cluster.hpp"
#include "weir/local/rule.hpp"
#include "weir/redis/client.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
constexpr const char* limit_text = "5/1h";

Policy patient() {
  Policy policy;
  policy.deadline = 10s;
  policy.without_store = WithoutStore::closed;
  policy.breaker = {.failures = 1000, .calls = 1000};
  policy.remembered_denials = 0;
  return policy;
}

/// A client, and which keys its table asked to give back, in their order.
class Overheard : public Store {
 public:
  explicit Overheard(Store& store) : store_(store) {}

  void ask(const StoreCall& call, Then then) override {
    if (call.words.size() > 3 && call.words[1].ends_with("_refund")) {
      const std::lock_guard lock(mutex_);
      refunds_.emplace_back(call.words[3]);
    }
    store_.ask(call, std::move(then));
  }
  bool has_slots() const noexcept override { return store_.has_slots(); }

  std::vector<std::string> refunds() {
    const std::lock_guard lock(mutex_);
    return refunds_;
  }

 private:
  Store& store_;
  std::mutex mutex_;
  std::vector<std::string> refunds_;
};

class KeysOfSeveralSlots : public testing::Test {
 protected:
  KeysOfSeveralSlots()
      : client_(
            Client::connect("redis+cluster://127.0.0.1:" + std::to_string(cluster_.node(0).port()))
                .value()),
        store_(*client_),
        table_(store_, patient()) {
    std::set<int> masters;
    for (const std::string& key : keys_) masters.insert(cluster_.master_of(slot_of(stored(key))));
    EXPECT_EQ(masters.size(), 3u);  // or the test shows less than it says
  }

  static std::string stored(const std::string& key) { return stored_key({key, limit_text}); }
  Subject subject(const std::string& key) {
    return {rules_.find(limit_text).value(), key, nullptr, {}};
  }

  template <typename Start>
  RemoteAnswer answer_to(Start&& start) {
    auto told = std::make_shared<std::promise<RemoteAnswer>>();
    auto answer = told->get_future();
    start([told](RemoteAnswer&& one) { told->set_value(std::move(one)); });
    return answer.get();
  }
  RemoteAnswer take_all() {
    std::vector<Claim> claims;
    for (const std::string& key : keys_) claims.push_back({subject(key), 1});
    return answer_to([&](auto then) { table_.take_all(claims, {}, then); });
  }
  RemoteAnswer take(const std::string& key, Cost cost) {
    return answer_to([&](auto then) { table_.take(subject(key), {.cost = cost}, then); });
  }
  Cost remaining(const std::string& key) {
    return answer_to([&](auto then) { table_.peek(subject(key), {}, then); }).decision.remaining;
  }

  const std::vector<std::string> keys_{"d", "a", "c", "b"};  ///< of all three masters
  test::RedisCluster cluster_;
  Rules rules_;
  std::unique_ptr<Client> client_;
  Overheard store_;
  RemoteTable table_;
};

TEST_F(KeysOfSeveralSlots, OfAClusterAreTakenInTurnAllOrNone) {
  EXPECT_TRUE(client_->has_slots());
  const RemoteAnswer granted = take_all();
  EXPECT_EQ(granted.trouble.message, "");
  EXPECT_EQ(granted.decision.verdict, Verdict::granted);
  EXPECT_FALSE(granted.atomic);
  for (const std::string& key : keys_) EXPECT_EQ(remaining(key), 4) << key;

  EXPECT_EQ(take("c", 4).decision.verdict, Verdict::granted);
  const RemoteAnswer denied = take_all();
  EXPECT_EQ(denied.trouble.message, "");
  EXPECT_EQ(denied.decision.verdict, Verdict::denied);
  EXPECT_EQ(denied.binding, 2u);
  EXPECT_FALSE(denied.atomic);
  // Those before it in the order of keys were taken, and are given back in reverse.
  EXPECT_EQ(store_.refunds(), (std::vector<std::string>{stored("b"), stored("a")}));
  for (const char* key : {"a", "b", "d"}) EXPECT_EQ(remaining(key), 4) << key;
  EXPECT_EQ(remaining("c"), 0);
}

TEST(AClientOfOneServer, HasNoSlots) {
  EXPECT_FALSE(Client::connect("redis://127.0.0.1:1").value()->has_slots());
}

}  // namespace
}  // namespace weir::redis
