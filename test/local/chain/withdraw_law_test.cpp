// What withdrawing from a rate limiter keeps, over random schedules: beside each limiter stands its
// twin, which is asked only for what was not withdrawn in the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "weir/local/keyed_limiter.hpp"
#include "weir/local/keyed_token_bucket.hpp"
#include "weir/local/limiter.hpp"
#include "weir/local/of_key.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr SteadyInstant start{1h};

using Word = BasicLimiter<AtomicWord, ManualClock>;
using Text = BasicLimiter<LimitState, ManualClock>;

/// A key of a keyed limiter, asked as a limiter alone is.
template <typename Keyed>
struct OneKey {
  template <typename... Arguments>
  explicit OneKey(Arguments&&... arguments) : keyed(std::forward<Arguments>(arguments)...) {}

  auto try_enter(const Entry& entry, SteadyInstant now) {
    return on(keyed, 7).try_enter(entry, now);
  }
  Outcome try_acquire(Cost cost, SteadyInstant now) { return keyed.try_acquire(7, cost, now); }
  Standing peek(Cost cost, SteadyInstant now) { return keyed.peek(7, cost, now); }

  Keyed keyed;
};

void expect_alike(const Standing& one, const Standing& other) {
  EXPECT_EQ(one.outcome, other.outcome);
  EXPECT_EQ(one.remaining, other.remaining);
  EXPECT_EQ(one.reset_at, other.reset_at);
}

template <typename Limiter>
struct Twins {
  Limiter& limiter;
  Limiter& twin;
};

/// Withdrawn at the reading at which it was taken: no trace is left.
template <typename Limiter>
void leaves_no_trace(const Twins<Limiter>& twins) {
  auto& [limiter, twin] = twins;
  std::minstd_rand random(1);
  SteadyInstant now = start;
  for (int step = 0; step < 10'000; ++step) {
    now += std::chrono::nanoseconds{random() % 3 == 0 ? random() % 900'000'000 : random() % 999};
    const Cost cost = 1 + static_cast<Cost>(random() % 3);
    auto pass = limiter.try_enter({.weight = cost}, now);
    if (pass && random() % 2 == 0) {
      pass.withdraw(now);
    } else {
      ASSERT_EQ(pass.refused(), twin.try_acquire(cost, now)) << "step " << step;
    }
    const Cost asked = 1 + static_cast<Cost>(random() % 3);
    expect_alike(limiter.peek(asked, now), twin.peek(asked, now));
    if (testing::Test::HasFailure()) FAIL() << "step " << step;
  }
}

enum class Loses : std::uint8_t { nothing, refill };

