// Does the built server keep a limit's promise to many clients at once? Judged by what they saw.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <string>

#include "test/history/check.hpp"
#include "test/server/load/resp_load.hpp"
#include "test/server/server_process.hpp"

namespace weir {
namespace {

using history::Bucket;
using load::Load;
using load::Outcome;

constexpr std::int64_t second = 1'000'000'000;

/// One limit, as each command says it.
struct SaidLimit {
  Bucket bucket;
  load::ThrottleLimit throttle;
  std::string grammar;
};

// Refilled a thousand times a second, and full again only after a whole second without a request:
// a stall of a busy machine does not end the saturation.
const SaidLimit refilled_often{
    .bucket = {.burst = 1'000, .count = 1'000, .period_ns = second},
    .throttle = {.max_burst = 999, .count = 1'000, .period_s = 1},
    .grammar = "1000/1s burst 1000",
};

// Full again after a fifth of a second: of many keys, some are empty and some are full.
const SaidLimit refilled_at_times{
    .bucket = {.burst = 10, .count = 50, .period_ns = second},
    .throttle = {.max_burst = 9, .count = 50, .period_s = 1},
    .grammar = "50/1s burst 10",
};

// Refilled now and then, so little that even a slow machine keeps a thousand keys empty.
const SaidLimit refilled_seldom{
    .bucket = {.burst = 10, .count = 2, .period_ns = second},
    .throttle = {.max_burst = 9, .count = 2, .period_s = 1},
    .grammar = "2/1s burst 10",
};

// Not refilled before the test is over.
const SaidLimit never_refilled{
    .bucket = {.burst = 10, .count = 1, .period_ns = 3'600 * second},
    .throttle = {.max_burst = 9, .count = 1, .period_s = 3'600},
    .grammar = "1/1h burst 10",
};

// So large that nearly every second request is taken, which is where two threads could take one
// token both; and not refilled before the test is over.
const SaidLimit large{
    .bucket = {.burst = 70'000, .count = 1, .period_ns = 3'600 * second},
    .throttle = {.max_burst = 69'999, .count = 1, .period_s = 3'600},
    .grammar = "1/1h burst 70000",
};

enum class Command { throttle, take };

struct Served {
  int threads;
  Command command;

  std::string name() const {
    return std::string(command == Command::throttle ? "ByThrottle" : "ByTake") + "On" +
           std::to_string(threads) + "Threads";
  }
};

std::ostream& operator<<(std::ostream& out, const Served& served) { return out << served.name(); }

class Admissions : public testing::TestWithParam<Served> {
 protected:
  void SetUp() override {
    server_ = std::make_unique<test::ServerProcess>(
        test::ServerCommand{.arguments = {WEIR_BINARY, "serve", "--resp", "127.0.0.1:0",
                                          "--metrics", "127.0.0.1:0", "--http", "off", "--grpc",
                                          "off", "--threads", std::to_string(GetParam().threads)},
                            .listeners = {"resp", "metrics"}});
  }

  void TearDown() override {
    if (!server_) return;
    EXPECT_EQ(server_->terminate(), 0) << server_->errors();
  }

  Load load_of(const SaidLimit& limit) const {
    return {.port = server_->port("resp"),
            .question = GetParam().command == Command::throttle ? load::throttle(limit.throttle)
                                                                : load::take(limit.grammar),
            .requests = 150'000,
            .threads = 8,
            .connections = 64};
  }

  std::unique_ptr<test::ServerProcess> server_;
};

void expect_kept(const Outcome& outcome, const Bucket& limit) {
  const history::Report admissions = history::check_admissions(outcome.history, limit);
  EXPECT_EQ(admissions.violations, 0) << admissions.explanation;
  const history::Report denials = history::check_denials(outcome.history, limit);
  EXPECT_EQ(denials.violations, 0) << denials.explanation;
  EXPECT_EQ(outcome.absurd, 0) << outcome.first_absurdity;
}

std::map<std::uint64_t, history::History> by_key(const history::History& history) {
  std::map<std::uint64_t, history::History> histories;
  for (const history::Record& record : history) histories[record.key].push_back(record);
  return histories;
}

void expect_saturated(const Outcome& outcome, const Bucket& limit) {
  std::int64_t broken = 0;
  for (const auto& [key, history] : by_key(outcome.history)) {
    const history::Saturation saturation = history::saturation_of(history, limit);
    if (saturation.kept() || broken++ > 0) continue;
    ADD_FAILURE() << "key " << key << ": " << saturation.least << " <= " << saturation.admitted
                  << " <= " << saturation.most;
  }
  EXPECT_EQ(broken, 0) << "keys whose count is not what dripped in";
}

TEST_P(Admissions, OfOneHotKeyAreNeverTooManyAndNeverTooFew) {
  const Outcome outcome = run(load_of(refilled_often));
  ASSERT_EQ(outcome.answered, 150'000);
  expect_kept(outcome, refilled_often.bucket);
  expect_saturated(outcome, refilled_often.bucket);
}

TEST_P(Admissions, OfOneHotKeyInPipelinesAreNeverTooManyAndNeverTooFew) {
  Load load = load_of(refilled_often);
  load.pipeline = 16;
  load.requests = 400'000;
  const Outcome outcome = run(load);
  ASSERT_EQ(outcome.answered, 400'000);
  expect_kept(outcome, refilled_often.bucket);
  expect_saturated(outcome, refilled_often.bucket);
}

TEST_P(Admissions, OfOneHotKeyWithoutARefillAreExactlyTheBurst) {
  const Outcome outcome = run(load_of(large));
  expect_kept(outcome, large.bucket);
  EXPECT_EQ(outcome.admitted, 70'000);
}

TEST_P(Admissions, OfAThousandKeysAreNeverTooManyAndNeverTooFew) {
  Load load = load_of(refilled_seldom);
  load.keys = {.count = 1'000};
  const Outcome outcome = run(load);
  ASSERT_EQ(by_key(outcome.history).size(), 1'000U);
  expect_kept(outcome, refilled_seldom.bucket);
  expect_saturated(outcome, refilled_seldom.bucket);
}

TEST_P(Admissions, OfAThousandKeysOfUnequalHeatAreNeverTooManyAndNeverTooFew) {
  Load load = load_of(refilled_at_times);
  load.keys = {.count = 1'000, .spread = load::Keys::Spread::zipf, .exponent = 1.0};
  load.pipeline = 4;
  // The seldom keys are not saturated, so their counts have no least.
  const Outcome outcome = run(load);
  expect_kept(outcome, refilled_at_times.bucket);
  EXPECT_LT(outcome.admitted, outcome.answered);
}

TEST_P(Admissions, OfAThousandKeysWithoutARefillAreExactlyTheBurst) {
  Load load = load_of(never_refilled);
  load.keys = {.count = 1'000};
  const Outcome outcome = run(load);
  expect_kept(outcome, never_refilled.bucket);
  EXPECT_EQ(outcome.admitted, 10'000);
  std::map<std::uint64_t, std::int64_t> admitted;
  for (const history::Record& record : outcome.history) admitted[record.key] += record.admitted;
  for (const auto& [key, count] : admitted) ASSERT_EQ(count, 10) << "key " << key;
}

INSTANTIATE_TEST_SUITE_P(Served, Admissions,
                         testing::Values(Served{.threads = 2, .command = Command::throttle},
                                         Served{.threads = 2, .command = Command::take},
                                         Served{.threads = 4, .command = Command::throttle},
                                         Served{.threads = 4, .command = Command::take}),
                         [](const testing::TestParamInfo<Served>& served) {
                           return served.param.name();
                         });

}  // namespace
}  // namespace weir
