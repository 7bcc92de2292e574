#include "redis/pipeline.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "wire/integer.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;

constexpr SteadyInstant start{1h};

std::string bulk(std::string_view text) {
  std::string bytes = "$";
  bytes += std::to_string(text.size());
  bytes += "\r\n";
  bytes += text;
  bytes += "\r\n";
  return bytes;
}

/// Which call ended how, and with what text: "7 answered hello".
std::string told(const Pipeline::Ended& ended) {
  std::string text = std::to_string(ended.id) + " " + name(ended.outcome);
  if (!ended.reply.text.empty()) text += " " + ended.reply.text;
  return text;
}

std::vector<std::string> told(const std::vector<Pipeline::Ended>& ended) {
  std::vector<std::string> texts;
  for (const auto& one : ended) texts.push_back(told(one));
  return texts;
}

using Told = std::vector<std::string>;

struct RedisPipeline : testing::Test {
  Pipeline pipeline{{.calls = 4, .bytes = 16}};
  std::vector<Pipeline::Ended> ended;
  std::string out;

  bool send(Pipeline::CallId id, SteadyInstant deadline_at = start + 5ms) {
    return pipeline.send({.id = id, .bytes = "PING", .deadline_at = deadline_at});
  }
  Told take_ended() { return told(std::exchange(ended, {})); }
};

TEST_F(RedisPipeline, RepliesGoToCallsInTheirOrder) {
  EXPECT_TRUE(send(1) && send(2) && send(3));
  pipeline.take_output(out);
  EXPECT_EQ(out, "PINGPINGPING");
  EXPECT_EQ(pipeline.hear("+a\r\n-ERR b\r\n+c\r\n", ended).fault, Pipeline::Fault::none);
  EXPECT_EQ(take_ended(), (Told{"1 answered a", "2 answered ERR b", "3 answered c"}));
  EXPECT_EQ(pipeline.in_flight(), 0u);
}

TEST_F(RedisPipeline, ALateReplyIsDroppedAndTheNextFindsItsCall) {
  send(1, start + 5ms);
  pipeline.take_output(out);
  pipeline.expire(start + 5ms - 1ns, ended);
  EXPECT_EQ(take_ended(), Told{});
  pipeline.expire(start + 5ms, ended);
  EXPECT_EQ(take_ended(), Told{"1 timed_out"});
  EXPECT_EQ(pipeline.in_flight(), 1u) << "its place is held until its reply has come";
  send(2, start + 9ms);
  pipeline.take_output(out);
  pipeline.hear("+late\r\n+mine\r\n", ended);
  EXPECT_EQ(take_ended(), Told{"2 answered mine"});
}

TEST_F(RedisPipeline, ACallThatExpiresBeforeItIsTakenIsNeverSent) {
  pipeline.send({.id = 1, .bytes = "one", .deadline_at = start + 9ms});
  pipeline.send({.id = 2, .bytes = "two", .deadline_at = start + 5ms});
  pipeline.send({.id = 3, .bytes = "three", .deadline_at = start + 9ms});
  pipeline.expire(start + 5ms, ended);
  EXPECT_EQ(take_ended(), Told{"2 not_sent"});
  pipeline.take_output(out);
  EXPECT_EQ(out, "onethree");
  pipeline.hear("+1\r\n+3\r\n", ended);
  EXPECT_EQ(take_ended(), (Told{"1 answered 1", "3 answered 3"}));
}

TEST_F(RedisPipeline, ALostConnectionTellsWhatMayHaveRunFromWhatCannot) {
  send(1, start + 1ms);
  send(2);
  pipeline.take_output(out);
  send(3);
  pipeline.expire(start + 1ms, ended);
  take_ended();
  pipeline.lose(ended);
  EXPECT_EQ(take_ended(), (Told{"2 indeterminate", "3 not_sent"}));
  EXPECT_EQ(pipeline.in_flight(), 0u);
  EXPECT_EQ(pipeline.unsent_bytes(), 0u);
}

TEST_F(RedisPipeline, HalfAReplyIsForgottenWithItsConnection) {
  send(1);
  pipeline.take_output(out);
  pipeline.hear("$5\r\nhel", ended);
  pipeline.lose(ended);
  send(2);
  pipeline.take_output(out);
  take_ended();
  pipeline.hear("+mine\r\n", ended);
  EXPECT_EQ(take_ended(), Told{"2 answered mine"});
}

TEST_F(RedisPipeline, CallsAndBytesAreBounded) {
  for (Pipeline::CallId id = 0; id < 4; ++id) EXPECT_TRUE(send(id));
  EXPECT_FALSE(send(9)) << "four calls";
  pipeline.take_output(out);
  pipeline.expire(start + 1s, ended);
  EXPECT_FALSE(send(9)) << "calls past their deadline hold their place";
  pipeline.hear("+\r\n", ended);
  EXPECT_TRUE(pipeline.send({.id = 9, .bytes = std::string(16, 'x')}));
  pipeline.hear("+\r\n", ended);
  EXPECT_FALSE(pipeline.send({.id = 9, .bytes = "x"})) << "16 bytes";
  EXPECT_EQ(pipeline.unsent_bytes(), 16u);
}

