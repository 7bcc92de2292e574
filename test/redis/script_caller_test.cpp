// How a script gets to a store that may not have it.
#include "redis/script_caller.hpp"

#include <gtest/gtest.h>

#include "redis/limit_config.hpp"
#include "test/redis/virtual_store.hpp"

namespace weir::redis {
namespace {

using Words = VirtualStore::Words;

struct Calls {
  explicit Calls(Loaded loaded) : store(loaded), caller(store, [this] { return store.steady(); }) {}

  void take(const std::string& key = "weir:{k}:l") {
    caller.call({.verb = ScriptVerb::take,
                 .letter = 't',
                 .keys = {key},
                 .arguments = {config_text(Limit::of("100000/1m")).value(), "1", "-1"},
                 .deadline_at = store.steady() + std::chrono::milliseconds{5}},
                [this](StoreReply&& reply) { replies.push_back(std::move(reply)); });
  }

  /// All were answered, and granted.
  void expect_granted(std::size_t count) {
    ASSERT_EQ(replies.size(), count);
    for (const StoreReply& reply : replies) {
      EXPECT_EQ(reply.text, "");
      ASSERT_EQ(reply.integers.size(), 9u);
      EXPECT_EQ(reply.integers[0], 0);
    }
  }

  VirtualStore store;
  ScriptCaller caller;
  std::vector<StoreReply> replies;
};

TEST(ScriptCaller, LoadsTheFunctionsOnceWhereTheStoreHasThem) {
  Calls calls(Loaded::library);
  for (int call = 0; call < 100; ++call) calls.take();
  calls.expect_granted(100);
  EXPECT_EQ(calls.store.count("FUNCTION"), 1u);
  EXPECT_EQ(calls.store.count("FCALL"), 101u);
  EXPECT_EQ(calls.store.calls(), 102u);
}

TEST(ScriptCaller, GoesByDigestWhereTheStoreHasNoFunctions) {
  Calls calls(Loaded::scripts);
  for (int call = 0; call < 100; ++call) calls.take();
  calls.expect_granted(100);
  EXPECT_EQ(calls.store.count("FCALL"), 1u);
  EXPECT_EQ(calls.store.count("SCRIPT"), 1u);
  EXPECT_EQ(calls.store.count("EVALSHA"), 100u);
  EXPECT_EQ(calls.store.count("EVAL"), 0u);
}

TEST(ScriptCaller, GoesByDigestWhereFunctionsAreForbidden) {
  Calls calls(Loaded::scripts);
  calls.store.reply = [](const Words& words) -> std::optional<StoreReply> {
    if (words[0] != "FCALL") return {};
    return error_reply("NOPERM this user has no permissions to run the 'fcall' command");
  };
  for (int call = 0; call < 3; ++call) calls.take();
  calls.expect_granted(3);
  EXPECT_EQ(calls.store.count("FCALL"), 1u);
}

TEST(ScriptCaller, SendsTheTextWhereNothingMayBeLoaded) {
  Calls calls(Loaded::scripts);
  calls.store.reply = [](const Words& words) -> std::optional<StoreReply> {
    if (words[0] != "FCALL" && words[0] != "SCRIPT") return {};
    return error_reply("NOPERM User default has no permissions to run the '" + words[0] +
                       "' command");
  };
  for (int call = 0; call < 3; ++call) calls.take();
  calls.expect_granted(3);
  EXPECT_EQ(calls.store.count("EVAL"), 3u);
}

TEST(ScriptCaller, SaysWhatToDoWhereNoWayIsOpen) {
  Calls calls(Loaded::library);
  calls.store.reply = [](const Words& words) -> std::optional<StoreReply> {
    if (words[0] == "FCALL") return {};
    return error_reply("NOPERM this user has no permissions to run the '" + words[0] + "' command");
  };
  calls.take();
  ASSERT_EQ(calls.replies.size(), 1u);
  EXPECT_NE(calls.replies[0].text.find("weir lua install"), std::string::npos);
  // And once an operator has done so, functions are called.
  calls.store.reply = [](const Words&) { return std::nullopt; };
  calls.replies.clear();
  calls.take();
  calls.expect_granted(1);
  EXPECT_EQ(calls.store.count("EVALSHA"), 0u);
}

TEST(ScriptCaller, KeepsToFunctionsWhereOnlyTheKeyIsForbidden) {
  Calls calls(Loaded::library);
  calls.store.reply = [](const Words&) {
    return error_reply("NOPERM No permissions to access a key");
  };
  calls.take();
  ASSERT_EQ(calls.replies.size(), 1u);
  EXPECT_EQ(calls.store.calls(), 1u);
}

// ---- Where the server has the module ----

TEST(ScriptCaller, AsksTheModuleWhereTheServerHasIt) {
  Calls calls(Loaded::library);
  calls.store.with_module = {0};
  for (int call = 0; call < 100; ++call) calls.take();
  calls.expect_granted(100);
  EXPECT_EQ(calls.store.count("WEIR_1.TAKE"), 100u);
  EXPECT_EQ(calls.store.calls(), 100u);
  EXPECT_EQ(calls.caller.loads(), 0u);
}

TEST(ScriptCaller, AsksEachNodeOfAClusterForWhatItHas) {
  Calls calls(Loaded::library);
  calls.store.nodes = 3;
  calls.store.with_module = {1};
  for (int call = 0; call < 300; ++call) calls.take("weir:{" + std::to_string(call) + "}:l");
  calls.expect_granted(300);
  const std::size_t by_module = calls.store.count("WEIR_1.TAKE");
  EXPECT_GT(by_module, 50u);
  EXPECT_EQ(calls.store.count("FCALL") - calls.caller.loads(), 300u - by_module);
  EXPECT_EQ(calls.caller.loads(), 2u);
}

TEST(ScriptCaller, GoesOnWithTheScriptsWhereTheModuleIsGone) {
  Calls calls(Loaded::library);
  calls.store.with_module = {0};
  calls.take();
  // What was told of another server, before a failover say.
  calls.store.reply = [](const Words& words) -> std::optional<StoreReply> {
    if (!words[0].starts_with("WEIR_1.")) return {};
    return error_reply("ERR unknown command 'WEIR_1.TAKE', with args beginning with: '1' ");
  };
  for (int call = 0; call < 3; ++call) calls.take();
  calls.expect_granted(4);
  EXPECT_EQ(calls.store.count("WEIR_1.TAKE"), 2u);
  EXPECT_EQ(calls.replies[3].integers[4], 100'000 - 4);  // each counted once

  calls.store.reply = [](const Words&) { return std::nullopt; };
  calls.store.pass(ScriptCaller::module_retry_after - Span{1});
  calls.take();
  EXPECT_EQ(calls.store.count("WEIR_1.TAKE"), 2u);
  calls.store.pass(Span{1});
  calls.take();
  EXPECT_EQ(calls.store.count("WEIR_1.TAKE"), 3u);
  calls.expect_granted(6);
}

TEST(ScriptCaller, GoesOnWithTheScriptsWhereTheModuleIsForbidden) {
  for (const Loaded loaded : {Loaded::library, Loaded::scripts}) {
    Calls calls(loaded);
    calls.store.with_module = {0};
    calls.store.reply = [](const Words& words) -> std::optional<StoreReply> {
      if (!words[0].starts_with("WEIR_1.")) return {};
      return error_reply("NOPERM User limiter has no permissions to run the 'weir_1.take' command");
    };
    for (int call = 0; call < 3; ++call) calls.take();
    calls.expect_granted(3);
    EXPECT_EQ(calls.store.count("WEIR_1.TAKE"), 1u);
  }
}

TEST(ScriptCaller, WhatTheModuleMayHaveRunIsNeverAskedAgain) {
  for (const Fate fate : {Fate::lost, Fate::broken_off, Fate::not_sent}) {
    Calls calls(Loaded::library);
    calls.store.with_module = {0};
    calls.store.fate = [&](const Words&) { return fate; };
    calls.take();
    EXPECT_EQ(calls.store.calls(), 1u);
    EXPECT_NE(calls.replies.back().outcome, CallOutcome::answered);
  }
}

TEST(ScriptCaller, AnErrorOfTheModuleIsTheAnswer) {
  Calls calls(Loaded::library);
  calls.store.with_module = {0};
  for (const char* error : {"WRONGTYPE weir: key k holds something else", "OOM command not allowed",
                            "NOPERM No permissions to access a key", "READONLY You can't write"}) {
    calls.store.reply = [&](const Words&) { return error_reply(error); };
    calls.take();
    EXPECT_EQ(calls.replies.back().text, error);
  }
  EXPECT_EQ(calls.store.calls(), 4u);
}

TEST(ScriptCaller, LargeLogsStayTheScripts) {
  Calls calls(Loaded::library);
  calls.store.with_module = {0};
  for (const Cost capacity :
       {ScriptCaller::most_entries_by_module, ScriptCaller::most_entries_by_module + 1}) {
    const Limit limit = Limit::of("sliding-log " + std::to_string(capacity) + "/1m");
    calls.caller.call({.verb = ScriptVerb::take,
                       .letter = 'o',
                       .capacity = capacity,
                       .keys = {"weir:{k}:" + std::to_string(capacity)},
                       .arguments = {config_text(limit).value(), "1", "-1"},
                       .deadline_at = calls.store.steady() + std::chrono::milliseconds{5}},
                      [&](StoreReply&& reply) { calls.replies.push_back(std::move(reply)); });
  }
  calls.expect_granted(2);
  EXPECT_EQ(calls.store.count("WEIR_1.TAKE"), 1u);
}

TEST(ScriptCaller, SharesStayTheScripts) {
  Calls calls(Loaded::library);
  calls.store.with_module = {0};
  calls.caller.call({.verb = ScriptVerb::share,
                     .keys = {"weir:{k}:l"},
                     .arguments = {"x"},
                     .deadline_at = calls.store.steady() + std::chrono::milliseconds{5}},
                    [](StoreReply&&) {});
  EXPECT_GT(calls.store.count("FCALL"), 0u);
}

// ---- Either way to the scripts ----

class EitherWay : public testing::TestWithParam<Loaded> {
 protected:
  bool is_load(const Words& words) const { return words[0] == "FUNCTION" || words[0] == "SCRIPT"; }
};

TEST_P(EitherWay, ManyWhoMissTheScriptHaveItLoadedOnce) {
  Calls calls(GetParam());
  calls.take();
  calls.store.flush();
  calls.store.fate = [&](const Words& words) {
    return is_load(words) ? Fate::held : Fate::answered;
  };
  const std::size_t loads_before = calls.caller.loads();
  for (int call = 0; call < 50; ++call) calls.take();
  EXPECT_EQ(calls.replies.size(), 1u);  // of before
  EXPECT_EQ(calls.store.held(), 1u);
  calls.store.release();
  calls.expect_granted(51);
  EXPECT_EQ(calls.caller.loads() - loads_before, 1u);
}

TEST_P(EitherWay, AFlushNowAndThenIsNoErrorToCallers) {
  Calls calls(GetParam());
  for (int call = 0; call < 1000; ++call) {
    if (call % 10 == 0) calls.store.flush();
    calls.take();
  }
  calls.expect_granted(1000);
  EXPECT_LE(calls.caller.loads(), 101u);
}

TEST_P(EitherWay, AFlushBetweenEveryTwoCommandsEndsWithinTheTries) {
  Calls calls(GetParam());
  calls.store.fate = [&](const Words&) {
    calls.store.forget();
    return Fate::answered;
  };
  calls.take();
  ASSERT_EQ(calls.replies.size(), 1u);
  if (GetParam() == Loaded::scripts) {
    calls.expect_granted(1);  // by EVAL, which brings the script along
    EXPECT_EQ(calls.store.count("EVAL"), 1u);
  } else {
    EXPECT_EQ(calls.replies[0].outcome, CallOutcome::not_sent);
    EXPECT_EQ(calls.store.count("FCALL"), static_cast<std::size_t>(ScriptCaller::most_tries));
  }
}

TEST_P(EitherWay, EachNodeOfAClusterIsGivenTheScript) {
  Calls calls(GetParam());
  calls.store.nodes = 3;
  for (int call = 0; call < 300; ++call) calls.take("weir:{" + std::to_string(call) + "}:l");
  calls.expect_granted(300);
  EXPECT_EQ(calls.caller.loads(), 3u);
}

TEST_P(EitherWay, TooManyWhoWaitAreTurnedAwayUnsent) {
  Calls calls(GetParam());
  calls.store.fate = [&](const Words& words) {
    return is_load(words) ? Fate::held : Fate::answered;
  };
  for (std::size_t call = 0; call < ScriptCaller::most_waiting + 3; ++call) calls.take();
  ASSERT_EQ(calls.replies.size(), 2u);
  for (const StoreReply& reply : calls.replies) EXPECT_EQ(reply.outcome, CallOutcome::not_sent);
  calls.replies.clear();
  calls.store.release();
  calls.expect_granted(ScriptCaller::most_waiting + 1);
}

TEST_P(EitherWay, WhoHasNoTimeLeftAfterTheLoadDidNotRun) {
  Calls calls(GetParam());
  calls.store.fate = [&](const Words& words) {
    return is_load(words) ? Fate::held : Fate::answered;
  };
  calls.take();
  calls.take();
  calls.store.pass(std::chrono::milliseconds{5});
  const std::size_t before = calls.store.calls();
  calls.store.release();
  ASSERT_EQ(calls.replies.size(), 2u);
  for (const StoreReply& reply : calls.replies) EXPECT_EQ(reply.outcome, CallOutcome::not_sent);
  EXPECT_EQ(calls.store.calls(), before);
}

TEST_P(EitherWay, NobodyWaitsForALoadThatMayEndAfterHisOwnDeadline) {
  Calls calls(GetParam());
  calls.take();
  calls.store.flush();
  calls.store.fate = [&](const Words& words) {
    return is_load(words) ? Fate::held : Fate::answered_late;
  };
  calls.take();
  calls.store.pass(std::chrono::milliseconds{4});
  calls.store.fate = [&](const Words& words) {
    return is_load(words) ? Fate::held : Fate::answered;
  };
  calls.take();  // finds first that the script is gone, and loads it
  ASSERT_EQ(calls.store.held(), 2u);
  calls.store.release_first();
  EXPECT_EQ(calls.store.held(), 2u);
  calls.store.release();
  calls.expect_granted(3);
}

TEST_P(EitherWay, ALoadThatFailsIsTheLoadersTroubleAndTheOthersTryAgain) {
  Calls calls(GetParam());
  bool first = true;
  calls.store.fate = [&](const Words& words) {
    if (!is_load(words)) return Fate::answered;
    return std::exchange(first, false) ? Fate::held : Fate::answered;
  };
  calls.take();
  calls.take();
  calls.store.release_as({CallOutcome::indeterminate, StoreReply::Kind::none, {}, "gone"});
  ASSERT_EQ(calls.replies.size(), 2u);
  EXPECT_EQ(calls.replies[0].outcome, CallOutcome::not_sent);  // its own call never left
  EXPECT_EQ(calls.replies[1].outcome, CallOutcome::answered);
}

TEST_P(EitherWay, WhatMayHaveRunIsNeverAskedAgain) {
  for (const Fate fate : {Fate::lost, Fate::broken_off}) {
    Calls calls(GetParam());
    calls.take();
    const std::size_t before = calls.store.calls();
    calls.store.fate = [&](const Words&) { return fate; };
    calls.take();
    EXPECT_EQ(calls.store.calls(), before + 1);
    EXPECT_NE(calls.replies.back().outcome, CallOutcome::answered);
  }
}

INSTANTIATE_TEST_SUITE_P(Loaded, EitherWay, testing::Values(Loaded::library, Loaded::scripts));

}  // namespace
}  // namespace weir::redis
