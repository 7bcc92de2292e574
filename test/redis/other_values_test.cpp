// What the scripts say to values that are no state, and to arguments that are no request.
#include <gtest/gtest.h>

#include "redis/limit_config.hpp"
#include "test/redis/lua_store.hpp"

namespace weir::redis {
namespace {

class OtherValues : public testing::Test {
 protected:
  std::string error(const std::vector<std::string>& keys, const std::vector<std::string>& arguments,
                    ScriptVerb verb = ScriptVerb::take) {
    return store_.call({verb, 'm', keys, arguments}).error;
  }

  LuaStore store_{Loaded::library};
  const std::string config_ = config_text(Limit::of("5/1s")).value();
};

TEST_F(OtherValues, AreRefusedByNameAndLeftAlone) {
  const char* const configs[] = {"t 0 200000 0 1 5",   "l 0 200000 0 1 5", "f 0 5 1000000",
                                 "w 0 5 100000 11",    "o 0 5 1000000",    "c 0 5 1000000",
                                 "m 0 1 0 f 5 1000000"};
  const std::string values[] = {
      "hello", "t2aaaaaaaabbbbbbbb", "x1aaaaaaaabbbbbbbb", "t1aaa", "o1abc",
      "r1abc", "m1aaaaaaaabbbbbbbb", "c1aaaaaaaabbbbbbbb"};
  for (const char* config : configs) {
    for (const std::string& value : values) {
      for (const ScriptVerb verb : {ScriptVerb::take, ScriptVerb::peek}) {
        store_.set("their key", value);
        EXPECT_EQ(error({"their key"}, {config, "1", "0"}, verb).substr(0, 29),
                  "WRONGTYPE weir: key their key")
            << config << " on " << value;
        EXPECT_EQ(store_.get("their key"), value);
      }
    }
  }
}

TEST_F(OtherValues, OfOneKeyRefuseTheWholeRequest) {
  store_.set("b", "hello");
  EXPECT_NE(error({"a", "b"}, {config_, config_, "1", "1", "0"}), "");
  EXPECT_FALSE(store_.get("a"));
}

TEST_F(OtherValues, AndBadArgumentsGetAnErrorAndWriteNothing) {
  const std::vector<std::vector<std::string>> bad{
      {},
      {config_},
      {config_, "1"},
      {config_, "-1", "0"},
      {config_, "1.5", "0"},
      {config_, "x", "0"},
      {config_, "1", "x"},
      {config_, "1", "-2"},
      {config_, "nan", "0"},
      {config_, "1", "inf"},
      {"5/1s", "1", "0"},
      {"t 0 200000 0 1", "1", "0"},
      {"t 0 200000 0 1 5 6", "1", "0"},
      {"t 0 0 0 1 5", "1", "0"},
      {"t 0 1 1 1 5", "1", "0"},
      {"t -1 200000 0 1 5", "1", "0"},
      {"t 0 1125899906842624 0 1 5", "1", "0"},
      {"f 0 0 1000000", "1", "0"},
      {"w 0 5 100000 2000", "1", "0"},
      {"o 0 100001 100000", "1", "0"},
      {"c 0 10001 100000", "1", "0"},
      {"c 0 5 0", "1", "0"},
      {"m 0 0", "1", "0"},
      {"m 0 2 0 f 5 1000000", "1", "0"},
      {"m 0 1 0 m 0 1 0 f 5 1000000", "1", "0"},
      {"", "1", "0"},
  };
  for (const auto& arguments : bad) {
    EXPECT_EQ(error({"k"}, arguments).substr(0, 10), "ERR weir: ")
        << testing::PrintToString(arguments);
  }
  EXPECT_EQ(error({"k", "k"}, {config_, "f 0 5 1000000", "1", "1", "0"}).substr(0, 10),
            "ERR weir: ");
  EXPECT_EQ(error({"k"}, {config_, "1"}, ScriptVerb::cancel).substr(0, 10), "ERR weir: ");
  EXPECT_EQ(error({"k"}, {config_}, ScriptVerb::refund).substr(0, 10), "ERR weir: ");
  for (const ScriptVerb verb : {ScriptVerb::release, ScriptVerb::renew}) {
    EXPECT_EQ(error({"k"}, {"c 0 5 100"}, verb).substr(0, 10), "ERR weir: ");
    EXPECT_EQ(error({"k"}, {"c 0 5 100", "-1"}, verb).substr(0, 10), "ERR weir: ");
    EXPECT_EQ(error({"k", "l"}, {"c 0 5 100", "1"}, verb).substr(0, 10), "ERR weir: ");
  }
  EXPECT_EQ(store_.writes(), 0u);
}

}  // namespace
}  // namespace weir::redis