TEST_F(RedisPipeline, TheLastReplyOfACallIsItsAnswer) {
  pipeline.send({.id = 1, .bytes = "ASKING GET", .commands = 2, .deadline_at = start + 5ms});
  send(2);
  pipeline.take_output(out);
  pipeline.hear("+OK\r\n", ended);
  EXPECT_EQ(take_ended(), Told{});
  pipeline.hear("+value\r\n+pong\r\n", ended);
  EXPECT_EQ(take_ended(), (Told{"1 answered value", "2 answered pong"}));
}

TEST_F(RedisPipeline, PushesAnswerNobody) {
  send(1);
  pipeline.take_output(out);
  pipeline.hear(">2\r\n+invalidate\r\n*0\r\n+mine\r\n>1\r\n+x\r\n", ended);
  EXPECT_EQ(take_ended(), Told{"1 answered mine"});
}

TEST_F(RedisPipeline, AReplyThatNobodyAskedForIsAFaultThatIsTold) {
  send(1);  // queued, but not sent
  const auto heard = pipeline.hear("-ERR max number of clients reached\r\n", ended);
  EXPECT_EQ(heard.fault, Pipeline::Fault::unasked);
  EXPECT_EQ(heard.unasked.text, "ERR max number of clients reached");
  pipeline.take_output(out);
  EXPECT_EQ(pipeline.hear("+mine\r\n", ended).fault, Pipeline::Fault::unasked) << "it stays";
  pipeline.lose(ended);
  EXPECT_EQ(take_ended(), Told{"1 indeterminate"});
}

TEST_F(RedisPipeline, BytesThatAreNoReplyAreAFaultThatIsTold) {
  send(1);
  send(2);
  pipeline.take_output(out);
  const auto heard = pipeline.hear("+a\r\nHTTP/1.1\r\n", ended);
  EXPECT_EQ(heard.fault, Pipeline::Fault::malformed);
  EXPECT_EQ(heard.reply_fault, wire::ReplyFault::type);
  EXPECT_EQ(take_ended(), Told{"1 answered a"});
}

TEST_F(RedisPipeline, AConnectionThatHangsIsSeenByItsOldestDeadline) {
  EXPECT_FALSE(pipeline.oldest_deadline_at());
  EXPECT_FALSE(pipeline.next_deadline_at());
  send(1, start + 5ms);
  EXPECT_FALSE(pipeline.oldest_deadline_at()) << "not sent yet";
  pipeline.take_output(out);
  send(2, start + 3ms);
  EXPECT_EQ(pipeline.oldest_deadline_at(), start + 5ms);
  EXPECT_EQ(pipeline.next_deadline_at(), start + 3ms);
  pipeline.expire(start + 1h, ended);
  EXPECT_EQ(pipeline.oldest_deadline_at(), start + 5ms) << "until its reply comes";
  EXPECT_FALSE(pipeline.next_deadline_at());
}

TEST_F(RedisPipeline, TheOldestCallIsTheOldestHoweverManyCameBefore) {
  for (Pipeline::CallId id = 1; id <= 50; ++id) {
    const SteadyInstant deadline_at = start + std::chrono::milliseconds{id};
    EXPECT_TRUE(send(id, deadline_at));
    pipeline.take_output(out);
    EXPECT_EQ(pipeline.oldest_deadline_at(), deadline_at);
    pipeline.hear("+x\r\n", ended);
    EXPECT_EQ(take_ended(), Told{std::to_string(id) + " answered x"});
  }
}

/// How four calls end whose replies come in three pieces, cut at these two places.
Told ends_in_pieces(std::string_view replies, std::size_t first, std::size_t second) {
  Pipeline pipeline;
  std::vector<Pipeline::Ended> ended;
  std::string out;
  for (Pipeline::CallId id = 1; id <= 4; ++id) pipeline.send({.id = id, .bytes = "x"});
  pipeline.take_output(out);
  pipeline.hear(replies.substr(0, first), ended);
  pipeline.hear(replies.substr(first, second - first), ended);
  pipeline.hear(replies.substr(second), ended);
  EXPECT_EQ(pipeline.in_flight(), 0u);
  return told(ended);
}

TEST(RedisPipelineLaw, HoweverRepliesAreSplitTheSameCallsEnd) {
  const std::string replies =
      "+OK\r\n$5\r\nhello\r\n>2\r\n+a\r\n:1\r\n-MOVED 1 a:1\r\n*2\r\n:1\r\n$-1\r\n";
  const Told whole = ends_in_pieces(replies, 0, 0);
  EXPECT_EQ(whole,
            (Told{"1 answered OK", "2 answered hello", "3 answered MOVED 1 a:1", "4 answered"}));
  for (std::size_t first = 0; first <= replies.size(); ++first) {
    for (std::size_t second = first; second <= replies.size(); ++second) {
      EXPECT_EQ(ends_in_pieces(replies, first, second), whole) << first << ", " << second;
    }
  }
}

