// The load client and the checker together, on a peer that decides rightly and on two that do not.
#include "test/server/load/resp_load.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "test/history/check.hpp"
#include "test/server/load/redis_gcra.hpp"
#include "test/server/server_process.hpp"

namespace weir::load {
namespace {

class ALoadOnRedis : public testing::Test {
 protected:
  void SetUp() override {
    const std::uint16_t port = test::unused_port();
    const auto command = redis_command(port);
    if (!command) GTEST_SKIP() << "redis-server is not installed";
    server_ = std::make_unique<test::ServerProcess>(*command);
    port_ = port;
  }

  Load load_of(Script script, const ScriptLimit& limit) {
    Conversation redis(port_);
    return {.port = port_,
            .question = load_script(redis, script, limit),
            .requests = 20'000,
            .threads = 4,
            .connections = 32};
  }

  std::uint16_t port_ = 0;
  std::unique_ptr<test::ServerProcess> server_;
};

// Full again only after a second without a request: a stall does not end the saturation.
constexpr ScriptLimit thousand_a_second{.burst = 1'000, .interval_us = 1'000};

TEST_F(ALoadOnRedis, TheScriptAnswersAsRedisCellDoes) {
  Conversation redis(port_);
  const Question question =
      load_script(redis, Script::gcra, {.burst = 16, .interval_us = 2'000'000});
  EXPECT_EQ(
      redis.ask(question, "k"),
      (Answer{
          .admitted = true, .limit = 16, .remaining = 15, .retry_after = -1, .reset_after = 2}));
  for (int i = 0; i < 15; ++i) EXPECT_TRUE(redis.ask(question, "k").admitted);
  EXPECT_EQ(
      redis.ask(question, "k"),
      (Answer{
          .admitted = false, .limit = 16, .remaining = 0, .retry_after = 2, .reset_after = 32}));
}

TEST_F(ALoadOnRedis, ACorrectScriptKeepsItsPromiseOnOneHotKey) {
  for (const std::uint32_t pipeline : {1U, 16U}) {
    Load load = load_of(Script::gcra, thousand_a_second);
    load.pipeline = pipeline;
    load.key_prefix = "hot:" + std::to_string(pipeline) + ':';
    const Outcome outcome = run(load);
    const history::Bucket limit = thousand_a_second.bucket();
    ASSERT_EQ(outcome.history.size(), 20'000U);
    EXPECT_EQ(history::check_admissions(outcome.history, limit).explanation, "");
    EXPECT_EQ(history::check_denials(outcome.history, limit).explanation, "");
    const history::Saturation saturation = history::saturation_of(outcome.history, limit);
    EXPECT_EQ(saturation.admitted, outcome.admitted);
    EXPECT_TRUE(saturation.kept())
        << saturation.least << " <= " << saturation.admitted << " <= " << saturation.most;
    EXPECT_EQ(outcome.absurd, 0) << outcome.first_absurdity;
  }
}

TEST_F(ALoadOnRedis, ACorrectScriptKeepsItsPromiseOnManyKeys) {
  Load load = load_of(Script::gcra, {.burst = 10, .interval_us = 100'000});
  load.keys = {.count = 200, .spread = Keys::Spread::zipf, .exponent = 1.0};
  load.pipeline = 4;
  const Outcome outcome = run(load);
  const history::Bucket limit = ScriptLimit{.burst = 10, .interval_us = 100'000}.bucket();
  EXPECT_EQ(history::check_admissions(outcome.history, limit).explanation, "");
  EXPECT_EQ(history::check_denials(outcome.history, limit).explanation, "");
}

TEST_F(ALoadOnRedis, AScriptThatLosesWritesIsBlamedForItsAdmissions) {
  const Outcome outcome = run(load_of(Script::loses_writes, thousand_a_second));
  const history::Bucket limit = thousand_a_second.bucket();
  EXPECT_FALSE(history::check_admissions(outcome.history, limit).kept());
  EXPECT_FALSE(history::saturation_of(outcome.history, limit).kept());
}

TEST_F(ALoadOnRedis, AScriptThatChargesForRefusalsIsBlamedForItsDenials) {
  const Outcome outcome = run(load_of(Script::refusals_cost, thousand_a_second));
  const history::Bucket limit = thousand_a_second.bucket();
  EXPECT_TRUE(history::check_admissions(outcome.history, limit).kept());
  EXPECT_FALSE(history::check_denials(outcome.history, limit).kept());
  EXPECT_FALSE(history::saturation_of(outcome.history, limit).kept());
}

TEST_F(ALoadOnRedis, ABatchLargerThanASocketTakesIsAnsweredInFull) {
  Load load = load_of(Script::gcra, thousand_a_second);
  load.question = increment();
  load.key_prefix = std::string(60'000, 'k');
  load.keep = Load::Keep::counts;
  load.requests = 1'000;
  load.threads = 1;
  load.connections = 2;
  load.pipeline = 500;
  const Outcome outcome = run(load);
  EXPECT_EQ(outcome.answered, 1'000);
  EXPECT_TRUE(outcome.history.empty());
}

TEST_F(ALoadOnRedis, AnErrorReplyFailsTheLoadWithItsText) {
  Load load = load_of(Script::gcra, thousand_a_second);
  load.question = {.before_key = {"NO.SUCH.COMMAND"}};
  try {
    run(load);
    FAIL() << "it ran";
  } catch (const LoadFailed& reason) {
    EXPECT_NE(std::string(reason.what()).find("ERR unknown command"), std::string::npos)
        << reason.what();
  }
}

TEST_F(ALoadOnRedis, AServerThatDoesNotAnswerFailsTheLoadInTime) {
  Load load = load_of(Script::gcra, thousand_a_second);
  load.question = {.before_key = {"BLPOP"}, .after_key = {"0"}};
  load.finish_within = std::chrono::seconds{1};
  EXPECT_THROW(run(load), LoadFailed);
}

TEST_F(ALoadOnRedis, AServerThatIsGoneFailsTheLoad) {
  const Load load = load_of(Script::gcra, thousand_a_second);
  server_->terminate();
  EXPECT_THROW(run(load), LoadFailed);
}

}  // namespace
}  // namespace weir::load
