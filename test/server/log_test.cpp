#include "server/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>
#include <thread>
#include <vector>

namespace weir::test {
namespace {

using server::Log;
using server::LogFormat;
using server::LogKind;
using server::LogLevel;
using server::LogOptions;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

/// A log whose lines a test reads, at a time of its choosing.
struct Written {
  explicit Written(const LogOptions& options = {})
      : log(options, std::make_shared<spdlog::sinks::ostream_sink_mt>(stream),
            [this] { return std::chrono::steady_clock::time_point{now}; }) {}

  std::vector<std::string> lines() const {
    std::vector<std::string> found;
    std::istringstream text(stream.str());
    for (std::string line; std::getline(text, line);) found.push_back(line);
    return found;
  }

  std::ostringstream stream;
  std::chrono::seconds now{1'000};
  Log log;
};

TEST(Log, WritesALineWithItsTimeLevelAndFields) {
  Written written;
  written.log.write(LogKind::draining, {{"connections", 3}});
  EXPECT_THAT(written.stream.str(),
              MatchesRegex("....-..-..T..:..:..\\....Z info draining connections=3\n"));
}

TEST(Log, WritesAnObjectALineForMachines) {
  Written written({.format = LogFormat::json});
  written.log.write(LogKind::turned_away, {{"client", "[::1]:80"}, {"max_connections", 10}});
  EXPECT_THAT(written.stream.str(),
              MatchesRegex("\\{\"time\":\"....-..-..T..:..:..\\....Z\",\"level\":\"warning\","
                           "\"event\":\"turned a client away\",\"client\":\"\\[::1\\]:80\","
                           "\"max_connections\":10\\}\n"));
}

TEST(Log, AValueCanForgeNeitherALineNorAField) {
  using namespace std::string_view_literals;
  constexpr std::string_view hostile =
      "x\nforged info level=error \"quoted\" \\ \x1b[31m\x7f\x9b\xc2\xa0\r\0end"sv;
  Written text;
  text.log.write(LogKind::malformed_request, {{"name", hostile}});
  ASSERT_EQ(text.lines().size(), 1U);
  EXPECT_THAT(text.lines()[0], EndsWith(R"(name="x\x0aforged info level=error \"quoted\" \\ )"
                                        R"(\x1b[31m\x7f\x9b\xc2\xa0\x0d\x00end")"));
  Written json({.format = LogFormat::json});
  json.log.write(LogKind::malformed_request, {{"name", hostile}});
  ASSERT_EQ(json.lines().size(), 1U);
  EXPECT_THAT(json.lines()[0], EndsWith(R"("name":"x\u000aforged info level=error \"quoted\" \\ )"
                                        R"(\u001b[31m\u007f\u009b\u00c2\u00a0\u000d\u0000end"})"));
}

TEST(Log, QuotesWhatWouldLookLikeSomethingElse) {
  Written written;
  written.log.write(LogKind::stalled_client, {{"name", ""}, {"a", "b=c"}, {"plain", "10.0.0.1:7"}});
  EXPECT_THAT(written.lines()[0], EndsWith(R"(name="" a="b=c" plain=10.0.0.1:7)"));
}

TEST(Log, CutsALongValue) {
  Written written;
  written.log.write(LogKind::malformed_request, {{"name", std::string(5'000, 'x')}});
  EXPECT_LT(written.stream.str().size(), 350U);
  EXPECT_THAT(written.lines()[0], EndsWith("xxx...\""));
}

TEST(Log, BoundsEachKindAndCountsWhatItSuppressed) {
  Written written;
  for (int call = 0; call < 1'000; ++call) {
    written.log.write(LogKind::malformed_request, {{"client", "one"}});
  }
  EXPECT_EQ(written.lines().size(), 12U);
  written.log.write(LogKind::draining);  // another kind has its own quota
  EXPECT_EQ(written.lines().size(), 13U);

  written.log.tell_suppressed();
  EXPECT_EQ(written.lines().size(), 13U);
  written.now += Log::period;
  written.log.tell_suppressed();
  written.log.tell_suppressed();
  ASSERT_EQ(written.lines().size(), 14U);
  EXPECT_THAT(written.lines()[13], EndsWith("warning malformed request suppressed=988"));

  // The line that told of them counts.
  for (int call = 0; call < 1'000; ++call) written.log.write(LogKind::malformed_request);
  EXPECT_EQ(written.lines().size(), 25U);
  written.log.tell_suppressed(std::chrono::seconds{0});
  EXPECT_THAT(written.lines()[25], EndsWith("suppressed=989"));
}

TEST(Log, StartsAfreshInANewPeriod) {
  Written written;
  for (int call = 0; call < 12; ++call) written.log.write(LogKind::malformed_request);
  written.now += Log::period;
  written.log.write(LogKind::malformed_request);
  EXPECT_EQ(written.lines().size(), 13U);
  EXPECT_THAT(written.lines()[12], Not(HasSubstr("suppressed")));
}

TEST(Log, WritesNothingBelowItsLevel) {
  Written errors({.level = LogLevel::error});
  errors.log.write(LogKind::draining);
  errors.log.write(LogKind::turned_away);
  errors.log.write(LogKind::accept_failed, {{"reason", "Too many open files"}});
  ASSERT_EQ(errors.lines().size(), 1U);
  EXPECT_THAT(errors.lines()[0],
              EndsWith("error cannot accept a connection reason=\"Too many open files\""));
  Written off({.level = LogLevel::off});
  off.log.write(LogKind::accept_failed);
  EXPECT_EQ(off.lines().size(), 0U);
}

TEST(Log, KeepsLinesOfManyThreadsWhole) {
  Written written;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int call = 0; call < 500; ++call) written.log.write(LogKind::stalled_client);
    });
  }
  for (std::thread& thread : threads) thread.join();
  written.log.tell_suppressed(std::chrono::seconds{0});
  ASSERT_EQ(written.lines().size(), 13U);
  EXPECT_THAT(written.lines()[12], EndsWith("suppressed=1988"));
}

}  // namespace
}  // namespace weir::test
