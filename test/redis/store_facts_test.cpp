// What only a real store can show: types, slots, releases side by side, who may write.
#include <gtest/gtest.h>

#include "redis/limit_config.hpp"
#include "redis/stored_key.hpp"
#include "test/redis/redis_store.hpp"

namespace weir::redis {
namespace {

const Instant noon{std::chrono::seconds{1'750'000'000}};

std::string config(const char* limit) { return config_text(Limit::of(limit)).value(); }

TEST(StoredKeyInACluster, LiesInTheSlotOfItsKeyWhateverTheLimit) {
  RedisStore store(Loaded::scripts, {.arguments = {"--cluster-enabled", "yes"}, .environment = {}});
  const auto slot = [&](const std::string& key) {
    return store.run({"CLUSTER", "KEYSLOT", key}).integer;
  };
  for (const std::string key : {"user:7", "", "}", "{}", "a}b{c", "{tag}:x", "%", "\r\n"}) {
    const std::int64_t one = slot(stored_key({key, "5/1s"}));
    EXPECT_EQ(slot(stored_key({key, "sliding-log 100/1m"})), one) << key;
    EXPECT_EQ(slot(stored_key({key, "{other}"})), one) << key;
  }
  EXPECT_EQ(slot(stored_key({"user:7", "5/1s"})), slot("user:7"));
}

TEST(Library, OfOneReleaseTakesNothingFromAnothers) {
  RedisStore store(Loaded::library);
  store.set_time(noon);
  const std::string limit = config("5/1m");
  const auto take = [&](const char* function) {
    return store.run({"FCALL", function, "1", "k", limit, "2", "0"}).elements.at(4).integer;
  };
  EXPECT_EQ(take("weir_1_take"), 3);
  EXPECT_EQ(store.run({"FUNCTION", "LOAD", function_library()}).type, wire::ReplyType::error);
  EXPECT_EQ(store.run({"FUNCTION", "LOAD", renumbered(function_library())}).text, "weir_2");
  EXPECT_EQ(take("weir_2_take"), 1);
  EXPECT_EQ(store.run({"FUNCTION", "LOAD", "REPLACE", function_library()}).text, "weir_1");
  EXPECT_EQ(store.run({"FCALL", "weir_1_take", "1", "k", limit, "2", "0"}).elements.at(0).integer,
            2);
}

TEST(Library, PeeksWhereNobodyMayWrite) {
  RedisStore store(Loaded::library);
  store.set_time(noon);
  const std::vector<std::string> rest{"1", "k", config("5/1s"), "1", "0"};
  std::vector<std::string> peek{"FCALL_RO", "weir_1_peek"};
  peek.insert(peek.end(), rest.begin(), rest.end());
  EXPECT_EQ(store.run(peek).elements.size(), 9u);
  peek[1] = "weir_1_take";
  EXPECT_EQ(store.run(peek).type, wire::ReplyType::error);
}

TEST(Scripts, RefuseAKeyOfAnotherType) {
  for (const Loaded loaded : {Loaded::library, Loaded::scripts}) {
    RedisStore store(loaded);
    store.set_time(noon);
    store.run({"RPUSH", "list", "x"});
    for (const char* limit :
         {"5/1s", "fixed-window 5/1s", "sliding-log 5/1s", "concurrency 5/1s", "5/1s & 7/1m"}) {
      const ScriptReply reply = store.call({.verb = ScriptVerb::take,
                                            .letter = machine_letter(Limit::of(limit)),
                                            .keys = {"list"},
                                            .arguments = {config(limit), "1", "0"}});
      EXPECT_EQ(reply.error.substr(0, 24), "WRONGTYPE weir: key list") << limit;
    }
    EXPECT_EQ(store.run({"LLEN", "list"}).integer, 1);
  }
}

TEST(Scripts, AClockSetBackLocksNobodyOutForLongerThanStated) {
  RedisStore store(Loaded::library);
  store.set_time(noon);
  const std::vector<std::string> take{"FCALL", "weir_1_take", "1", "k", config("5/1m"), "5", "0"};
  EXPECT_EQ(store.run(take).elements.at(0).integer, 0);
  const Instant earlier = noon - std::chrono::hours{1};
  store.set_time(earlier);
  const wire::Reply denied = store.run(take);
  EXPECT_EQ(denied.elements.at(0).integer, 2);
  EXPECT_EQ(denied.elements.at(2).integer,
            (earlier + std::chrono::minutes{2}).time_since_epoch().count());
}

}  // namespace
}  // namespace weir::redis
