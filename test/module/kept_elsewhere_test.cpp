// What a replica, the log, a snapshot and another server hold of the module's keys, under a clock
// that goes in steps and back.
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "test/module/real_server.hpp"

namespace weir::module {
namespace {

const Instant noon{std::chrono::seconds{1'750'000'000}};

constexpr const char* limits[] = {"5/1s",
                                  "3/7ms burst 4",
                                  "leaky-bucket 7/3ms queue 20",
                                  "fixed-window 50/1m",
                                  "sliding-window 6/70ms parts 3",
                                  "sliding-log 40/1m",
                                  "calendar-window 50/minute zone Asia/Kathmandu",
                                  "5/1m block 30s",
                                  "fixed-window 4/1h & sliding-log 10/5m",
                                  "@login"};
constexpr const char* permits = "concurrency 3/30s";

/// Requests of every kind for a few keys; what was granted is given back now and then.
class Requests {
 public:
  Requests(RealServer& server, redis::ClockFile& clock, std::uint64_t seed)
      : server_(server), clock_(clock), random_(seed) {}

  Instant now() const { return now_; }

  void run(int count) {
    for (int at = 0; at < count; ++at) {
      step_clock();
      const Words command = next();
      const wire::Reply reply = server_.run(command);
      ASSERT_NE(reply.type, wire::ReplyType::error) << command[0] << ": " << reply.text;
      remember(command, reply);
    }
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  std::string number(std::size_t end) { return std::to_string(1 + below(end)); }
  std::string key() { return below(8) == 0 ? std::string("\0\xff{a}%\r\n", 8) : "k" + number(12); }

  void step_clock() {
    const std::size_t kind = below(40);
    if (kind == 0) now_ += std::chrono::seconds(below(90));
    if (kind == 1) now_ -= std::chrono::seconds(below(60));
    if (kind > 20) now_ += Span{static_cast<std::int64_t>(below(30'000))};
    clock_.set(now_);
  }

  Words next() {
    const std::string limit = limits[below(std::size(limits))];
    switch (below(12)) {
      case 0: return {"CL.THROTTLE", "cell" + number(9), "15", "30", "60", number(4)};
      case 1: return {"CL.THROTTLE", "cell" + number(9), "15", "30", "60", "-1"};
      case 2: return {"WEIR.ENTER", key(), permits};
      case 3: return {"WEIR.TAKEALL", "2", key(), key(), limit, "8/1m", "COST", "1"};
      case 4: return {"WEIR.REFUND", key(), limit, number(3)};
      case 5: return below(4) == 0 ? Words{"WEIR.RESET", key(), limit} : granted("WEIR.CANCEL");
      case 6: return granted("WEIR.LEAVE");
      case 7: return granted("WEIR.RENEW");
      case 8: return {"WEIR.PEEK", key(), limit};
      default: return {"WEIR.TAKE", key(), limit, "COST", number(4), "PATIENCE", number(300)};
    }
  }

  /// The verb on what was granted last; a peek where nothing was.
  Words granted(const std::string& verb) {
    const Words& last = verb == "WEIR.CANCEL" ? grant_ : permit_;
    if (last.empty()) return {"WEIR.PEEK", "k1", "5/1s"};
    return {verb, last[0], last[1], last[2]};
  }

  void remember(const Words& command, const wire::Reply& reply) {
    const wire::Reply* const grant = reply.field("grant");
    if (command[0] == "WEIR.TAKE" && grant && !grant->text.empty()) {
      grant_ = {command[1], command[2], grant->text};
    }
    const wire::Reply* const permit = reply.field("permit");
    if (permit && !permit->text.empty()) permit_ = {command[1], command[2], permit->text};
  }

  RealServer& server_;
  redis::ClockFile& clock_;
  std::mt19937_64 random_;
  Instant now_ = noon;
  Words grant_;
  Words permit_;
};

wire::RedisServer::Extras extras(const Words& arguments = {}) {
  return with_module({"login=5/1m"}, arguments);
}

class KeptElsewhere : public testing::Test {
 protected:
  KeptElsewhere() { clock_.set(noon); }

  /// Asks a server, and tells what that then keeps: some of each kind.
  Contents ask(RealServer& server, int count = 1'500) {
    Requests requests(server, clock_, 7);
    requests.run(count);
    Contents contents = server.contents();
    EXPECT_GT(contents.size(), 15u);  // what expired before a step back may be gone
    EXPECT_EQ(server.immortal_keys(), Words{});
    return contents;
  }

  static void expect_same_answers(RealServer& one, RealServer& other) {
    for (int at = 1; at <= 12; ++at) {
      for (const char* limit : limits) {
        const Words peek{"WEIR.PEEK", "k" + std::to_string(at), limit};
        EXPECT_EQ(one.run(peek), other.run(peek)) << limit;
      }
    }
  }

  redis::ClockFile clock_;
};

TEST_F(KeptElsewhere, AReplicaOfAnotherClockHoldsTheSameBytesAsLong) {
  RealServer primary(extras({"--repl-diskless-sync-delay", "0"}), clock_);
  redis::ClockFile other_clock;
  other_clock.set(noon - std::chrono::hours(1));
  RealServer replica(extras({"--replicaof", "127.0.0.1 " + std::to_string(primary.port())}),
                     other_clock);
  replica.await_info("replication", "master_link_status:up");
  Requests requests(primary, clock_, 11);
  for (int round = 0; round < 4; ++round) {
    requests.run(500);
    ASSERT_EQ(primary.run({"WAIT", "1", "0"}).integer, 1);
    other_clock.set(requests.now());
    const Contents contents = primary.contents();
    EXPECT_GT(contents.size(), 10u);
    EXPECT_EQ(replica.contents(), contents);
    expect_same_answers(primary, replica);
    EXPECT_EQ(replica.text({"WEIR.TAKE", "k1", "5/1s"}).substr(0, 8), "READONLY");
    EXPECT_EQ(replica.text({"CL.THROTTLE", "k1", "15", "30", "60"}).substr(0, 8), "READONLY");
    other_clock.set(requests.now() - std::chrono::hours(1));
  }
}

TEST_F(KeptElsewhere, TheLogReplayedGivesTheSame) {
  RealServer server(extras({"--appendonly", "yes", "--appendfsync", "always"}), clock_);
  const Contents contents = ask(server);
  server.restart();
  EXPECT_EQ(server.contents(), contents);
}

TEST_F(KeptElsewhere, TheLogRewrittenGivesTheSame) {
  RealServer server(
      extras({"--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no"}),
      clock_);
  const Contents contents = ask(server);
  server.run({"BGREWRITEAOF"});
  server.await_info("persistence", "aof_rewrites:1");
  server.await_info("persistence", "aof_rewrite_in_progress:0");
  server.await_info("persistence", "aof_last_bgrewrite_status:ok");
  server.restart();
  EXPECT_EQ(server.contents(), contents);
}

TEST_F(KeptElsewhere, ASnapshotLoadedGivesTheSame) {
  RealServer server(extras(), clock_);
  const Contents contents = ask(server);
  ASSERT_EQ(server.text({"SAVE"}), "OK");
  server.restart();
  EXPECT_EQ(server.contents(), contents);
}

TEST_F(KeptElsewhere, DumpedAndRestoredIsTheSame) {
  RealServer from(extras(), clock_);
  RealServer to(extras(), clock_);
  const Contents contents = ask(from);
  for (const auto& [key, kept] : contents) {
    const std::string dumped = from.text({"DUMP", key});
    EXPECT_EQ(to.text({"RESTORE", key, std::to_string(kept.until_ms), dumped, "ABSTTL"}), "OK");
  }
  EXPECT_EQ(to.contents(), contents);
  expect_same_answers(from, to);
}

TEST_F(KeptElsewhere, MigratedIsTheSame) {
  RealServer from(extras(), clock_);
  RealServer to(extras(), clock_);
  const Contents contents = ask(from);
  for (const auto& [key, kept] : contents) {
    EXPECT_EQ(from.text({"MIGRATE", "127.0.0.1", std::to_string(to.port()), key, "0", "10000"}),
              "OK");
  }
  EXPECT_EQ(to.contents(), contents);
  EXPECT_EQ(from.contents(), Contents{});
}

}  // namespace
}  // namespace weir::module
