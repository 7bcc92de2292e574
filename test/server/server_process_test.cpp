// The keeper of child processes, tried on shell scripts that behave as servers do.
#include "test/server/server_process.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace weir::test {
namespace {

using std::chrono::milliseconds;

ServerCommand script(const std::string& text) {
  return {.arguments = {"sh", "-c", text}, .listeners = {"resp", "metrics"}};
}

TEST(AServerProcess, KnowsThePortsThatItsServerAnnounces) {
  ServerProcess server(script(
      "echo starting; echo resp 127.0.0.1:4001; echo metrics 127.0.0.1:4002; exec sleep 60"));
  EXPECT_EQ(server.port("resp"), 4001);
  EXPECT_EQ(server.port("metrics"), 4002);
}

TEST(AServerProcess, ReadsALineOnlyWhenItIsComplete) {
  ServerProcess server(
      script("printf 'metrics 127.0.0.1:1\nresp 127.0.0.1:40'; sleep 0.1; echo 01; exec sleep 60"));
  EXPECT_EQ(server.port("resp"), 4001);
}

TEST(AServerProcess, IsReadyWhenTheAwaitedTextAppears) {
  ServerProcess server({.arguments = {"sh", "-c", "echo now Ready to accept; exec sleep 60"},
                        .ready_text = "Ready to accept"});
  EXPECT_EQ(server.output(), "now Ready to accept\n");
}

TEST(AServerProcess, SaysWhatAServerWroteThatDidNotStart) {
  try {
    ServerProcess server(script("echo resp 127.0.0.1:4001; echo no such limit >&2; exit 3"));
    FAIL() << "it started";
  } catch (const ServerDidNotStart& reason) {
    EXPECT_NE(std::string(reason.what()).find("status 3"), std::string::npos) << reason.what();
    EXPECT_NE(std::string(reason.what()).find("no such limit"), std::string::npos);
  }
}

TEST(AServerProcess, AProgramThatIsNotThereDidNotStart) {
  EXPECT_THROW(ServerProcess({.arguments = {"/no/such/program"}, .listeners = {"resp"}}),
               ServerDidNotStart);
}

TEST(AServerProcess, GivesUpAtItsDeadline) {
  ServerCommand silent = script("echo resp 127.0.0.1:4001; exec sleep 60");
  silent.start_within = milliseconds{50};
  EXPECT_THROW(ServerProcess{silent}, ServerDidNotStart);
}

TEST(AServerProcess, EndsItsServerAndTellsHowItEnded) {
  ServerProcess server(
      script("trap 'echo drained; exit 7' TERM\n"
             "echo resp 127.0.0.1:4001; echo metrics 127.0.0.1:4002\n"
             "while :; do sleep 0.01; done"));
  EXPECT_EQ(server.terminate(), 7);
  EXPECT_EQ(server.terminate(), 7);
  EXPECT_NE(server.output().find("drained"), std::string::npos);
}

TEST(AServerProcess, LeavesNoChildBehind) {
  pid_t pid = 0;
  {
    ServerProcess server(
        script("echo resp 127.0.0.1:4001; echo metrics 127.0.0.1:4002; exec sleep 60"));
    pid = server.pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(AServerProcess, NeverWaitsForSomebodyToReadWhatItWrites) {
  ServerProcess server(
      script("yes | head -c 1000000; yes | head -c 1000000 >&2\n"
             "echo; echo resp 127.0.0.1:4001; echo metrics 127.0.0.1:4002\n"
             "exec sleep 60"));
  EXPECT_EQ(server.errors().size(), 1'000'000U);
}

}  // namespace
}  // namespace weir::test
