#include <gmock/gmock.h>

#include "test/server/commands/command_runner.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using wire::Reply;
using wire::ReplyType;

std::string text(const Reply& reply, std::string_view field) {
  const Reply* found = reply.field(field);
  return found ? found->text : "no such field";
}

std::int64_t number(const Reply& reply, std::string_view field) {
  const Reply* found = reply.field(field);
  return found ? found->integer : -999;
}

TEST(ClThrottle, AnswersAsRedisCellsManualShows) {
  CommandRunner server;
  EXPECT_THAT(server.integers("CL.THROTTLE alice 15 30 60"), ElementsAre(0, 16, 15, -1, 2));
  EXPECT_THAT(server.integers("cl.throttle alice 15 30 60 1"), ElementsAre(0, 16, 14, -1, 4));
}

TEST(ClThrottle, KeepsTheInstantWhenTheParametersChange) {
  CommandRunner server;
  EXPECT_THAT(server.integers("CL.THROTTLE k 9 10 10 10"), ElementsAre(0, 10, 0, -1, 10));
  EXPECT_THAT(server.integers("CL.THROTTLE k 4 10 10"), ElementsAre(1, 5, 0, 6, 10));
  EXPECT_THAT(server.integers("CL.THROTTLE k 19 10 10"), ElementsAre(0, 20, 9, -1, 11));
}

TEST(ClThrottle, JudgesEachCallByItsOwnNumbers) {
  CommandRunner server;
  EXPECT_THAT(server.error("CL.THROTTLE k 0 0 0"), HasSubstr("count and period"));
  EXPECT_THAT(server.integers("CL.THROTTLE k 1 1 10"), ElementsAre(0, 2, 1, -1, 10));
  EXPECT_THAT(server.error("CL.THROTTLE k -1 1 10"), HasSubstr("max_burst"));
  EXPECT_THAT(server.integers("CL.THROTTLE k 1 1 10"), ElementsAre(0, 2, 0, -1, 20));
  EXPECT_THAT(server.integers("CL.THROTTLE k 2 1 10"), ElementsAre(0, 3, 0, -1, 30));
  EXPECT_THAT(server.error("CL.THROTTLE k 2 1 10 -4611686018427387904"), HasSubstr("gives back"));
  EXPECT_THAT(server.integers("CL.THROTTLE k 2 1 20 0"), ElementsAre(0, 3, 1, -1, 30));
}

TEST(ClThrottle, APeekOfAFreshKeyKeepsNothing) {
  CommandRunner server;
  EXPECT_THAT(server.integers("CL.THROTTLE k 4 1 10 0"), ElementsAre(0, 5, 5, -1, 0));
  EXPECT_EQ(server.service().table.stats().keys, 0U);
}

TEST(ClThrottle, ARefundPastFullIsClampedAndLeavesNothingImmortal) {
  CommandRunner server;
  for (int call = 0; call < 5; ++call) server.run("CL.THROTTLE k 4 1 10");
  EXPECT_THAT(server.integers("CL.THROTTLE k 4 1 10 -3"), ElementsAre(0, 5, 3, -1, 20));
  EXPECT_THAT(server.integers("CL.THROTTLE k 4 1 10 -9"), ElementsAre(0, 5, 5, -1, 0));
  EXPECT_THAT(server.integers("CL.THROTTLE never-seen 4 1 10 -9"), ElementsAre(0, 5, 5, -1, 0));
  server.now += 1s;
  server.service().table.sweep(server.now, 1 << 16);
  EXPECT_EQ(server.service().table.stats().keys, 0U);
}

TEST(ClThrottle, RemainingNeverExceedsTheLimitAtHighRates) {
  CommandRunner server;
  EXPECT_THAT(server.integers("CL.THROTTLE k 6000 6000 1"), ElementsAre(0, 6001, 6000, -1, 0));
  EXPECT_THAT(server.integers("CL.THROTTLE k2 9 1000000000 1"), ElementsAre(0, 10, 9, -1, 0));
}

