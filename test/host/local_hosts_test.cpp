// The hosts of this process against the pure machines that they keep.
#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <random>

#include "test/host/locked_host.hpp"

namespace weir::host {
namespace {

using std::chrono::nanoseconds;

TEST(LockedHost, DecidesAsThePureMachine) {
  LockedHost host;
  const Compared compared = expect_equal_to_pure(host, {});
  EXPECT_GT(compared.taken, 5'000u);
  EXPECT_GT(compared.denied, 2'000u);
  EXPECT_GT(host.deferred(), 500u);
  std::cout << compared.decisions << " decisions, " << compared.taken << " taken, "
            << compared.denied << " denied, " << host.deferred() << " deferred\n";
}

/// The word beside step<Gcra> in the ticks of its scale.
class WordAndPure {
 public:
  WordAndPure(const AtomicWord::Settings& settings, std::uint64_t seed)
      : config_(AtomicWord::configure(settings).value()), host_(config_), random_(seed) {}

  void run(int events) {
    for (int event = 0; event < events && !testing::Test::HasFailure(); ++event) one();
  }
  std::size_t granted() const { return granted_; }
  std::size_t denied() const { return denied_; }

 private:
  Instant tick(SteadyInstant at) const {
    return Instant{Span{static_cast<std::int64_t>(config_.scale.ticks(at.time_since_epoch()))}};
  }
  SteadyInstant steady(Instant tick) const {
    return SteadyInstant{config_.scale.nanoseconds(tick.time_since_epoch().count())};
  }

  void one() {
    const auto kind = random_() % 16;
    if (kind < 6) {
      now_ += nanoseconds{random_() % (std::uint64_t{1} << (random_() % 36))};
    } else if (kind == 6 && interesting_ > now_) {
      now_ = interesting_ - nanoseconds{random_() % 2};
    }
    // A reading may be older than one before it: the pure machine is told the same one.
    const SteadyInstant reading = random_() % 8 == 0 ? now_ - nanoseconds{random_() % 5'000} : now_;
    const Cost capacity = Gcra::capacity(config_.bucket);
    const auto most = static_cast<std::uint64_t>(capacity) + 1;
    const Cost cost = random_() % 2 == 0 ? 1 : static_cast<Cost>(random_() % most);
    const Request request{tick(reading), cost, Span{0}};
    const Decision right = step<Gcra>(config_.bucket, state_, request);
    const Outcome told = host_.try_take(reading, cost);
    ASSERT_EQ(told.verdict, right.verdict);
    if (told.verdict == Verdict::granted) ++granted_;
    if (told.verdict == Verdict::denied) {
      ++denied_;
      ASSERT_EQ(told.ready_at, steady(right.ready_at));
      interesting_ = told.ready_at;
    }
    look();
  }

  /// Through the lock, by the newest reading.
  void look() {
    seen_ = std::max(seen_, now_);
    if (random_() % 4 == 0) {
      const Cost units = static_cast<Cost>(random_() % 3);
      const Cost right = units > 0 ? Gcra::refund(config_.bucket, state_, tick(seen_), units) : 0;
      ASSERT_EQ(host_.refund(now_, units), right);
    }
    const Decision right = peek<Gcra>(config_.bucket, state_, {tick(seen_), 1, Span{0}});
    const Standing told = host_.peek(now_, 1);
    ASSERT_EQ(told.outcome.verdict, right.verdict);
    ASSERT_EQ(told.limit, right.limit);
    ASSERT_EQ(told.remaining, right.remaining);
    ASSERT_EQ(told.reset_at, std::max(now_, steady(right.reset_at)));
  }

  AtomicWord::Config config_;
  AtomicBucket host_;
  Gcra::State state_;
  std::mt19937_64 random_;
  SteadyInstant now_{std::chrono::seconds{1'000}};
  SteadyInstant seen_{};
  SteadyInstant interesting_{};
  std::size_t granted_ = 0;
  std::size_t denied_ = 0;
};

TEST(AtomicBucket, DecidesAsThePureMachineInItsTicks) {
  constexpr std::array settings{
      AtomicWord::Settings{.count = 5, .period = std::chrono::seconds{1}, .burst = 5},
      AtomicWord::Settings{.count = 999'999'937, .period = std::chrono::seconds{1}, .burst = 40},
      AtomicWord::Settings{.count = 7, .period = std::chrono::milliseconds{3}, .burst = 1},
      AtomicWord::Settings{.count = 1, .period = std::chrono::hours{1}, .burst = 100},
      AtomicWord::Settings{.count = 1, .period = nanoseconds{1}, .burst = 1'000'000'000},
      AtomicWord::Settings{.count = 3, .period = nanoseconds{100'000'007}, .burst = 9}};
  std::size_t granted = 0;
  std::size_t denied = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WordAndPure both(settings[seed % settings.size()], seed);
    both.run(2'000);
    granted += both.granted();
    denied += both.denied();
  }
  EXPECT_GT(granted, 20'000u);
  EXPECT_GT(denied, 20'000u);
  std::cout << granted << " granted, " << denied << " denied\n";
}

}  // namespace
}  // namespace weir::host
