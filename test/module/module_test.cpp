// The module's commands, in a server of this process.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "redis/stored_form.hpp"
#include "redis/stored_key.hpp"
#include "test/module/fake_module_server.hpp"

namespace weir::module {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using wire::ReplyType;

const Instant noon{std::chrono::seconds{1'750'000'000}};

std::vector<std::string> words(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

class Module : public testing::Test {
 protected:
  Module() { server_.set_time(noon); }

  wire::Reply run(const std::string& line) { return server_.run(words(line)); }
  std::vector<std::int64_t> integers(const std::string& line) {
    std::vector<std::int64_t> numbers;
    for (const wire::Reply& each : run(line).elements) numbers.push_back(each.integer);
    return numbers;
  }
  std::string verdict(const std::vector<std::string>& command) {
    const wire::Reply reply = server_.run(command);
    const wire::Reply* field = reply.field("verdict");
    return field ? field->text : reply.text;
  }
  const FakeServer::Stored& at(const std::string& key) { return server_.keys().at(key); }

  FakeServer server_{{"login=5/1m"}};
};

TEST_F(Module, ThrottleEqualsEveryObservedSequenceOfRedisCell) {
  std::ifstream file(WEIR_TEST_DATA "/redis_cell_vectors.tsv");
  ASSERT_TRUE(file);
  int rows = 0;
  Instant now = noon;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::int64_t> row;
    std::istringstream text(line);
    for (std::int64_t number = 0; text >> number;) row.push_back(number);
    ASSERT_EQ(row.size(), 11u) << line;
    std::ostringstream command;
    command << "CL.THROTTLE seq" << row[0];
    for (std::size_t field = 2; field < 6; ++field) command << ' ' << row[field];
    server_.set_time(now);
    EXPECT_THAT(integers(command.str()), testing::ElementsAreArray(row.begin() + 6, row.end()))
        << line;
    now += std::chrono::microseconds(300);
    ++rows;
  }
  EXPECT_EQ(rows, 280);
}

TEST_F(Module, ThrottleContinuesWhatRedisCellHasStored) {
  // 30 a minute, and 10 s of them are owed: redis-cell's decimal nanoseconds.
  const std::int64_t ns = 1'750'000'010'000'000'000;
  server_.keys()["shop"] = {true, std::to_string(ns), 1'750'000'010'000};
  EXPECT_THAT(integers("CL.THROTTLE shop 15 30 60"), ElementsAre(0, 16, 10, -1, 12));
  EXPECT_EQ(at("shop").bytes, std::to_string(ns + 2'000'000'000));
  EXPECT_EQ(at("shop").until_ms, 1'750'000'012'000);
}

TEST_F(Module, ThrottleTellsWhatItCannotRead) {
  server_.keys()["list"] = {false, {}, {}};
  for (const char* bytes : {"hello", "", "-5", "1e9", "1 ", "99999999999999999999", "\xff\xfe"}) {
    server_.keys()["text"] = {true, bytes, {}};
    EXPECT_THAT(run("CL.THROTTLE text 15 30 60").text, StartsWith("WRONGTYPE")) << bytes;
    EXPECT_EQ(at("text").bytes, bytes);
  }
  EXPECT_THAT(run("CL.THROTTLE list 15 30 60").text, StartsWith("WRONGTYPE"));
  EXPECT_THAT(server_.replicated(), IsEmpty());
}

TEST_F(Module, ARefusalAndAPeekTellNobody) {
  EXPECT_EQ(verdict({"WEIR.TAKE", "k", "1/1m"}), "granted");
  const auto written = server_.replicated().size();
  const auto events = server_.events().size();
  EXPECT_EQ(verdict({"WEIR.TAKE", "k", "1/1m"}), "denied");
  EXPECT_EQ(verdict({"WEIR.PEEK", "k", "1/1m"}), "denied");
  run("CL.THROTTLE c 0 1 60");
  EXPECT_THAT(integers("CL.THROTTLE c 0 1 60"), ElementsAre(1, 1, 0, 60, 60));
  EXPECT_EQ(server_.replicated().size(), written + 1);
  EXPECT_EQ(server_.events().size(), events + 2);
}

TEST_F(Module, TellsReplicasTheOutcomeWithItsTime) {
  run("WEIR.TAKE k 1/1m");
  const std::string key = redis::stored_key({"k", "1/1m"});
  EXPECT_THAT(server_.replicated().at(0),
              ElementsAre("SET", key, at(key).bytes, "PXAT", "1750000060000"));
  run("WEIR.REFUND k 1/1m 1");
  EXPECT_THAT(server_.replicated().at(1), ElementsAre("DEL", key));
  EXPECT_THAT(server_.events(), ElementsAre("set " + key, "expire " + key, "del " + key));
}

TEST_F(Module, DoesNotKeepWhatSaysNothing) {
  run("CL.THROTTLE k 4 5 50");
  run("CL.THROTTLE k 4 5 50 -1");
  run("CL.THROTTLE other 4 5 50 -1");
  EXPECT_THAT(server_.keys(), IsEmpty());
}

TEST_F(Module, NamedLimitsAreThoseItWasLoadedWith) {
  EXPECT_EQ(verdict({"WEIR.TAKE", "k", "@login", "COST", "5"}), "granted");
  EXPECT_EQ(verdict({"WEIR.TAKE", "k", "@login"}), "denied");
  EXPECT_EQ(verdict({"WEIR.TAKE", "k", "5/1m"}), "granted");
  EXPECT_THAT(run("WEIR.TAKE k @logout").text, StartsWith("ERR limit: no such name"));
}

TEST(ModuleLoad, RefusesWordsThatNameNoLimit) {
  for (const char* word : {"login", "=5/1m", "login=5", "login=5/1m initial 0"}) {
    const FakeServer server({word});
    EXPECT_FALSE(server.loaded()) << word;
    EXPECT_EQ(server.log().size(), 1u) << word;
  }
  const FakeServer twice({"a=5/1m", "a=6/1m"});
  EXPECT_FALSE(twice.loaded());
}

TEST(ModuleLoad, NeedsNoMoreThanRedis62Has) {
  FakeServer server({}, FakeServer::Age::old_server);
  ASSERT_TRUE(server.loaded());
  server.set_time(noon);
  const wire::Reply reply = server.run({"WEIR.TAKE", "k", "1/1m"});
  EXPECT_EQ(reply.type, ReplyType::array);
  EXPECT_EQ(reply.elements.size(), 14u);
  EXPECT_EQ(server.keys().begin()->second.until_ms, 1'750'000'060'000);
}

TEST_F(Module, EveryCommandSaysWhatItDoes) {
  EXPECT_THAT(server_.commands(),
              testing::UnorderedElementsAre(
                  "CL.THROTTLE: write deny-oom fast", "WEIR.TAKE: write deny-oom fast",
                  "WEIR.PEEK: readonly fast", "WEIR.TAKEALL: write deny-oom fast getkeys-api",
                  "WEIR.CANCEL: write fast", "WEIR.REFUND: write fast", "WEIR.RESET: write fast",
                  "WEIR.ENTER: write deny-oom fast", "WEIR.LEAVE: write fast",
                  "WEIR.RENEW: write deny-oom fast", "WEIR_1.TAKE: write deny-oom fast getkeys-api",
                  "WEIR_1.PEEK: readonly fast getkeys-api", "WEIR_1.CANCEL: write fast getkeys-api",
                  "WEIR_1.REFUND: write fast getkeys-api", "WEIR_1.RELEASE: write fast getkeys-api",
                  "WEIR_1.RENEW: write deny-oom fast getkeys-api"));
}

TEST_F(Module, ARefundOfAnIdCountsOnceInADay) {
  run("WEIR.TAKE k 5/1h COST 5");
  EXPECT_EQ(run("WEIR.REFUND k 5/1h 1 ID order-17").integer, 1);
  EXPECT_EQ(run("WEIR.REFUND k 5/1h 1 ID order-17").integer, 0);
  EXPECT_EQ(run("WEIR.REFUND k 5/1h 1 ID order-18").integer, 1);
  EXPECT_EQ(run("WEIR.REFUND other 5/1h 1 ID order-17").integer, 0);  // nothing was owed there
  EXPECT_EQ(run("WEIR.PEEK k 5/1h").field("remaining")->integer, 2);
  const std::string id = redis::stored_key({"k", "5/1h"}) + " refund order-17";
  EXPECT_EQ(at(id).bytes, "i1");
  EXPECT_EQ(at(id).until_ms, 1'750'086'400'000);
  EXPECT_EQ(server_.keys(), server_.replica());
  server_.set_time(noon + std::chrono::hours{24} + std::chrono::milliseconds{1});
  run("WEIR.TAKE k 5/1h COST 5");
  EXPECT_EQ(run("WEIR.REFUND k 5/1h 1 ID order-17").integer, 1);
}

TEST_F(Module, AnIdWhoseKeyHoldsSomethingElseIsAnErrorAndGivesNothingBack) {
  run("WEIR.TAKE k 5/1h");
  server_.keys()[redis::stored_key({"k", "5/1h"}) + " refund x"] = {true, "hello", {}};
  EXPECT_THAT(run("WEIR.REFUND k 5/1h 1 ID x").text, StartsWith("WRONGTYPE ID: "));
  EXPECT_EQ(run("WEIR.PEEK k 5/1h").field("remaining")->integer, 4);
}

TEST_F(Module, TakeAllTakesFromAllKeysOrNone) {
  EXPECT_EQ(verdict(words("WEIR.TAKEALL 2 a b 5/1m 1/1m")), "granted");
  EXPECT_EQ(server_.keys().size(), 2u);
  const auto before = server_.keys();
  const wire::Reply reply = run("WEIR.TAKEALL 2 a b 5/1m 1/1m");
  EXPECT_EQ(reply.field("verdict")->text, "denied");
  EXPECT_EQ(reply.field("key")->text, "b");
  EXPECT_EQ(server_.keys(), before);
}

TEST_F(Module, TakeAllTellsItsKeys) {
  EXPECT_THAT(server_.keys_of(words("WEIR.TAKEALL 2 a b 5/1m 1/1m")), ElementsAre("a", "b"));
  EXPECT_THAT(server_.keys_of(words("WEIR.TAKEALL 9 a b 5/1m 1/1m")), IsEmpty());
  EXPECT_THAT(server_.keys_of(words("WEIR.TAKEALL x a b 5/1m 1/1m")), IsEmpty());
}

TEST_F(Module, PermitsAreGivenBack) {
  const std::vector<std::string> enter{"WEIR.ENTER", "k", "concurrency 1/30s"};
  const std::string permit = server_.run(enter).field("permit")->text;
  EXPECT_EQ(verdict(enter), "denied");
  EXPECT_EQ(server_.run({"WEIR.RENEW", "k", "concurrency 1/30s", permit}).integer, 30'000'000);
  EXPECT_EQ(server_.run({"WEIR.LEAVE", "k", "concurrency 1/30s", permit}).integer, 1);
  EXPECT_EQ(server_.run({"WEIR.LEAVE", "k", "concurrency 1/30s", permit}).integer, 0);
  EXPECT_EQ(verdict(enter), "granted");
}

TEST_F(Module, InAClusterRefusesKeysThatWouldLieElsewhere) {
  server_.set_cluster(true);
  EXPECT_EQ(verdict({"WEIR.TAKE", "user:7", "5/1m"}), "granted");
  for (const char* key : {"{user}:7", "a}b", "50%", ""}) {
    EXPECT_THAT(verdict({"WEIR.TAKE", key, "5/1m"}), HasSubstr("in a cluster expected")) << key;
  }
}

TEST_F(Module, ADebtOfAClockThatWasSetBackIsPulledIn) {
  EXPECT_EQ(verdict({"WEIR.TAKE", "k", "5/1m", "COST", "5"}), "granted");
  server_.set_time(noon - std::chrono::hours(1));
  const wire::Reply reply = server_.run({"WEIR.TAKE", "k", "5/1m"});
  EXPECT_EQ(reply.field("verdict")->text, "denied");
  // Capacity, and the slack of a minute: kept, so that it passes also for who never waits.
  EXPECT_EQ(reply.field("reset_after_us")->integer, 120'000'000);
  server_.set_time(noon - std::chrono::hours(1) + std::chrono::seconds(72));
  EXPECT_EQ(verdict({"WEIR.TAKE", "k", "5/1m"}), "granted");
}

TEST_F(Module, EveryWrongArgumentIsAnError) {
  for (const char* line : {"CL.THROTTLE k 15 30",
                           "CL.THROTTLE k 15 30 60 1 1",
                           "CL.THROTTLE k -1 30 60",
                           "CL.THROTTLE k 15 0 60",
                           "CL.THROTTLE k 15 30 0",
                           "CL.THROTTLE k 1.5 30 60",
                           "CL.THROTTLE k 9223372036854775807 1 60",
                           "CL.THROTTLE k 9223372036854775808 1 60",
                           "CL.THROTTLE k 15 30 60 9223372036854775808",
                           "CL.THROTTLE k 1 1 9223372036854775807",
                           "CL.THROTTLE k 15 30 60 -9223372036854775808",
                           "WEIR.TAKE k",
                           "WEIR.TAKE k 5",
                           "WEIR.TAKE k 5/1m COST",
                           "WEIR.TAKE k 5/1m COST -1",
                           "WEIR.TAKE k 5/1m PATIENCE x",
                           "WEIR.TAKE k 5/1m MORE 1",
                           "WEIR.PEEK k",
                           "WEIR.TAKEALL",
                           "WEIR.TAKEALL 0",
                           "WEIR.TAKEALL 3 a b",
                           "WEIR.TAKEALL 99999999999999999999 a 5/1m",
                           "WEIR.TAKEALL 17 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 a",
                           "WEIR.CANCEL k 5/1m",
                           "WEIR.CANCEL k 5/1m grant",
                           "WEIR.CANCEL k 5/1m 1.9.1.1.1.1",
                           "WEIR.REFUND k 5/1m -1",
                           "WEIR.REFUND k 5/1m 1 ID",
                           "WEIR.RESET k",
                           "WEIR.ENTER k 5/1m",
                           "WEIR.LEAVE k 5/1m 1",
                           "WEIR.RENEW k 5/1m 1"}) {
    const wire::Reply reply = run(line);
    EXPECT_EQ(reply.type, ReplyType::error) << line;
    EXPECT_THAT(reply.text, StartsWith("ERR ")) << line;
  }
  EXPECT_THAT(server_.keys(), IsEmpty());
  std::vector<std::string> long_command(100, "x");
  long_command[0] = "WEIR.TAKE";
  EXPECT_EQ(server_.run(long_command).type, ReplyType::error);
}

TEST_F(Module, AnErrorIsOneLineWhateverTheKeyHolds) {
  const std::string key("a\r\nb\0c", 6);
  server_.keys()[redis::stored_key({key, "5/1m"})] = {true, "no state", {}};
  const wire::Reply reply = server_.run({"WEIR.TAKE", key, "5/1m"});
  EXPECT_THAT(reply.text, StartsWith("WRONGTYPE weir: key weir:{a  b c}:5/1m holds something"));
}

TEST_F(Module, AStateOfAnotherMachineIsLeftAlone) {
  const std::string key = redis::stored_key({"k", "5/1m"});
  server_.keys()[key] = {true, std::string("f1") + std::string(16, '\0'), {}};
  EXPECT_THAT(verdict({"WEIR.TAKE", "k", "5/1m"}), StartsWith("WRONGTYPE"));
  EXPECT_EQ(at(key).bytes.substr(0, 2), "f1");
}

TEST_F(Module, DecidesAsThePureMachinesAndTellsReplicasTheSame) {
  FakeModuleServer server(server_);
  ModuleHost host(server);
  const host::Compared compared = host::expect_equal_to_pure(host, {.first = 1, .count = 60});
  EXPECT_GT(compared.taken, 4'000u);
  EXPECT_GT(compared.denied, 1'500u);
  EXPECT_GT(compared.given_back, 300u);
  EXPECT_GT(compared.states, 10'000u);
  EXPECT_EQ(server_.keys(), server_.replica());
}

}  // namespace
}  // namespace weir::module
