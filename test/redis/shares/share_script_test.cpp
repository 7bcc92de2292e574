// scripts/share.lua decides and keeps what ShareRegistry does.
#include <gtest/gtest.h>

#include <array>

#include "test/redis/lua_store.hpp"
#include "test/redis/shares/registry_against_script.hpp"

namespace weir::redis {
namespace {

class ShareScript : public testing::TestWithParam<Loaded> {};

TEST_P(ShareScript, AnswersAndKeepsAsTheRegistry) {
  LuaStore store(GetParam());
  std::size_t granted = 0;
  std::size_t confirmed = 0;
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RegistryAgainstScript pair(store, seed);
    for (int event = 0; event < 150; ++event) {
      pair.event();
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << ", event " << event;
    }
    granted += pair.granted;
    confirmed += pair.confirmed;
    refused += pair.refused;
  }
  EXPECT_GT(granted, 2'000u);
  EXPECT_GT(confirmed, 500u);
  EXPECT_GT(refused, 50u);
}

INSTANTIATE_TEST_SUITE_P(Loaded, ShareScript, testing::Values(Loaded::library, Loaded::scripts));

class ShareScriptAsked : public testing::Test {
 protected:
  ScriptReply ask(const std::vector<std::string>& arguments,
                  const std::vector<std::string>& keys = {"k"}) {
    return store_.call({ScriptVerb::share, '-', keys, arguments});
  }
  ShareScriptAsked() { store_.set_time(Instant{std::chrono::seconds{1'000}}); }

  LuaStore store_{Loaded::library};
};

TEST_F(ShareScriptAsked, WithBadArgumentsWritesNothing) {
  const std::vector<std::vector<std::string>> bad{
      {},
      {"e", "1000", "1", "1", "0"},
      {"x", "1000", "1", "1", "0", "0"},
      {"e", "-1", "1", "1", "0", "0"},
      {"e", "1.5", "1", "1", "0", "0"},
      {"e", "86400000001", "1", "1", "0", "0"},
      {"e", "1000", "nan", "1", "0", "0"},
      {"e", "1000", "1", "inf", "0", "0"},
      {"e", "1000", "1", "1", "1000001", "0"},
      {"e", "1000", "1", "1", "0", "1000001"},
      {"e", "1000", "1", "1", "0", "0", "0"},
  };
  for (const auto& arguments : bad) {
    EXPECT_EQ(ask(arguments).error.substr(0, 10), "ERR weir: ")
        << testing::PrintToString(arguments);
  }
  EXPECT_EQ(ask({"e", "1000", "1", "1", "0", "0"}, {"k", "l"}).error.substr(0, 10), "ERR weir: ");
  EXPECT_EQ(store_.writes(), 0u);
}

TEST_F(ShareScriptAsked, LeavesOtherValuesAlone) {
  for (const char* value : {"hello", "t1aaaaaaaabbbbbbbb", "s1", "s1aaaaaaaabbbbbbbbc"}) {
    store_.set("k", value);
    EXPECT_EQ(ask({"e", "1000", "1", "1", "0", "0"}).error.substr(0, 21), "WRONGTYPE weir: key k");
    EXPECT_EQ(store_.get("k"), value);
  }
}

TEST_F(ShareScriptAsked, ByTheThousandAndFirstMemberRefuses) {
  ShareRegistry::State state{Instant{std::chrono::seconds{1'001}}, std::chrono::seconds{9}, {}};
  for (std::int64_t member = 1; member <= 1000; ++member) {
    state.holders.push_back({member, 1, 0, 0, Instant{std::chrono::seconds{1'009}}});
  }
  store_.set("k", write_registry(state));
  EXPECT_NE(ask({"e", "9000000", "1001", "1", "0", "0"}).error, "");
  EXPECT_EQ(ask({"e", "0", "7", "2", "0", "0"}).error, "");
  EXPECT_EQ(ask({"e", "9000000", "1001", "1", "0", "0"}).error, "");
}

}  // namespace
}  // namespace weir::redis
