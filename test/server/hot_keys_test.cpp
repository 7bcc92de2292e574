#include "server/hot_keys.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using server::FrequentKeys;
using server::HotKeyBoard;
using server::HotKeys;
using server::KeyRate;

constexpr Instant begin{Span{1'795'163'520'000'000}};

/// Keys 0, 1, 2 ... of which each comes less often than the one before.
class ZipfKeys {
 public:
  explicit ZipfKeys(std::size_t keys) {
    std::vector<double> weights;
    for (std::size_t rank = 1; rank <= keys; ++rank) {
      weights.push_back(1 / static_cast<double>(rank));
    }
    choice_ = std::discrete_distribution<std::size_t>(weights.begin(), weights.end());
  }
  std::size_t next(std::mt19937_64& random) { return choice_(random); }

 private:
  std::discrete_distribution<std::size_t> choice_;
};

class HotKeyTest : public testing::Test {
 protected:
  const Rule& login() { return *rules.add({"login", "5/1m"}).value(); }

  std::vector<std::string> hottest(std::size_t count) const {
    std::vector<std::string> keys;
    for (const KeyRate& each : board.top(count).hottest) keys.push_back(each.key_begin);
    return keys;
  }

  Rules rules;
  HotKeyBoard board{HashKey{1, 2}};
};

/// Adds calls to a sketch and beside it to an exact count of the same.
struct Twin {
  FrequentKeys sketch;
  std::map<std::uint64_t, double> truth;
  double total = 0;

  void add(std::uint64_t hash, double count) {
    sketch.add({.hash = hash, .rule = nullptr, .key = "", .count = count, .variance = 0});
    truth[hash] += count;
    total += count;
  }
  void fade(double factor) {
    sketch.fade(factor);
    for (auto& [hash, count] : truth) count *= factor;
    total *= factor;
  }
};

void expect_bounds(const Twin& twin) {
  constexpr double rounding = 1e-6;
  const double most_others = twin.total / FrequentKeys::room;
  std::map<std::uint64_t, double> kept;
  for (const FrequentKeys::Entry& entry : twin.sketch.entries()) {
    const double truth = twin.truth.at(entry.hash);
    EXPECT_GE(entry.calls, truth - rounding);
    EXPECT_LE(entry.calls - entry.others, truth + rounding);
    EXPECT_LE(entry.others, most_others + rounding);
    kept[entry.hash] = entry.calls;
  }
  ASSERT_LE(kept.size(), FrequentKeys::room);
  for (const auto& [hash, truth] : twin.truth) {
    EXPECT_TRUE(truth <= most_others + rounding || kept.contains(hash)) << truth;
  }
}

TEST(FrequentKeysTest, KeepTheBoundOnEveryStream) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    ZipfKeys zipf(100 * seed * seed);
    Twin twin;
    for (int call = 0; call < 10'000; ++call) {
      const bool newcomer = random() % 8 < seed;
      const std::uint64_t hash = newcomer ? random() : zipf.next(random);
      twin.add(hash, static_cast<double>(std::uint64_t{1} << random() % 7));
      // Counts that fade keep the bound as long as nobody is forgotten.
      if (random() % 4096 == 0) twin.fade(0.9);
      if (call % 1'000 == 0) expect_bounds(twin);
    }
    expect_bounds(twin);
  }
}

TEST(FrequentKeysTest, CountExactlyWhileAllKeysFit) {
  std::mt19937_64 random(7);
  Twin twin;
  for (int call = 0; call < 10'000; ++call) twin.add(random() % FrequentKeys::room, 1);
  for (const FrequentKeys::Entry& entry : twin.sketch.entries()) {
    EXPECT_EQ(entry.calls, twin.truth.at(entry.hash));
    EXPECT_EQ(entry.others, 0);
  }
}

TEST_F(HotKeyTest, FindTheTrueTopTen) {
  for (const std::uint64_t seed : {1U, 2U}) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    ZipfKeys zipf(100'000);
    Rules known;
    HotKeyBoard zipf_board({seed, 2});
    HotKeys& worker = zipf_board.add_worker(begin);
    const Rule& rule = known.redis_cell();
    std::vector<std::string> names;
    for (int key = 0; key < 100'000; ++key) names.push_back(std::to_string(key));
    std::vector<int> truth(names.size());
    for (int call = 0; call < 2'000'000; ++call) {
      const std::size_t key = zipf.next(random);
      ++truth[key];
      worker.saw(rule, names[key], Verdict::granted);
    }
    worker.tick(begin + 1s);
    // The tenth and the eleventh are nearer to each other than the sampling tells apart.
    std::vector<std::string> keys;
    for (const KeyRate& each : zipf_board.top(16).hottest) {
      keys.push_back(each.key_begin);
      const auto key = static_cast<std::size_t>(
          std::find(names.begin(), names.end(), each.key_begin) - names.begin());
      EXPECT_NEAR(each.calls_per_s, truth[key], 1.5 * each.error_per_s);
    }
    const std::vector<std::string> wanted(names.begin(), names.begin() + 10);
    EXPECT_THAT(keys, testing::IsSupersetOf(wanted));
  }
}

TEST_F(HotKeyTest, AFloodOfKeysThatComeOnceDoesNotPushThemOut) {
  HotKeys& worker = board.add_worker(begin);
  const Rule& rule = login();
  for (int second = 1; second <= 5; ++second) {
    for (int call = 0; call < 300'000; ++call) {
      worker.saw(rule, "flood:" + std::to_string(second * 1'000'000 + call), Verdict::denied);
      if (call % 30 == 0) worker.saw(rule, "hot:" + std::to_string(call % 90), Verdict::granted);
      if (call % 40 == 0) worker.saw(rule, "refused", Verdict::denied);
    }
    worker.tick(begin + second * 1s);
    if (second == 1) continue;  // the sketch has adapted to the load
    EXPECT_THAT(hottest(4), testing::UnorderedElementsAre("hot:0", "hot:30", "hot:60", "refused"));
    const auto refused = board.top(1).most_refused;
    ASSERT_EQ(refused.size(), 1U);
    EXPECT_EQ(refused[0].key_begin, "refused");
    EXPECT_NEAR(refused[0].calls_per_s, 7'500, 1.5 * refused[0].error_per_s);
  }
}

TEST_F(HotKeyTest, AreExactWhileThereAreFewDecisions) {
  HotKeys& worker = board.add_worker(begin);
  const Rule& rule = login();
  for (int second = 1; second <= 3; ++second) {
    for (int call = 0; call < 100; ++call) worker.saw(rule, "often", Verdict::granted);
    for (int call = 0; call < 40; ++call) worker.saw(rule, "seldom", Verdict::denied);
    worker.tick(begin + second * 1s);
  }
  const auto top = board.top(10);
  ASSERT_EQ(top.hottest.size(), 2U);
  EXPECT_EQ(top.hottest[0].key_begin, "often");
  EXPECT_NEAR(top.hottest[0].calls_per_s, 100, 1e-9);
  EXPECT_EQ(top.hottest[0].error_per_s, 0);
  ASSERT_EQ(top.most_refused.size(), 1U);
  EXPECT_EQ(top.most_refused[0].key_begin, "seldom");
  EXPECT_NEAR(top.most_refused[0].calls_per_s, 40, 1e-9);
}

TEST_F(HotKeyTest, SampleEveryPlaceOfAPatternAlike) {
  HotKeys& worker = board.add_worker(begin);
  const Rule& rule = login();
  // A key at one place of every 64: sampling at a fixed distance would see it always or never.
  for (int call = 0; call < 2'000'000; ++call) {
    worker.saw(rule, call % 64 == 5 ? "one in 64" : "others", Verdict::granted);
  }
  worker.tick(begin + 1s);
  const auto rates = board.top(2).hottest;
  ASSERT_EQ(rates.size(), 2U);
  EXPECT_NEAR(rates[1].calls_per_s, 2'000'000.0 / 64, 1.5 * rates[1].error_per_s);
  EXPECT_LT(rates[1].error_per_s, 2'000'000.0 / 64 / 8);
}

TEST_F(HotKeyTest, TheErrorIsTwoStandardErrors) {
  const Rule& rule = login();
  int outside = 0;
  for (int run = 0; run < 300; ++run) {
    std::mt19937_64 random(static_cast<std::uint64_t>(run));
    HotKeyBoard runs_board({static_cast<std::uint64_t>(run), 2});
    HotKeys& worker = runs_board.add_worker(begin);
    int truth = 0;
    for (int call = 0; call < 60'000; ++call) {
      const bool hot = random() % 10 == 0;
      truth += hot ? 1 : 0;
      worker.saw(rule, hot ? "hot" : "others", Verdict::granted);
    }
    worker.tick(begin + 1s);
    const KeyRate rate = runs_board.top(2).hottest.back();
    if (std::abs(rate.calls_per_s - truth) > rate.error_per_s) ++outside;
  }
  EXPECT_LT(outside, 36);  // 5 % of 300 are expected, and not even twice as many tolerated
  EXPECT_GT(outside, 1);   // an error that is never reached would be too wide
}

TEST_F(HotKeyTest, MeanLately) {
  HotKeys& worker = board.add_worker(begin);
  const Rule& rule = login();
  for (int call = 0; call < 1'000; ++call) worker.saw(rule, "before", Verdict::granted);
  worker.tick(begin + 1s);
  EXPECT_THAT(hottest(1), testing::ElementsAre("before"));
  for (int second = 2; second <= 61; ++second) {
    for (int call = 0; call < 20; ++call) worker.saw(rule, "now", Verdict::granted);
    worker.tick(begin + second * 1s);
  }
  const auto rates = board.top(2).hottest;
  ASSERT_GE(rates.size(), 1U);
  EXPECT_EQ(rates[0].key_begin, "now");
  EXPECT_NEAR(rates[0].calls_per_s, 20, 1);
}

TEST_F(HotKeyTest, AreForgottenInMinutes) {
  HotKeys& worker = board.add_worker(begin);
  const Rule& rule = login();
  for (int call = 0; call < 1'000'000; ++call) worker.saw(rule, "alice", Verdict::denied);
  for (int second = 1; second <= 300; ++second) worker.tick(begin + second * 1s);
  EXPECT_TRUE(worker.published().hottest.empty());
  EXPECT_TRUE(worker.published().most_refused.empty());
}

TEST_F(HotKeyTest, KeepTheBeginOfALongKeyAlone) {
  HotKeys& worker = board.add_worker(begin);
  const Rule& rule = login();
  const std::string same(FrequentKeys::kept_bytes, 'k');
  worker.saw(rule, same + std::string(900, 'a'), Verdict::granted);
  worker.saw(rule, same + std::string(800, 'b'), Verdict::granted);
  worker.saw(rule, std::string(), Verdict::granted);
  worker.tick(begin + 1s);
  const auto rates = board.top(10).hottest;
  ASSERT_EQ(rates.size(), 3U);  // what is cut off still tells keys apart
  std::vector<std::size_t> sizes;
  for (const KeyRate& each : rates) {
    sizes.push_back(each.key_bytes);
    EXPECT_EQ(each.key_begin, each.key_bytes == 0 ? "" : same);
  }
  EXPECT_THAT(sizes, testing::UnorderedElementsAre(964U, 864U, 0U));
}

TEST_F(HotKeyTest, OneKeyUnderTwoRulesIsTwo) {
  HotKeys& worker = board.add_worker(begin);
  const Rule& rule = login();
  worker.saw(rule, "alice", Verdict::granted);
  worker.saw(rules.redis_cell(), "alice", Verdict::granted);
  worker.tick(begin + 1s);
  EXPECT_EQ(board.top(10).hottest.size(), 2U);
}

TEST_F(HotKeyTest, AddUpWhatWorkersSaw) {
  HotKeys& first = board.add_worker(begin);
  HotKeys& second = board.add_worker(begin);
  const Rule& rule = login();
  for (int call = 0; call < 30; ++call) {
    first.saw(rule, "both", Verdict::granted);
    second.saw(rule, "both", Verdict::granted);
    if (call < 25) second.saw(rule, "one", Verdict::granted);
  }
  first.tick(begin + 1s);
  second.tick(begin + 1s);
  const auto rates = board.top(1).hottest;
  ASSERT_EQ(rates.size(), 1U);
  EXPECT_EQ(rates[0].key_begin, "both");
  EXPECT_DOUBLE_EQ(rates[0].calls_per_s, 60);
  EXPECT_EQ(rates[0].error_per_s, 0);
}

TEST_F(HotKeyTest, AFullSketchThatLacksAKeyWidensItsError) {
  HotKeys& first = board.add_worker(begin);
  HotKeys& second = board.add_worker(begin);
  const Rule& rule = login();
  for (int call = 0; call < 50; ++call) first.saw(rule, "alice", Verdict::granted);
  for (std::size_t key = 0; key < FrequentKeys::room; ++key) {
    for (int call = 0; call < 3; ++call) second.saw(rule, std::to_string(key), Verdict::granted);
  }
  first.tick(begin + 1s);
  second.tick(begin + 1s);
  const auto rates = board.top(1).hottest;
  ASSERT_EQ(rates.size(), 1U);
  EXPECT_EQ(rates[0].key_begin, "alice");
  EXPECT_DOUBLE_EQ(rates[0].error_per_s, 3);
}

TEST_F(HotKeyTest, OfKeysThatComeOnceNoneStandsOut) {
  HotKeys& worker = board.add_worker(begin);
  const Rule& rule = login();
  for (int call = 0; call < 300'000; ++call) {
    worker.saw(rule, std::to_string(call), Verdict::granted);
  }
  worker.tick(begin + 1s);
  EXPECT_TRUE(board.top(10).hottest.empty());
}

TEST_F(HotKeyTest, SayNothingBeforeTheFirstTick) {
  board.add_worker(begin).saw(login(), "alice", Verdict::granted);
  EXPECT_TRUE(board.top(10).hottest.empty());
}

static_assert(sizeof(HotKeys) < 40'000, "a worker's sketches are bounded, and small");

}  // namespace
}  // namespace weir::test