TEST(ClThrottle, RefusesWhatItCannotKeepExactly) {
  CommandRunner server;
  const auto error = [&](std::string_view arguments) {
    return server.error("CL.THROTTLE k " + std::string(arguments));
  };
  EXPECT_THAT(error("9223372036854775807 1 1"), HasSubstr("146 years"));
  EXPECT_THAT(error("153722867 1 60"), HasSubstr("146 years"));
  EXPECT_THAT(error("10 1 9223372036"), HasSubstr("146 years"));
  EXPECT_THAT(error("4 1 10 -9223372036854775808"), HasSubstr("quantity gives back more"));
  EXPECT_THAT(error("-1 1 1"), HasSubstr("max_burst must be 0 or more"));
  EXPECT_THAT(error("1 0 1"), HasSubstr("count and period must be 1 or more"));
  EXPECT_THAT(error("1 1 -1"), HasSubstr("count and period must be 1 or more"));
  EXPECT_THAT(error("1 1000000001 1"), HasSubstr("1000000000 a second"));
  EXPECT_THAT(error("1.5 1 1"), HasSubstr("max_burst must be an integer"));
  EXPECT_THAT(error("1 0x10 1"), HasSubstr("count must be an integer"));
  EXPECT_THAT(error("1 1 9223372036854775808"), HasSubstr("period must be an integer"));
  EXPECT_THAT(error("1 1 1 ''"), HasSubstr("quantity must be an integer"));
  EXPECT_THAT(error("1 1"), HasSubstr("usage: CL.THROTTLE key max_burst count period"));
  EXPECT_THAT(error("1 1 1 1 1"), HasSubstr("usage: CL.THROTTLE key max_burst count period"));
  EXPECT_EQ(server.service().table.stats().keys, 0U);
}

TEST(ClThrottle, AQuantityAboveTheLimitIsNeverGranted) {
  CommandRunner server;
  EXPECT_THAT(server.integers("CL.THROTTLE k 4 1 10 6"), ElementsAre(1, 5, 5, -1, 0));
  EXPECT_THAT(server.integers("CL.THROTTLE k 4 1 10 9223372036854775807"),
              ElementsAre(1, 5, 5, -1, 0));
}

