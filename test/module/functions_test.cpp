// The functions as commands of the module: what the scripts decide, in their words.
#include <gmock/gmock.h>

#include "redis/limit_config.hpp"
#include "redis/stored_key.hpp"
#include "test/module/function_store.hpp"
#include "test/redis/script_host.hpp"
#include "test/redis/several_keys.hpp"

namespace weir::module {
namespace {

using redis::ScriptVerb;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const Instant noon{std::chrono::seconds{1'750'000'000}};

class ModuleFunctions : public testing::Test {
 protected:
  ModuleFunctions() { store_.set_time(noon); }

  wire::Reply run(const std::vector<std::string>& words) { return store_.server().run(words); }
  redis::ScriptReply call(ScriptVerb verb, const std::vector<std::string>& keys,
                          const std::vector<std::string>& arguments) {
    return store_.call({verb, 'm', keys, arguments});
  }

  const std::string config_ = redis::config_text(Limit::of("5/1m")).value();
  FakeFunctionStore store_;
};

TEST_F(ModuleFunctions, DecideAsThePureMachines) {
  redis::ScriptHost host(store_);
  const host::Compared compared = host::expect_equal_to_pure(host, {.first = 3, .count = 60});
  EXPECT_GT(compared.taken, 4'000u);
  EXPECT_GT(compared.denied, 1'500u);
  EXPECT_GT(compared.given_back, 300u);
}

TEST_F(ModuleFunctions, DecideOverSeveralKeysAsTheMachinesAndTheTable) {
  redis::expect_equal_over_several_keys(store_, 30);
}

TEST_F(ModuleFunctions, AreAboutTheStatesOfTheOtherCommands) {
  const std::string key = redis::stored_key({"k", "5/1m"});
  EXPECT_EQ(call(ScriptVerb::take, {key}, {config_, "3", "-1"}).integers.at(4), 2);
  EXPECT_EQ(run({"WEIR.PEEK", "k", "5/1m"}).field("remaining")->integer, 2);
  EXPECT_THAT(call(ScriptVerb::refund, {key}, {config_, "1"}).integers, ElementsAre(1));
  EXPECT_EQ(run({"WEIR.PEEK", "k", "5/1m"}).field("remaining")->integer, 3);
}

TEST_F(ModuleFunctions, TellTheServerTheirKeys) {
  EXPECT_THAT(
      store_.server().keys_of({"WEIR_1.TAKE", "2", "a", "b", config_, config_, "1", "1", "-1"}),
      ElementsAre("a", "b"));
  EXPECT_THAT(store_.server().keys_of({"WEIR_1.REFUND", "1", "a", config_, "1"}), ElementsAre("a"));
}

TEST_F(ModuleFunctions, OneKeyIsNotTakenFromUnderTwoLimits) {
  const std::string other = redis::config_text(Limit::of("6/1m")).value();
  EXPECT_THAT(call(ScriptVerb::take, {"k", "k"}, {config_, other, "1", "1", "-1"}).error,
              HasSubstr("named twice, with two limits"));
  EXPECT_EQ(call(ScriptVerb::take, {"k", "k"}, {config_, config_, "1", "1", "-1"}).integers.at(4),
            3);
}

TEST_F(ModuleFunctions, BadWordsGetAnErrorAndWriteNothing) {
  using Words = std::vector<std::string>;
  for (const Words& words :
       std::initializer_list<Words>{{"WEIR_1.TAKE"},
                                    {"WEIR_1.TAKE", "0", config_, "1", "-1"},
                                    {"WEIR_1.TAKE", "2", "k", config_, "1", "-1"},
                                    {"WEIR_1.TAKE", "x", "k", config_, "1", "-1"},
                                    {"WEIR_1.TAKE", "17", "k", config_, "1", "-1"},
                                    {"WEIR_1.TAKE", "1", "k", "5/1m", "1", "-1"},
                                    {"WEIR_1.TAKE", "1", "k", config_, "-1", "-1"},
                                    {"WEIR_1.TAKE", "1", "k", config_, "9007199254740993", "-1"},
                                    {"WEIR_1.TAKE", "1", "k", config_, "1", "-2"},
                                    {"WEIR_1.TAKE", "1", "k", config_, "1"},
                                    {"WEIR_1.TAKE", "1", "k", config_, "1", "-1", "more"},
                                    {"WEIR_1.CANCEL", "1", "k", config_, "1", "1", "1"},
                                    {"WEIR_1.CANCEL", "1", "k", config_, "1", "1", "1", "x"},
                                    {"WEIR_1.CANCEL", "1", "k", config_, "-1", "1", "1", "1"},
                                    {"WEIR_1.REFUND", "2", "k", "l", config_, "1"},
                                    {"WEIR_1.REFUND", "1", "k", config_},
                                    {"WEIR_1.RELEASE", "1", "k", config_, "1.5"},
                                    {"WEIR_1.RENEW", "1", "k", config_, "1", "1"}}) {
    const wire::Reply reply = run(words);
    EXPECT_EQ(reply.type, wire::ReplyType::error) << testing::PrintToString(words);
    EXPECT_THAT(reply.text, StartsWith("ERR weir: ")) << testing::PrintToString(words);
  }
  EXPECT_THAT(store_.server().keys(), IsEmpty());
}

}  // namespace
}  // namespace weir::module