/// A server that echoes, and a network that splits and tears: every call has a name of its own, so
/// that a reply which reaches another is seen.
class Schedule {
 public:
  explicit Schedule(std::uint64_t seed) : random_(seed) {}

  void run() {
    for (int step = 0; step < 2000; ++step) {
      switch (below(12)) {
        case 0:
        case 1:
        case 2:
        case 3: send(); break;
        case 4:
        case 5: take(); break;
        case 6:
        case 7: serve(); break;
        case 8:
        case 9: deliver(); break;
        case 10: pass_time(); break;
        default:
          if (below(8) == 0) lose();
      }
      ASSERT_LE(pipeline_.in_flight(), most_calls);
      ASSERT_LE(pipeline_.unsent_bytes(), most_bytes);
      if (testing::Test::HasFailure()) return;
    }
    lose();
    for (const auto& [id, call] : calls_) EXPECT_EQ(call.ends, 1) << "call " << id;
  }

  std::map<CallOutcome, int> outcomes;
  int refused = 0;

 private:
  static constexpr std::size_t most_calls = 12;
  static constexpr std::size_t most_bytes = 60;

  struct Sent {
    SteadyInstant deadline_at;
    std::uint32_t commands;
    int ends = 0;
    bool not_sent = false;
  };

  std::size_t below(std::size_t end) { return random_() % end; }

  void send() {
    const Pipeline::CallId id = ++last_;
    const auto commands = static_cast<std::uint32_t>(1 + below(2));
    std::string line = std::to_string(id) + "\n";
    if (commands == 2) line = "ASKING\n" + line;
    const SteadyInstant deadline_at = now_ + std::chrono::milliseconds{1 + below(6)};
    if (pipeline_.send({id, line, commands, deadline_at})) {
      calls_[id] = {deadline_at, commands};
    } else {
      ++refused;
    }
  }
  void take() {
    pipeline_.take_output(out_);
    to_server_ += out_;
  }
  void serve() {
    const std::size_t end = to_server_.find('\n');
    if (end == std::string::npos) return;
    const std::string line = to_server_.substr(0, end);
    to_server_.erase(0, end + 1);
    if (line != "ASKING") {
      const auto& call = calls_.at(static_cast<Pipeline::CallId>(*wire::strict_integer(line)));
      EXPECT_FALSE(call.not_sent) << "call " << line << " ran, and was said not to";
    }
    if (below(5) == 0) to_client_ += ">1\r\n" + bulk("push");
    to_client_ += bulk(line);
  }
  void deliver() {
    const std::size_t bytes = below(to_client_.size() + 1);
    const auto heard = pipeline_.hear(to_client_.substr(0, bytes), ended_);
    EXPECT_EQ(heard.fault, Pipeline::Fault::none);
    to_client_.erase(0, bytes);
    collect();
  }
  void pass_time() {
    now_ += std::chrono::milliseconds{below(4)};
    const auto next = pipeline_.next_deadline_at();
    pipeline_.expire(now_, ended_);
    if (!ended_.empty()) {
      EXPECT_TRUE(next && *next <= now_) << "never late";
    }
    collect();
    for (const auto& [id, call] : calls_) {
      if (call.deadline_at > now_) continue;
      EXPECT_EQ(call.ends, 1) << "call " << id << " waits on";
    }
  }
  void lose() {
    pipeline_.lose(ended_);
    collect();
    // The server may still run what it has; nobody hears of it.
    while (to_server_.find('\n') != std::string::npos) serve();
    to_server_.clear();
    to_client_.clear();
  }
  void collect() {
    for (const auto& one : ended_) {
      Sent& call = calls_.at(one.id);
      EXPECT_EQ(++call.ends, 1) << "call " << one.id;
      call.not_sent = one.outcome == CallOutcome::not_sent;
      ++outcomes[one.outcome];
      if (one.outcome != CallOutcome::answered) continue;
      EXPECT_EQ(one.reply.text, std::to_string(one.id)) << "the reply to another";
    }
    ended_.clear();
  }

  std::mt19937_64 random_;
  Pipeline pipeline_{{.calls = most_calls, .bytes = most_bytes}};
  std::map<Pipeline::CallId, Sent> calls_;
  std::vector<Pipeline::Ended> ended_;
  std::string out_;
  std::string to_server_;
  std::string to_client_;
  Pipeline::CallId last_ = 0;
  SteadyInstant now_ = start;
};

TEST(RedisPipelineLaw, EveryCallEndsOnceAndNeverByTheReplyToAnother) {
  std::map<CallOutcome, int> outcomes;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Schedule schedule(seed);
    schedule.run();
    for (const auto& [outcome, count] : schedule.outcomes) outcomes[outcome] += count;
    refused += schedule.refused;
    if (HasFailure()) return;
  }
  for (const auto outcome : {CallOutcome::answered, CallOutcome::timed_out, CallOutcome::not_sent,
                             CallOutcome::indeterminate}) {
    EXPECT_GT(outcomes[outcome], 100) << name(outcome) << ": the schedules show nothing of it";
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace weir::redis