TEST(WeirTake, TellsTheWholeDecision) {
  CommandRunner server;
  const Reply granted = server.run("WEIR.TAKE alice 2/1s");
  EXPECT_EQ(text(granted, "verdict"), "granted");
  EXPECT_EQ(number(granted, "limit"), 2);
  EXPECT_EQ(number(granted, "remaining"), 1);
  EXPECT_EQ(number(granted, "retry_after_us"), 0);
  EXPECT_EQ(number(granted, "ready_after_us"), 0);
  EXPECT_EQ(number(granted, "reset_after_us"), 500'000);

  const Reply impossible = server.run("WEIR.TAKE alice 2/1s COST 3");
  EXPECT_EQ(text(impossible, "verdict"), "impossible");
  EXPECT_EQ(number(impossible, "retry_after_us"), -1);
  EXPECT_EQ(number(impossible, "ready_after_us"), -1);
  EXPECT_EQ(impossible.field("grant")->type, ReplyType::null);

  server.run("WEIR.TAKE alice 2/1s");
  const Reply denied = server.run("WEIR.TAKE alice 2/1s");
  EXPECT_EQ(text(denied, "verdict"), "denied");
  EXPECT_EQ(number(denied, "retry_after_us"), 500'000);

  const Reply deferred = server.run("WEIR.TAKE alice 2/1s PATIENCE 500");
  EXPECT_EQ(text(deferred, "verdict"), "deferred");
  EXPECT_EQ(number(deferred, "retry_after_us"), 0);
  EXPECT_EQ(number(deferred, "ready_after_us"), 500'000);
}

TEST(WeirTake, IsAMapInResp3AndPairsInResp2) {
  CommandRunner server;
  EXPECT_THAT(server.bytes("WEIR.TAKE a 2/1s"), HasSubstr("*14\r\n$7\r\nverdict\r\n"));
  server.run("HELLO 3");
  EXPECT_THAT(server.bytes("WEIR.TAKE a 2/1s"), HasSubstr("%7\r\n$7\r\nverdict\r\n"));
}

TEST(WeirTake, NamesTheColumnOfABadLimit) {
  CommandRunner server;
  EXPECT_EQ(server.error("WEIR.TAKE a 5/x"),
            "ERR limit: column 3: expected a period such as s, 10s, 1m, 1h or 1d, got 'x'");
  EXPECT_THAT(server.error("WEIR.TAKE a '5/s initial 0'"), HasSubstr("column 5: initial is for"));
  EXPECT_THAT(server.error("WEIR.TAKE a @nobody"), HasSubstr("no limit has this name"));
  EXPECT_THAT(server.error("WEIR.TAKE a 5/s COST -1"),
              HasSubstr("COST must be between 0 and 2^50"));
  EXPECT_THAT(server.error("WEIR.TAKE a 5/s COST"), HasSubstr("usage: WEIR.TAKE"));
  EXPECT_THAT(server.error("WEIR.TAKE a 5/s HURRY 1"), HasSubstr("unknown option; usage"));
  EXPECT_THAT(server.error("WEIR.TAKE a 5/s PATIENCE 99999999999999"), HasSubstr("PATIENCE must"));
}

TEST(WeirTake, ANamedLimitHasStatesOfItsOwn) {
  CommandRunner server(Named{{"login", "1/1m"}});
  EXPECT_EQ(text(server.run("WEIR.TAKE alice @login"), "verdict"), "granted");
  EXPECT_EQ(text(server.run("WEIR.TAKE alice @login"), "verdict"), "denied");
  EXPECT_EQ(text(server.run("WEIR.TAKE alice 1/1m"), "verdict"), "granted");
  EXPECT_THAT(server.integers("CL.THROTTLE alice 0 1 60"), ElementsAre(0, 1, 0, -1, 60));
}

TEST(WeirTake, EveryTextOfOneLimitMeansTheSameState) {
  CommandRunner server;
  EXPECT_EQ(number(server.run("WEIR.TAKE a 10/s"), "remaining"), 9);
  EXPECT_EQ(number(server.run("WEIR.TAKE a 'gcra 10 / 1000ms burst 10'"), "remaining"), 8);
}

TEST(WeirPeek, ChangesNothing) {
  CommandRunner server;
  server.run("WEIR.TAKE a 3/1s");
  for (int call = 0; call < 3; ++call) {
    const Reply peek = server.run("WEIR.PEEK a 3/1s COST 2");
    EXPECT_EQ(text(peek, "verdict"), "granted");
    EXPECT_EQ(number(peek, "remaining"), 2);
  }
  EXPECT_EQ(text(server.run("WEIR.PEEK a 3/1s COST 3"), "verdict"), "denied");
}

TEST(WeirTakeAll, TakesFromAllKeysOrNone) {
  CommandRunner server;
  const Reply taken = server.run("WEIR.TAKEALL 2 user org 2/1s 3/1s COSTS 1 2");
  EXPECT_EQ(text(taken, "verdict"), "granted");
  EXPECT_EQ(number(taken, "atomic"), 1);
  EXPECT_EQ(taken.field("grant")->elements.size(), 2U);
  const Reply denied = server.run("WEIR.TAKEALL 2 user org 2/1s 3/1s COST 2");
  EXPECT_EQ(text(denied, "verdict"), "denied");
  EXPECT_EQ(text(denied, "key"), "user");
  EXPECT_EQ(number(server.run("WEIR.PEEK user 2/1s"), "remaining"), 1);
  EXPECT_EQ(number(server.run("WEIR.PEEK org 3/1s"), "remaining"), 1);
}

TEST(WeirTakeAll, AKeyNamedTwicePaysForBoth) {
  CommandRunner server;
  EXPECT_EQ(text(server.run("WEIR.TAKEALL 2 a a 3/1s 3/1s COST 2"), "verdict"), "impossible");
  EXPECT_EQ(text(server.run("WEIR.TAKEALL 2 a a 3/1s 3/1s COSTS 1 2"), "verdict"), "granted");
  EXPECT_EQ(number(server.run("WEIR.PEEK a 3/1s"), "remaining"), 0);
}

TEST(WeirTakeAll, SaysWhatIsWrongWithItsArguments) {
  CommandRunner server;
  EXPECT_THAT(server.error("WEIR.TAKEALL 0 a 1/s"), HasSubstr("numkeys must be between 1 and 16"));
  EXPECT_THAT(server.error("WEIR.TAKEALL 17 a 1/s"), HasSubstr("numkeys must be between 1 and 16"));
  EXPECT_THAT(server.error("WEIR.TAKEALL x a 1/s"), HasSubstr("numkeys must be an integer"));
  EXPECT_THAT(server.error("WEIR.TAKEALL 2 a b 1/s"), HasSubstr("usage: WEIR.TAKEALL"));
  EXPECT_THAT(server.error("WEIR.TAKEALL 2 a b 1/s 1/s COSTS 1"), HasSubstr("usage: WEIR.TAKEALL"));
  EXPECT_THAT(server.error("WEIR.TAKEALL 1 a 1/s COST x"), HasSubstr("COST must be an integer"));
}

TEST(WeirCancel, GivesADeferredGrantBackOnce) {
  CommandRunner server;
  server.run("WEIR.TAKE a 1/1s");
  const std::string grant = text(server.run("WEIR.TAKE a 1/1s PATIENCE 5000"), "grant");
  EXPECT_EQ(server.run("WEIR.CANCEL a 1/1s " + grant).integer, 1);
  EXPECT_EQ(server.run("WEIR.CANCEL a 1/1s " + grant).integer, 0);
  EXPECT_EQ(number(server.run("WEIR.TAKE a 1/1s PATIENCE 5000"), "ready_after_us"), 1'000'000);
}

TEST(WeirCancel, IsTooLateAfterTheGrantsInstant) {
  CommandRunner server;
  server.run("WEIR.TAKE a 1/1s");
  const std::string grant = text(server.run("WEIR.TAKE a 1/1s PATIENCE 5000"), "grant");
  server.now += 1'000'001us;
  EXPECT_EQ(server.run("WEIR.CANCEL a 1/1s " + grant).integer, 0);
}

TEST(WeirCancel, RefusesWhatIsNoGrant) {
  CommandRunner server;
  for (const char* grant :
       {"x", "1", "1.1", "1.1.1", "1.1.1.0", "0.1.1.0.1.0", "1.-1.1.0.1.0", "1.9.1.0.1.0",
        "1.1.1.0.1.0.1", "1.1.1.0.1.-1", "1.1.1.2.1.0", "9999999999999999999.1.1.0.1.1"}) {
    EXPECT_THAT(server.error("WEIR.CANCEL a 1/1s " + std::string(grant)),
                HasSubstr("expected the grant that WEIR.TAKE gave"))
        << grant;
  }
  // A grant of this shape that was never given changes nothing.
  server.run("WEIR.TAKE a 5/1s");
  EXPECT_EQ(server.run("WEIR.CANCEL a 5/1s 1.1.9007199254740991.0.9007199254740991.0").integer, 0);
  EXPECT_EQ(number(server.run("WEIR.PEEK a 5/1s"), "remaining"), 4);
}

TEST(WeirCancel, OfAJointGrantGivesBackOnlyWhereNothingWasGrantedSince) {
  CommandRunner server;
  server.run("WEIR.TAKE slow 1/10s");
  const Reply joint = server.run("WEIR.TAKEALL 2 fast slow 10/1s 1/10s COSTS 2 1 PATIENCE 60000");
  ASSERT_EQ(text(joint, "verdict"), "deferred");
  const auto& grants = joint.field("grant")->elements;
  server.run("WEIR.TAKE fast 10/1s PATIENCE 60000");
  EXPECT_EQ(server.run("WEIR.CANCEL fast 10/1s " + grants[0].text).integer, 0);
  EXPECT_EQ(server.run("WEIR.CANCEL slow 1/10s " + grants[1].text).integer, 1);
}

TEST(WeirCancel, WorksForEveryKindOfTerm) {
  for (const char* limit :
       {"1/1m", "leaky-bucket 1/1m queue 9", "fixed-window 1/1m", "sliding-window 1/1m",
        "sliding-log 1/1m", "1/1m block 1s", "sliding-log 1/1m block 1s",
        "fixed-window 1/1m & 9/1m", "sliding-log 1/1m & sliding-window 2/1m"}) {
    CommandRunner server;
    const std::string subject = std::string(" a '") + limit + "' ";
    server.run("WEIR.TAKE" + subject);
    const Reply deferred = server.run("WEIR.TAKE" + subject + "PATIENCE 200000");
    ASSERT_EQ(text(deferred, "verdict"), "deferred") << limit;
    EXPECT_EQ(server.run("WEIR.CANCEL" + subject + text(deferred, "grant")).integer, 1) << limit;
  }
}

TEST(WeirTakeAll, HasNoGrantForACostOfZero) {
  CommandRunner server;
  const Reply taken = server.run("WEIR.TAKEALL 2 a b 1/1m 1/1m COSTS 0 1");
  const auto& grants = taken.field("grant")->elements;
  ASSERT_EQ(grants.size(), 2U);
  EXPECT_EQ(grants[0].type, ReplyType::null);
  EXPECT_EQ(grants[1].type, ReplyType::bulk);
}

TEST(Del, ForgetsKeysOfClThrottle) {
  CommandRunner server;
  server.run("CL.THROTTLE a 0 1 60");
  server.run("WEIR.TAKE a 1/1m");
  EXPECT_EQ(server.run("DEL a b").integer, 1);
  EXPECT_THAT(server.integers("CL.THROTTLE a 0 1 60"), ElementsAre(0, 1, 0, -1, 60));
  EXPECT_EQ(text(server.run("WEIR.TAKE a 1/1m"), "verdict"), "denied");
}

TEST(WeirRefund, GivesBackNoMoreThanIsOwed) {
  CommandRunner server;
  server.run("WEIR.TAKE a 5/1s COST 4");
  EXPECT_EQ(server.run("WEIR.REFUND a 5/1s 1").integer, 1);
  EXPECT_EQ(server.run("WEIR.REFUND a 5/1s 1125899906842624").integer, 3);
  EXPECT_EQ(server.run("WEIR.REFUND a 5/1s 1").integer, 0);
  EXPECT_EQ(number(server.run("WEIR.PEEK a 5/1s"), "remaining"), 5);
}

TEST(WeirRefund, GivesEachTermWhatItIsOwedThoughAnotherHasLessRoom) {
  CommandRunner server;
  const auto take = [&] { return text(server.run("WEIR.TAKE a '3/1s & 6/1h' COST 3"), "verdict"); };
  EXPECT_EQ(take(), "granted");
  server.now += std::chrono::seconds(1);
  EXPECT_EQ(take(), "granted");
  server.now += std::chrono::seconds(1);
  server.run("WEIR.REFUND a '3/1s & 6/1h' 6");
  EXPECT_EQ(take(), "granted");
  server.now += std::chrono::seconds(1);
  EXPECT_EQ(take(), "granted") << "six were given back under 6/1h, and not the three of 3/1s";
}

TEST(WeirRefund, SpendsAnIdOnceForEachKeyAndLimit) {
  CommandRunner server;
  server.run("WEIR.TAKE a 5/1s COST 4");
  server.run("WEIR.TAKE b 5/1s COST 4");
  EXPECT_EQ(server.run("WEIR.REFUND a 5/1s 1 ID job-7").integer, 1);
  EXPECT_EQ(server.run("WEIR.REFUND a 5/1s 1 ID job-7").integer, 0);
  EXPECT_EQ(server.run("WEIR.REFUND b 5/1s 1 ID job-7").integer, 1);
  EXPECT_THAT(server.error("WEIR.REFUND a 5/1s 1 IDS x"), HasSubstr("usage: WEIR.REFUND"));
  EXPECT_THAT(server.error("WEIR.REFUND a 5/1s -1"), HasSubstr("n must be between 0 and 2^50"));
}

TEST(WeirReset, ForgetsOneKeyUnderOneLimit) {
  CommandRunner server;
  server.run("WEIR.TAKE a 1/1m");
  EXPECT_EQ(server.run("WEIR.RESET a 2/1m").integer, 0);
  EXPECT_EQ(server.run("WEIR.RESET a 1/1m").integer, 1);
  EXPECT_EQ(server.run("WEIR.RESET a 1/1m").integer, 0);
  EXPECT_EQ(text(server.run("WEIR.TAKE a 1/1m"), "verdict"), "granted");
}

TEST(Limits, ABlockAndACompositeWorkOverTheWire) {
  CommandRunner server;
  EXPECT_EQ(text(server.run("WEIR.TAKE a '1/1s block 10m & 100/1d'"), "verdict"), "granted");
  EXPECT_EQ(number(server.run("WEIR.TAKE a '1/1s block 10m & 100/1d'"), "retry_after_us"),
            600'000'000);
  server.now += 599s;
  EXPECT_EQ(number(server.run("WEIR.TAKE a '1/1s block 10m & 100/1d'"), "retry_after_us"),
            1'000'000);
}

TEST(Limits, DifferentOnesFromRequestsAreBounded) {
  CommandRunner server;
  for (std::size_t count = 1; count <= Rules::most_unnamed; ++count) {
    ASSERT_EQ(server.error("WEIR.PEEK a " + std::to_string(count) + "/1d"), "no error");
  }
  EXPECT_THAT(server.error("WEIR.PEEK a 1M/1d"), HasSubstr("give them names with --limit"));
  EXPECT_EQ(server.error("WEIR.PEEK a 17/1d"), "no error");
}

}  // namespace
}  // namespace weir::test
