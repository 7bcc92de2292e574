// What has brought servers down with modules of this kind: each is an error reply here, and leaves
// no key behind that would never expire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>

#include "redis/stored_key.hpp"
#include "test/module/real_server.hpp"
#include "test/redis/await.hpp"

namespace weir::module {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using wire::ReplyType;

std::string name_of(const std::string& key, const std::string& limit) {
  return redis::stored_key({key, limit});
}

std::string joined(const Words& parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

const std::string big_word = "9223372036854775807";
const std::string too_big_word = "9223372036854775808";
const std::string low_word = "-9223372036854775808";

class CrashHunt : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(server_.text({"PING"}), "PONG") << server_.log_tail();
    EXPECT_THAT(server_.immortal_keys(), IsEmpty());
  }

  /// Every command on one key: CL.THROTTLE on itself, the others on its state under these limits.
  static std::vector<Words> all_on(const std::string& key) {
    const std::string rate = "5/1h";
    const std::string permits = "concurrency 5/1h";
    const std::string told_rate = "t 60000000 720000000 0 1 5";
    const std::string told_permits = "c 60000000 5 3600000000";
    const std::string state = name_of(key, rate);
    return {{"CL.THROTTLE", key, "15", "30", "3600"},
            {"CL.THROTTLE", key, "15", "30", "3600", "-1"},
            {"WEIR.TAKE", key, rate},
            {"WEIR.PEEK", key, rate},
            {"WEIR.TAKEALL", "2", key, "other", rate, rate},
            {"WEIR.CANCEL", key, rate, "1.1.1.1.1.1"},
            {"WEIR.REFUND", key, rate, "1"},
            {"WEIR_1.TAKE", "1", state, told_rate, "1", "-1"},
            {"WEIR_1.PEEK", "1", state, told_rate, "1", "-1"},
            {"WEIR_1.CANCEL", "1", state, told_rate, "1", "1", "1", "1"},
            {"WEIR_1.REFUND", "1", state, told_rate, "1"},
            {"WEIR_1.RELEASE", "1", name_of(key, permits), told_permits, "1"},
            {"WEIR_1.RENEW", "1", name_of(key, permits), told_permits, "1"},
            {"WEIR.RESET", key, rate},
            {"WEIR.ENTER", key, permits},
            {"WEIR.LEAVE", key, permits, "1"},
            {"WEIR.RENEW", key, permits, "1"}};
  }

  /// The names under which those commands keep something.
  static Words names_of(const std::string& key) {
    return {key, name_of(key, "5/1h"), name_of(key, "concurrency 5/1h")};
  }

  RealServer server_{with_module({"login=5/1m"})};
};

