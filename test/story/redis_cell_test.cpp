#include "weir/algorithm/redis_cell.hpp"

#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "test/story/story.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

using Reply = RedisCell::Reply;

/// What CL.THROTTLE does, on one key and a clock set by hand.
class Throttle {
 public:
  Reply operator()(const RedisCell::Call& call, Instant now) {
    const Gcra::Config config = RedisCell::configure(call).value();
    Decision decision;
    if (call.quantity >= 0) {
      decision = step<Gcra>(config, state_, {now, call.quantity, {}});
    } else {
      (void)Gcra::refund(config, state_, now, -call.quantity);
      decision = peek<Gcra>(config, state_, {now, 0, {}});
    }
    return RedisCell::reply(config, call, decision, state_.repaid_at, now);
  }

 private:
  Gcra::State state_;
};

constexpr Instant begin{std::chrono::seconds{1'750'000'000}};

std::string text(const Reply& reply) {
  std::ostringstream out;
  for (const auto value : reply) out << value << ' ';
  return out.str();
}

struct Vector {
  RedisCell::Call call;
  Reply reply;
};

/// Observed replies of redis-cell, a sequence of calls to one key each.
std::map<int, std::vector<Vector>> vectors() {
  std::map<int, std::vector<Vector>> sequences;
  std::ifstream file(WEIR_TEST_DATA "/redis_cell_vectors.tsv");
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream row(line);
    int sequence = 0;
    int step = 0;
    Vector vector{};
    row >> sequence >> step >> vector.call.max_burst >> vector.call.count >> vector.call.period_s >>
        vector.call.quantity;
    for (auto& value : vector.reply) row >> value;
    EXPECT_FALSE(row.fail()) << line;
    sequences[sequence].push_back(vector);
  }
  return sequences;
}

class RedisCellVectors : public testing::TestWithParam<std::int64_t> {};

/// The steps came less than 5 ms apart: at the same instant and a millisecond apart the replies are
/// those that were observed.
TEST_P(RedisCellVectors, AreAnsweredAsObserved) {
  const auto sequences = vectors();
  std::size_t steps = 0;
  for (const auto& [number, sequence] : sequences) {
    Throttle throttle;
    Instant now = begin;
    for (const Vector& vector : sequence) {
      EXPECT_EQ(text(throttle(vector.call, now)), text(vector.reply))
          << "sequence " << number << ", step " << steps;
      now += std::chrono::milliseconds{GetParam()};
      ++steps;
    }
  }
  EXPECT_EQ(steps, 280u);
}

INSTANTIATE_TEST_SUITE_P(MillisecondsApart, RedisCellVectors, testing::Values(0, 1));

struct TableRow {
  Span at;
  std::int64_t quantity;
  Reply reply;
};

/// redis-cell's own table, its milliseconds as CL.THROTTLE shows them: in seconds, rounded up.
TEST(RedisCell, AnswersItsReferenceTable) {
  Throttle throttle;
  for (const TableRow& row :
       {TableRow{0ms, 6, {1, 5, 5, -1, 0}}, TableRow{0ms, 1, {0, 5, 4, -1, 1}},
        TableRow{0ms, 1, {0, 5, 3, -1, 2}}, TableRow{0ms, 1, {0, 5, 2, -1, 3}},
        TableRow{0ms, 1, {0, 5, 1, -1, 4}}, TableRow{0ms, 1, {0, 5, 0, -1, 5}},
        TableRow{0ms, 1, {1, 5, 0, 1, 5}}, TableRow{3'000ms, 1, {0, 5, 2, -1, 3}},
        TableRow{3'100ms, 1, {0, 5, 1, -1, 4}}, TableRow{4'000ms, 1, {0, 5, 1, -1, 4}},
        TableRow{8'000ms, 1, {0, 5, 4, -1, 1}}, TableRow{9'500ms, 1, {0, 5, 4, -1, 1}},
        TableRow{9'500ms, 0, {0, 5, 4, -1, 1}}, TableRow{9'500ms, 2, {0, 5, 2, -1, 3}},
        TableRow{9'500ms, 5, {1, 5, 2, 3, 3}}, TableRow{15'000ms, 6, {1, 5, 5, -1, 0}}}) {
    const RedisCell::Call call{4, 1, 1, row.quantity};
    EXPECT_EQ(text(throttle(call, begin + row.at)), text(row.reply)) << row.at.count();
  }
}

TEST(RedisCell, AnswersAFreshKeyAsTheModuleDoes) {
  EXPECT_EQ(Throttle()({15, 30, 60, 1}, begin), (Reply{0, 16, 15, -1, 2}));
  EXPECT_EQ(Throttle()({4, 1, 10, 0}, begin), (Reply{0, 5, 5, -1, 0}));
  EXPECT_EQ(Throttle()({4, 1, 10, 6}, begin), (Reply{1, 5, 5, -1, 0}));
}

TEST(RedisCell, WaitsTwoSecondsForOneInTwo) {
  Throttle throttle;
  const RedisCell::Call call{0, 1, 2, 1};
  EXPECT_EQ(throttle(call, begin), (Reply{0, 1, 0, -1, 2}));
  EXPECT_EQ(throttle(call, begin), (Reply{1, 1, 0, 2, 2}));
  EXPECT_EQ(throttle(call, begin + 2s), (Reply{0, 1, 0, -1, 2}));
}

TEST(RedisCell, ShowsSecondsRoundedUpFromWholeMilliseconds) {
  Throttle throttle;
  EXPECT_EQ(throttle({0, 1, 10, 1}, begin)[4], 10);
  EXPECT_EQ(throttle({0, 1, 10, 0}, begin + 1us)[4], 10);
  EXPECT_EQ(throttle({0, 1, 10, 0}, begin + 9s)[4], 1);
  EXPECT_EQ(throttle({0, 1, 10, 0}, begin + 10s - 1'200us)[4], 1);
  EXPECT_EQ(throttle({0, 1, 10, 0}, begin + 10s - 900us)[4], 0);
}

TEST(RedisCell, KeepsTheInstantWhenTheParametersChange) {
  Throttle throttle;
  EXPECT_EQ(throttle({9, 10, 10, 10}, begin), (Reply{0, 10, 0, -1, 10}));
  EXPECT_EQ(throttle({4, 10, 10, 1}, begin), (Reply{1, 5, 0, 6, 10}));
  EXPECT_EQ(throttle({19, 10, 10, 1}, begin), (Reply{0, 20, 9, -1, 11}));
}

TEST(RedisCell, MayRefuseAProbeAfterTheParametersShrank) {
  Throttle throttle;
  (void)throttle({9, 10, 10, 10}, begin);
  EXPECT_EQ(throttle({4, 100, 10, 0}, begin)[0], 1);
}

TEST(RedisCell, GivesBackWhatIsOwedAndNoMore) {
  Throttle throttle;
  EXPECT_EQ(throttle({4, 1, 10, 5}, begin), (Reply{0, 5, 0, -1, 50}));
  EXPECT_EQ(throttle({4, 1, 10, -3}, begin), (Reply{0, 5, 3, -1, 20}));
  EXPECT_EQ(throttle({4, 1, 10, -3}, begin), (Reply{0, 5, 5, -1, 0}));
  EXPECT_EQ(throttle({4, 1, 10, -3}, begin), (Reply{0, 5, 5, -1, 0}));
  EXPECT_EQ(Throttle()({4, 1, 10, -3}, begin), (Reply{0, 5, 5, -1, 0}));
}

/// redis-cell truncates both sides to microseconds and shows 6024 of 6001.
TEST(RedisCell, NeverShowsMoreRemainingThanTheLimit) {
  Throttle throttle;
  EXPECT_EQ(throttle({6'000, 6'000, 1, 0}, begin)[2], 6'001);
  EXPECT_EQ(throttle({6'000, 6'000, 1, 1}, begin)[2], 6'000);
  EXPECT_EQ(Throttle()({999'999'999, 1'000'000'000, 1, 1}, begin)[2], 999'999'999);
}

TEST(RedisCell, RefusesNumbersThatWouldOverflow) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  using enum RedisCell::Error;
  const auto error = [](const RedisCell::Call& call) { return RedisCell::configure(call).error(); };
  EXPECT_EQ(error({-1, 1, 1}), negative_burst);
  EXPECT_EQ(error({1, 0, 1}), zero_rate);
  EXPECT_EQ(error({1, 1, 0}), zero_rate);
  EXPECT_EQ(error({1, -5, 10}), zero_rate);
  EXPECT_EQ(error({1, -5, -10}), zero_rate);
  EXPECT_EQ(error({1, 1'000'000'001, 1}), too_fast);
  EXPECT_EQ(error({most, 1, 1}), too_large);
  EXPECT_EQ(error({153'722'867, 1, 60}), too_large);
  EXPECT_EQ(error({10, 1, 9'223'372'036}), too_large);
  EXPECT_EQ(error({1, 1, most}), too_large);
  EXPECT_EQ(error({1, 1, 1, -most}), too_much_back);
  EXPECT_EQ(Throttle()({4, 1, 10, most}, begin), (Reply{1, 5, 5, -1, 0}));
  for (const auto each : {negative_burst, zero_rate, too_fast, too_large, too_much_back}) {
    EXPECT_GT(std::string(RedisCell::describe(each)).size(), 20u);
  }
}

/// For the undefined-behaviour sanitizer: every corner that configure() lets through is stepped.
TEST(RedisCell, AnswersSensiblyAtEveryCorner) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t numbers[] = {
      -most - 1,     -most,         -7,       -1,       0,   1, 2, 999, 1'000'000'000,
      4'611'686'018, 4'611'686'019, most / 3, most - 1, most};
  std::size_t answered = 0;
  for (const auto burst : numbers) {
    for (const auto count : numbers) {
      for (const auto period : numbers) {
        Throttle throttle;
        for (const auto quantity : numbers) {
          const RedisCell::Call call{burst, count, period, quantity};
          if (!RedisCell::configure(call)) continue;
          for (const Span later : {Span{0}, Span{1}, Span{1'000'000}}) {
            const Reply reply = throttle(call, begin + later);
            ASSERT_GE(reply[2], 0);
            ASSERT_LE(reply[2], reply[1]);
            ASSERT_GE(reply[3], -1);
            ASSERT_GE(reply[4], 0);
            ++answered;
          }
        }
      }
    }
  }
  EXPECT_GT(answered, 1'000u);
}

/// Calls every tick through 3 ms, counted: right above a thousand a second too.
TEST(RedisCell, AdmitsHighRatesAsTheyAre) {
  Throttle throttle;
  int admitted = 0;
  for (int at = 0; at < 3'430; ++at) {
    admitted += throttle({0, 2'000, 1, 1}, begin + Span{at})[0] == 0;
  }
  EXPECT_EQ(admitted, 7);
}

}  // namespace
}  // namespace weir
