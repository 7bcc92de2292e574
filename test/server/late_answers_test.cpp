// Do replies leave in the order of their commands, whenever, wherever and whether their answers
// come?
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "redis/remote_table.hpp"
#include "test/server/client_of_a_worker.hpp"
#include "test/server/scripted_store.hpp"
#include "wire/integer.hpp"

namespace weir::test {
namespace {

using redis::CallOutcome;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// A worker with one client, over a store that the test answers for.
class LateAnswers : public ClientOfAWorker {
 protected:
  LateAnswers() { service_.store = &table_; }

  void TearDown() override {
    ClientOfAWorker::TearDown();
    store_.end_all(ScriptedStore::ended(CallOutcome::indeterminate));
  }

  /// The integers "remaining" of the next replies to TAKE, up to `end`.
  std::vector<std::int64_t> remaining_before(std::string_view end) {
    std::vector<std::int64_t> numbers;
    const std::string text = hear(end);
    constexpr std::string_view name = "remaining\r\n:";
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
      const std::string_view number = std::string_view(text).substr(at + name.size());
      numbers.push_back(*wire::strict_integer(number.substr(0, number.find('\r'))));
    }
    return numbers;
  }

  ScriptedStore store_;
  redis::RemoteTable table_{store_, {.deadline = std::chrono::seconds{30}}};
};

TEST_F(LateAnswers, LeaveInTheOrderOfTheirCommands) {
  say("WEIR.TAKE a 5/1m\r\nPING one\r\nWEIR.TAKE b 5/1m\r\nWEIR.TAKE c 5/1m\r\nPING two\r\n");
  store_.await(3);
  store_.end(2, ScriptedStore::granted(3));
  store_.end(1, ScriptedStore::granted(2));
  EXPECT_TRUE(nothing_came());
  store_.end(0, ScriptedStore::granted(1));
  EXPECT_THAT(remaining_before("one\r\n"), ElementsAre(1));
  EXPECT_THAT(remaining_before("two\r\n"), ElementsAre(2, 3));
}

TEST_F(LateAnswers, AreSentAsSoonAsThoseBeforeThemWhileTheNextCommandsAreRead) {
  say("WEIR.TAKE a 5/1m\r\n");
  store_.await(1);
  say("WEIR.TAKE b 5/1m\r\n");
  store_.await(2);
  store_.end(0, ScriptedStore::granted(4));
  EXPECT_THAT(remaining_before("source\r\n$5\r\nstore\r\n"), ElementsAre(4));
  store_.end(1, ScriptedStore::granted(3));
  EXPECT_THAT(remaining_before("source\r\n$5\r\nstore\r\n"), ElementsAre(3));
}

TEST_F(LateAnswers, MayComeBeforeTheCallReturns) {
  store_.answer_at_once();
  say("WEIR.TAKE a 5/1m\r\nWEIR.TAKE a 5/1m\r\nPING end\r\n");
  EXPECT_THAT(remaining_before("end\r\n"), ElementsAre(1, 1));
}

TEST_F(LateAnswers, OfACallWithoutAnAnswerAreThePolicys) {
  say("WEIR.TAKE a 5/1m\r\nPING end\r\n");
  store_.await(1);
  store_.end(0, ScriptedStore::ended(CallOutcome::timed_out));
  EXPECT_THAT(hear("end\r\n"), HasSubstr("source\r\n$8\r\nfallback\r\n"));
}

TEST_F(LateAnswers, OfExecAreAnArray) {
  say("MULTI\r\nWEIR.TAKE a 5/1m\r\nWEIR.TAKE b 5\r\nWEIR.TAKE b 5/1m\r\nEXEC\r\n");
  say("PING done\r\n");
  store_.await(2);
  store_.end(1, ScriptedStore::granted(2));
  store_.end(0, ScriptedStore::granted(1));
  EXPECT_THAT(hear("*3\r\n"), HasSubstr("+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n"));
  EXPECT_THAT(remaining_before("-ERR limit"), ElementsAre(1));
  EXPECT_THAT(remaining_before("done\r\n"), ElementsAre(2));
}

TEST_F(LateAnswers, ComeBeforeTheEndThatQuitAsksFor) {
  say("WEIR.TAKE a 5/1m\r\nQUIT\r\n");
  store_.await(1);
  store_.end(0, ScriptedStore::granted(4));
  EXPECT_THAT(remaining_before("+OK\r\n"), ElementsAre(4));
  EXPECT_EQ(hear("more"), "[end]");
}

TEST_F(LateAnswers, ReachAClientThatSendsNoMore) {
  say("WEIR.TAKE a 5/1m\r\n");
  store_.await(1);
  ::shutdown(client_, SHUT_WR);
  std::this_thread::yield();
  store_.end(0, ScriptedStore::granted(4));
  EXPECT_THAT(remaining_before("[end]"), ElementsAre(4));
}

TEST_F(LateAnswers, ToAClientThatIsGoneAreDroppedAndCounted) {
  say("WEIR.TAKE a 5/1m\r\nWEIR.TAKE a 5/1m\r\n");
  store_.await(2);
  hang_up();
  store_.end(1, ScriptedStore::granted(3));
  store_.end(0, ScriptedStore::granted(4));
  eventually([&] { return worker_->open() == 0; });
  EXPECT_EQ(service_.metrics.decisions().back().by_verdict[0], 2U);
}

TEST_F(LateAnswers, AreWaitedForByADrain) {
  say("WEIR.TAKE a 5/1m\r\n");
  store_.await(1);
  drain();
  store_.end(0, ScriptedStore::granted(4));
  EXPECT_THAT(remaining_before("[end]"), ElementsAre(4));
}

TEST_F(LateAnswers, ThatAreLostEndTheirConnection) {
  say("WEIR.TAKE a 5/1m\r\n");
  store_.await(1);
  for (int second = 0; second < 15; ++second) worker_->tick();
  EXPECT_EQ(hear("more"), "[end]");
  eventually([&] { return worker_->open() == 0; });
}

TEST_F(LateAnswers, ThatAreLostEndAConnectionThatOnlyWaitsForThem) {
  say("WEIR.TAKE a 5/1m\r\nQUIT\r\n");
  store_.await(1);
  for (int second = 0; second < 15; ++second) worker_->tick();
  EXPECT_EQ(hear("more"), "[end]");
  eventually([&] { return worker_->open() == 0; });
}

TEST_F(LateAnswers, TakeTheirPlaceWhateverTheirVerb) {
  say("WEIR.REFUND a 5/1m 2\r\nCL.THROTTLE t 4 5 60 -1\r\nDEL x y\r\nWEIR.RESET a 5/1m\r\n");
  store_.await(5);
  store_.end(4, ScriptedStore::number(1));
  store_.end(3, ScriptedStore::number(0));
  store_.end(2, ScriptedStore::number(1));
  store_.end(1, ScriptedStore::number(1));
  store_.await(6);  // the peek behind CL.THROTTLE's refund
  EXPECT_THAT(store_.words(5), testing::Contains("weir_1_peek"));
  store_.end(5, ScriptedStore::granted(4));
  store_.end(0, ScriptedStore::number(2));
  EXPECT_EQ(hear(":1\r\n:1\r\n"), ":2\r\n*5\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:12\r\n:1\r\n:1\r\n");
}

TEST_F(LateAnswers, ThatGiveNothingBackAreErrorsWhichSayWhetherItMayHaveCounted) {
  say("WEIR.REFUND a 5/1m 1 ID x\r\nWEIR.REFUND a 5/1m 1 ID y\r\n");
  store_.await(2);
  store_.end(0, ScriptedStore::ended(CallOutcome::not_sent));
  store_.end(1, ScriptedStore::ended(CallOutcome::timed_out));
  EXPECT_THAT(hear("\r\n"), HasSubstr("-ERR store unreachable: nothing was changed"));
  EXPECT_THAT(hear("\r\n"), HasSubstr("-ERR store timed_out: it may have been changed"));
  // An id whose call never ran may be used again; the other may not.
  say("WEIR.REFUND a 5/1m 1 ID y\r\nWEIR.REFUND a 5/1m 1 ID x\r\n");
  store_.await(3);
  store_.end(2, ScriptedStore::number(1));
  EXPECT_EQ(hear(":1\r\n"), ":0\r\n:1\r\n");
}

class FewLateAnswers : public LateAnswers {
 protected:
  FewLateAnswers() { limits_.pipeline = 4; }
};

TEST_F(FewLateAnswers, AreAwaitedAtOnceAndTheRestLaterInTheirOrder) {
  std::string lines;
  for (int each = 0; each < 10; ++each) lines += "WEIR.TAKE a 5/1m\r\n";
  say(lines + "PING end\r\n");
  for (std::size_t call = 0; call < 10; ++call) {
    store_.await(std::min<std::size_t>(10, call + 4));
    EXPECT_LE(store_.calls(), call + 4);
    store_.end(call, ScriptedStore::granted(static_cast<std::int64_t>(call)));
  }
  EXPECT_THAT(remaining_before("end\r\n"), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

class SlowReader : public LateAnswers {
 protected:
  SlowReader() {
    server_sends_ = 1;
    limits_.pipeline = 100;
  }
};

TEST_F(SlowReader, GetsAllAnswersThatCameWhileItDidNotRead) {
  constexpr std::size_t commands = 90;
  std::string lines;
  std::vector<std::int64_t> expected;
  for (std::size_t each = 0; each < commands; ++each) lines += "WEIR.TAKE a 5/1m\r\n";
  say(lines);
  store_.await(commands);
  for (std::size_t call = 0; call < commands; ++call) {
    store_.end(call, ScriptedStore::granted(static_cast<std::int64_t>(call)));
    expected.push_back(static_cast<std::int64_t>(call));
  }
  eventually([&] { return service_.metrics.decisions().back().by_verdict[0] == commands; });
  say("PING end\r\n");
  EXPECT_EQ(remaining_before("end\r\n"), expected);
}

}  // namespace
}  // namespace weir::test