TEST_F(CrashHunt, AKeyOfAnyOtherKindIsAnErrorAndStays) {
  const std::vector<Words> makers{
      {"RPUSH", "", "a", "b"},
      {"HSET", "", "field", "1"},
      {"SADD", "", "a", "b"},
      {"SADD", "", "1", "2"},
      {"ZADD", "", "1", "a"},
      {"GEOADD", "", "13.3", "38.1", "a"},
      {"XADD", "", "*", "field", "1"},
      {"PFADD", "", "a", "b"},
      {"SETBIT", "", "70000", "1"},
      {"SETRANGE", "", "20", "x"},
      {"SET", "", "a word"},
      {"SET", "", "-7"},
      {"SET", "", "1.5"},
      {"SET", "", std::string("t1") + std::string(15, '\xff')},
      {"SET", "", std::string("\xff\xfe\0 ", 4)},
      {"SET", "", std::string(100'000, '9')},
      {"APPEND", "", ""},
  };
  for (Words maker : makers) {
    server_.run({"FLUSHALL"});
    for (const std::string& name : names_of("k")) {
      maker[1] = name;
      ASSERT_NE(server_.run(maker).type, ReplyType::error) << maker[0];
      server_.run({"EXPIRE", name, "1000"});
    }
    const Contents before = server_.contents();
    for (const Words& command : all_on("k")) {
      EXPECT_THAT(server_.text(command), StartsWith("WRONGTYPE")) << maker[0] << " " << command[0];
    }
    EXPECT_EQ(server_.contents(), before) << maker[0];
  }
}

TEST_F(CrashHunt, AKeyMayBeAnyBytes) {
  const std::string keys[] = {
      "",         std::string(1, '\0'),     "\xff\xfe\xc3\x28", "\xed\xa0\x80", "a\r\n+OK\r\n",
      "{a}b}%7D", std::string(500'000, 'k')};
  for (const std::string& key : keys) {
    for (const Words& command : all_on(key)) {
      if (command[0] == "WEIR.CANCEL") continue;  // of no grant
      const wire::Reply reply = server_.run(command);
      EXPECT_NE(reply.type, ReplyType::error) << command[0] << ": " << reply.text.substr(0, 200);
    }
  }
  // The permits, and the other key of TAKEALL.
  EXPECT_EQ(server_.run({"DBSIZE"}).integer, static_cast<std::int64_t>(std::size(keys)) + 1);
}

TEST_F(CrashHunt, EveryNumberAtItsEndsIsAReply) {
  const std::string numbers[] = {"0",    "-1",         "1",      big_word,
                                 "1e9",  too_big_word, low_word, std::string(5'000, '9'),
                                 "0x10", " 1",         "",       std::string("1\0", 2)};
  for (const std::string& one : numbers) {
    for (const std::string& other : numbers) {
      server_.run({"CL.THROTTLE", "a", one, other, "3600"});
      server_.run({"CL.THROTTLE", "b", one, "30", other});
      server_.run({"CL.THROTTLE", "c", "15", one, other, one});
      server_.run({"CL.THROTTLE", "d", "15", "30", "3600", one});
      server_.run({"WEIR.TAKE", "k", joined({one, "/", other, "s"}), "COST", one});
      server_.run({"WEIR.TAKE", "k", "5/1h", "COST", one, "PATIENCE", other});
      server_.run({"WEIR.PEEK", "k", "5/1h", "COST", one});
      server_.run({"WEIR.TAKEALL", one, "k", "5/1h", "COSTS", other});
      server_.run({"WEIR.CANCEL", "k", "5/1h", joined({one, ".", other, ".1.1.1.1"})});
      server_.run({"WEIR.REFUND", "k", "5/1h", one});
      server_.run({"WEIR.ENTER", "k", "concurrency 5/1h", "WEIGHT", one});
      server_.run({"WEIR.LEAVE", "k", "concurrency 5/1h", one});
      server_.run({"WEIR.RENEW", "k", "concurrency 5/1h", one});
      server_.run({"COMMAND", "GETKEYS", "WEIR.TAKEALL", one, "k", "j", "5/1h", other});
    }
  }
}

TEST_F(CrashHunt, ARefusalDisturbsNoWatchAndAGrantDoes) {
  test::RedisConnection watching(server_.port());
  const auto committed = [&](const Words& meanwhile, const std::string& watched) {
    watching.must({"WATCH", watched});
    server_.run(meanwhile);
    watching.must({"MULTI"});
    watching.must({"PING"});
    return watching.must({"EXEC"}).type != ReplyType::null;
  };
  const Words take{"WEIR.TAKE", "k", "1/1h"};
  const Words throttle{"CL.THROTTLE", "c", "0", "1", "3600"};
  EXPECT_FALSE(committed(take, name_of("k", "1/1h")));
  EXPECT_TRUE(committed(take, name_of("k", "1/1h")));
  EXPECT_FALSE(committed(throttle, "c"));
  EXPECT_TRUE(committed(throttle, "c"));
  EXPECT_TRUE(committed({"WEIR.PEEK", "k", "1/1h"}, name_of("k", "1/1h")));
  EXPECT_TRUE(committed({"WEIR.REFUND", "j", "1/1h", "1"}, name_of("j", "1/1h")));
  EXPECT_FALSE(committed({"WEIR.RESET", "k", "1/1h"}, name_of("k", "1/1h")));
}

TEST_F(CrashHunt, WorksInATransaction) {
  server_.run({"MULTI"});
  for (const Words& command : all_on("k")) EXPECT_EQ(server_.text(command), "QUEUED");
  EXPECT_EQ(server_.run({"EXEC"}).elements.size(), all_on("k").size());
  EXPECT_EQ(server_.verdict({"WEIR.TAKE", "k", "1/1h"}), "granted");
  server_.run({"MULTI"});
  server_.run({"WEIR.TAKE", "j", "1/1h"});
  server_.run({"WEIR.TAKE", "j", "1/1h"});
  const wire::Reply both = server_.run({"EXEC"});
  ASSERT_EQ(both.elements.size(), 2u);
  EXPECT_EQ(both.elements[0].field("verdict")->text, "granted");
  EXPECT_EQ(both.elements[1].field("verdict")->text, "denied");
}

TEST_F(CrashHunt, WorksInLuaAndInFunctions) {
  const std::string take = "return redis.call('WEIR.TAKE', KEYS[1], ARGV[1])";
  EXPECT_EQ(server_.verdict({"EVAL", take, "1", "k", "1/1h"}), "granted");
  EXPECT_EQ(server_.verdict({"EVAL", take, "1", "k", "1/1h"}), "denied");
  EXPECT_EQ(server_.run({"EVAL", take, "1", "k", "no limit"}).type, ReplyType::error);
  const std::string throttle =
      "redis.setresp(3) return redis.call('CL.THROTTLE', KEYS[1], '0', '1', '3600')[1]";
  EXPECT_EQ(server_.run({"EVAL", throttle, "1", "c"}).integer, 0);
  EXPECT_EQ(server_.run({"EVAL", throttle, "1", "c"}).integer, 1);
  const std::string map =
      "redis.setresp(3) return redis.call('WEIR.PEEK', KEYS[1], '1/1h')"
      ".map.verdict";
  EXPECT_EQ(server_.text({"EVAL_RO", map, "1", "k"}), "denied");
  EXPECT_EQ(server_.run({"EVAL_RO", take, "1", "k", "1/1h"}).type, ReplyType::error);
  ASSERT_EQ(server_.text({"FUNCTION", "LOAD",
                          "#!lua name=ours\nredis.register_function('ours', function(keys, argv) "
                          "return redis.call('WEIR.TAKE', keys[1], argv[1]) end)"}),
            "ours");
  EXPECT_EQ(server_.verdict({"FCALL", "ours", "1", "f", "1/1h"}), "granted");
  EXPECT_EQ(server_.verdict({"FCALL", "ours", "1", "f", "1/1h"}), "denied");
}

TEST_F(CrashHunt, KeysMayGoWhileItIsCalled) {
  for (int round = 0; round < 200; ++round) {
    for (const Words& command : all_on("k" + std::to_string(round % 7))) server_.run(command);
    if (round % 20 == 0) server_.run({"FLUSHALL", "ASYNC"});
    if (round % 33 == 0) server_.run({"DEBUG", "RELOAD"});
    if (round % 50 == 0) server_.run({"SWAPDB", "0", "1"});
  }
}

TEST_F(CrashHunt, AKeyThatHasExpiredIsOneNeverSeen) {
  server_.run({"SET", name_of("k", "1/1h"), "another's", "PX", "1"});
  server_.run({"RPUSH", "c", "another's"});
  server_.run({"PEXPIRE", "c", "1"});
  server_.run({"DEBUG", "SLEEP", "0.005"});
  EXPECT_EQ(server_.verdict({"WEIR.PEEK", "k", "1/1h"}), "granted");
  EXPECT_EQ(server_.verdict({"WEIR.TAKE", "k", "1/1h"}), "granted");
  EXPECT_EQ(server_.run({"CL.THROTTLE", "c", "0", "1", "3600"}).elements.at(0).integer, 0);
}

TEST_F(CrashHunt, WithoutMemoryTheServerRefusesWhatTakesAndNotWhatGivesBack) {
  server_.run({"CONFIG", "SET", "maxmemory", "1"});
  for (const Words& command : all_on("k")) {
    const bool takes = command[0] == "CL.THROTTLE" || command[0] == "WEIR.TAKE" ||
                       command[0] == "WEIR.TAKEALL" || command[0] == "WEIR.ENTER" ||
                       command[0] == "WEIR.RENEW" || command[0] == "WEIR_1.TAKE" ||
                       command[0] == "WEIR_1.RENEW";
    EXPECT_EQ(server_.text(command).starts_with("OOM"), takes) << command[0];
  }
  // What is named takes a key of its own.
  EXPECT_TRUE(server_.text({"WEIR.REFUND", "k", "5/1h", "1", "ID", "x"}).starts_with("OOM"));
  server_.run({"CONFIG", "SET", "maxmemory", "0"});
}

TEST_F(CrashHunt, TellsTheServerItsKeysAndWhatItDoes) {
  const auto keys_of = [&](Words command) {
    command.insert(command.begin(), {"COMMAND", "GETKEYS"});
    Words keys;
    for (const wire::Reply& key : server_.run(command).elements) keys.push_back(key.text);
    return keys;
  };
  for (const Words& command : all_on("k")) {
    Words keys{"k"};
    if (command[0] == "WEIR.TAKEALL") keys.emplace_back("other");
    if (command[0].starts_with("WEIR_1.")) keys = {command[2]};
    EXPECT_EQ(keys_of(command), keys) << command[0];
    const wire::Reply told = server_.run({"COMMAND", "DOCS", command[0]});
    ASSERT_EQ(told.elements.size(), 2u) << command[0];
    EXPECT_NE(told.elements[1].field("summary"), nullptr);
    EXPECT_NE(told.elements[1].field("arguments"), nullptr);
    const wire::Reply info = server_.run({"COMMAND", "INFO", command[0]});
    EXPECT_EQ(info.elements.at(0).elements.at(0).text, command[0]);
  }
}

TEST_F(CrashHunt, AUserTakesFromItsOwnKeysOnly) {
  server_.run({"ACL", "SETUSER", "shop", "on", "nopass", "~shop:*", "+weir.take", "+weir.takeall"});
  server_.run({"ACL", "SETUSER", "reader", "on", "nopass", "%R~*", "+weir.peek", "+weir.take"});
  test::RedisConnection shop(server_.port());
  shop.must({"AUTH", "shop", ""});
  EXPECT_NE(shop.run({"WEIR.TAKE", "shop:1", "5/1h"}).type, ReplyType::error);
  EXPECT_NE(shop.run({"WEIR.TAKEALL", "2", "shop:1", "shop:2", "5/1h", "5/1h"}).type,
            ReplyType::error);
  for (const Words& command : {Words{"WEIR.TAKE", "bank:1", "5/1h"},
                               Words{"WEIR.TAKEALL", "2", "shop:1", "bank:1", "5/1h", "5/1h"},
                               Words{"WEIR.PEEK", "shop:1", "5/1h"}}) {
    EXPECT_THAT(shop.run(command).text, StartsWith("NOPERM")) << command[0];
  }
  test::RedisConnection reader(server_.port());
  reader.must({"AUTH", "reader", ""});
  EXPECT_NE(reader.run({"WEIR.PEEK", "bank:1", "5/1h"}).type, ReplyType::error);
  EXPECT_THAT(reader.run({"WEIR.TAKE", "bank:1", "5/1h"}).text, StartsWith("NOPERM"));
}

TEST_F(CrashHunt, TellsWhoeverListensWhatHappenedToAKey) {
  server_.run({"CONFIG", "SET", "notify-keyspace-events", "KA"});
  test::RedisConnection listening(server_.port());
  listening.must({"PSUBSCRIBE", "__keyspace@0__:*"});
  server_.run({"WEIR.TAKE", "k", "1/1h"});
  server_.run({"WEIR.TAKE", "k", "1/1h"});
  server_.run({"WEIR.RESET", "k", "1/1h"});
  Words heard;
  while (heard.size() < 3) heard.push_back(listening.run({"PING"}).elements.at(3).text);
  EXPECT_THAT(heard, ElementsAre("set", "expire", "del"));
}

TEST_F(CrashHunt, StaysUntilTheServerEndsSinceATransactionMayNameIt) {
  test::RedisConnection queueing(server_.port());
  queueing.must({"MULTI"});
  queueing.must({"WEIR.TAKE", "k", "5/1h"});
  EXPECT_EQ(server_.run({"MODULE", "UNLOAD", "weir"}).type, ReplyType::error);
  EXPECT_EQ(queueing.must({"EXEC"}).elements.size(), 1u);
  EXPECT_EQ(server_.verdict({"WEIR.TAKE", "k", "5/1h"}), "granted");
  EXPECT_THAT(server_.log_tail(), HasSubstr("stays until the server ends"));
}

TEST_F(CrashHunt, IsLoadedOnce) {
  EXPECT_EQ(server_.run({"MODULE", "LOAD", module_path()}).type, ReplyType::error);
  EXPECT_EQ(server_.verdict({"WEIR.TAKE", "k", "@login"}), "granted");
}

TEST(ModuleLoadedWrong, TheServerSaysWhyItDoesNotStart) {
  for (const auto& [word, why] :
       {std::pair{"login", "expected NAME=LIMIT"}, std::pair{"login=5", "column"},
        std::pair{"a=5/1m initial 0", "limit"}}) {
    try {
      const RealServer server(with_module({word}));
      ADD_FAILURE() << word << " was taken";
    } catch (const std::runtime_error& said) {
      EXPECT_THAT(said.what(), HasSubstr(why)) << word;
    }
  }
}

TEST(ModuleInACluster, KeysOfOneRequestLieInOneSlot) {
  RealServer server(with_module({}, {"--cluster-enabled", "yes"}));
  server.run({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  test::await("the cluster stands", [&] {
    return server.text({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
  });
  EXPECT_EQ(server.verdict({"WEIR.TAKE", "user:7", "5/1h"}), "granted");
  EXPECT_THAT(server.text({"WEIR.TAKEALL", "2", "a", "b", "5/1h", "5/1h"}),
              StartsWith("CROSSSLOT"));
  EXPECT_EQ(server.verdict({"WEIR.TAKEALL", "2", "a", "a", "5/1h", "7/1h"}), "granted");
  for (const char* key : {"{user}:7", "a}b", "50%", ""}) {
    EXPECT_THAT(server.text({"WEIR.TAKE", key, "5/1h"}), HasSubstr("in a cluster expected")) << key;
  }
  EXPECT_EQ(server.run({"CL.THROTTLE", "{user}:7", "15", "30", "60"}).elements.size(), 5u);
  const std::string key = name_of("user:7", "5/1h");
  EXPECT_EQ(server.run({"CLUSTER", "KEYSLOT", key}), server.run({"CLUSTER", "KEYSLOT", "user:7"}));
  EXPECT_THAT(server.immortal_keys(), IsEmpty());
}

}  // namespace
}  // namespace weir::module