/// Several are out at a time, and are withdrawn later, in any order: whatever the limiter still
/// grants, its twin does, which never knew of them.
template <typename Limiter>
void mints_nothing(const Twins<Limiter>& twins, Loses loses) {
  auto& [limiter, twin] = twins;
  using Pass = decltype(limiter.try_enter({}, start));
  struct Held {
    Pass pass;
    int until;
  };
  std::minstd_rand random(2);
  std::vector<Held> out;
  SteadyInstant now = start;
  int kept = 0;
  int withdrawn = 0;
  for (int step = 0; step < 20'000; ++step) {
    now += std::chrono::nanoseconds{random() % 4 == 0 ? random() % 300'000'000 : random() % 999};
    for (std::size_t at = 0; at < out.size();) {
      if (out[at].until > step) {
        ++at;
        continue;
      }
      out[at].pass.withdraw(now);
      ++withdrawn;
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (out.empty()) {
      const Standing stands = limiter.peek(1, now);
      const Standing without = twin.peek(1, now);
      ASSERT_LE(stands.remaining, without.remaining) << "step " << step;
      if (loses == Loses::nothing) {
        ASSERT_EQ(stands.remaining, without.remaining) << "step " << step;
      }
    }
    const Cost cost = 1 + static_cast<Cost>(random() % 3);
    auto pass = limiter.try_enter({.weight = cost}, now);
    if (!pass) continue;
    if (random() % 2 == 0) {
      out.push_back({std::move(pass), step + static_cast<int>(random() % 5)});
    } else {
      ++kept;
      ASSERT_TRUE(twin.try_acquire(cost, now)) << "step " << step;
    }
  }
  EXPECT_GT(kept, 100);
  EXPECT_GT(withdrawn, 100);
}

constexpr const char* texts[] = {"10/1s burst 5",
                                 "7/3s burst 4",
                                 "leaky-bucket 5/1s",
                                 "leaky-bucket 7/3s queue 3",
                                 "fixed-window 5/1s",
                                 "sliding-window 6/1s",
                                 "sliding-log 6/1s",
                                 "10/1s burst 5 & sliding-log 20/5s",
                                 "10/1s burst 5 block 100ms"};

Loses loss_of(const std::string& text) {
  const bool counts = text.find("window") == 6 || text.find("sliding") == 0;
  return counts ? Loses::nothing : Loses::refill;
}

TEST(Withdraw, AtItsOwnReadingLeavesNoTrace) {
  ManualTime time(start);
  const ManualClock clock(time);
  for (const char* text : texts) {
    SCOPED_TRACE(text);
    auto limiter = Text::of(text, clock);
    auto twin = Text::of(text, clock);
    leaves_no_trace(Twins<Text>{limiter, twin});
  }
  const Word::Settings settings{.count = 7, .period = 3s, .burst = 4};
  Word limiter(settings, clock);
  Word twin(settings, clock);
  leaves_no_trace(Twins<Word>{limiter, twin});
}

TEST(Withdraw, LaterAndInAnyOrderMintsNothing) {
  ManualTime time(start);
  const ManualClock clock(time);
  for (const char* text : texts) {
    SCOPED_TRACE(text);
    auto limiter = Text::of(text, clock);
    auto twin = Text::of(text, clock);
    mints_nothing(Twins<Text>{limiter, twin}, loss_of(text));
  }
  const Word::Settings settings{.count = 7, .period = 3s, .burst = 4};
  Word limiter(settings, clock);
  Word twin(settings, clock);
  mints_nothing(Twins<Word>{limiter, twin}, Loses::refill);
}

TEST(Withdraw, OfOneKeyKeepsTheSameLaws) {
  ManualTime time(start);
  const ManualClock clock(time);
  using Words = OneKey<KeyedTokenBucket<int, ManualClock>>;
  const KeyedTokenBucket<int, ManualClock>::Settings settings{
      .count = 7, .period = 3s, .burst = 4, .max_keys = 100};
  {
    Words limiter(settings, clock);
    Words twin(settings, clock);
    leaves_no_trace(Twins<Words>{limiter, twin});
  }
  {
    Words limiter(settings, clock);
    Words twin(settings, clock);
    mints_nothing(Twins<Words>{limiter, twin}, Loses::refill);
  }
  using Limits = OneKey<KeyedLimiter<int, ManualClock>>;
  for (const char* text : texts) {
    SCOPED_TRACE(text);
    {
      Limits limiter(text, Table::Settings{.max_keys = 100}, clock);
      Limits twin(text, Table::Settings{.max_keys = 100}, clock);
      leaves_no_trace(Twins<Limits>{limiter, twin});
    }
    Limits limiter(text, Table::Settings{.max_keys = 100}, clock);
    Limits twin(text, Table::Settings{.max_keys = 100}, clock);
    mints_nothing(Twins<Limits>{limiter, twin}, loss_of(text));
  }
}

TEST(Withdraw, OfTheRefillSinceTheGrantLosesNoMoreThanThat) {
  ManualTime time(start);
  Word word({.count = 1'000, .period = 1s, .burst = 10}, ManualClock(time));
  for (int call = 0; call < 1'000; ++call) {
    auto pass = word.try_enter({}, start);
    ASSERT_TRUE(pass) << call;
    pass.withdraw(start + 1us);  // a thousandth of a unit flows in that time
  }
  EXPECT_GE(word.peek(1, start + 1us).remaining, 8);
}

}  // namespace
}  // namespace weir
