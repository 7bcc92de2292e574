// What a chain does with its gates.
#include "weir/local/chain.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "test/local/chain/fake_gate.hpp"
#include "weir/algorithm/pacer.hpp"
#include "weir/local/keyed_limiter.hpp"
#include "weir/local/keyed_token_bucket.hpp"
#include "weir/local/limiter.hpp"
#include "weir/local/of_key.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr SteadyInstant start{1h};

SteadyInstant at(int ns) { return SteadyInstant{std::chrono::nanoseconds{ns}}; }

struct Chained : testing::Test {
  FakeGate fake(const char* name) { return {.called = name, .journal = &journal, .told = clock}; }

  ManualTime time{at(5)};
  ManualClock clock{time};
  Journal journal;
  FakeGate a = fake("a");
  FakeGate b = fake("b");
  FakeGate c = fake("c");
};

TEST_F(Chained, AsksFromLeftToRightWithOneReadingOfTheClock) {
  auto guard = chain(a, b, c);
  auto passage = guard.try_enter({.weight = 3, .priority = Priority::background});
  EXPECT_TRUE(passage);
  EXPECT_EQ(passage.refused_by(), 3u);
  EXPECT_EQ(journal, (Journal{"a in 5", "b in 5", "c in 5"}));
  EXPECT_EQ(c.seen.weight, 3);
  EXPECT_EQ(c.seen.priority, Priority::background);
}

TEST_F(Chained, ARefusalWithdrawsWhatWasTakenBeforeItTheLastFirst) {
  c.closed = true;
  c.ready_at = at(90);
  auto passage = chain(a, b, c).try_enter({}, at(8));
  EXPECT_FALSE(passage);
  EXPECT_EQ(journal, (Journal{"a in 8", "b in 8", "c in 8", "b out", "a out"}));
  EXPECT_EQ(passage.refused_by(), 2u);
  EXPECT_EQ(passage.ready_at(), at(90));
  EXPECT_EQ(a.in_flight + b.in_flight, 0);
}

TEST_F(Chained, GatesBehindTheOneThatRefusesAreNotAsked) {
  a.closed = true;
  auto guard = chain(a, b, c);
  auto passage = guard.try_enter();
  EXPECT_EQ(journal, (Journal{"a in 5"}));
  EXPECT_EQ(passage.refused_by(), 0u);
  ASSERT_NE(passage.pass<0>(), nullptr);
  EXPECT_EQ(passage.pass<0>()->refused().why, 7);
  EXPECT_EQ(passage.pass<1>(), nullptr);
}

TEST_F(Chained, TheEndOfTheCallIsHeardByAllOnce) {
  auto guard = chain(a, b);
  auto passage = guard.try_enter();
  journal.clear();
  passage.end(CallEnd::failure, at(9));
  passage.end(CallEnd::success);
  passage.withdraw();
  EXPECT_EQ(journal, (Journal{"b failure 9", "a failure 9"}));
}

TEST_F(Chained, WhatIsDestroyedBeforeItEndedIsIgnored) {
  auto guard = chain(a, b);
  {
    auto passage = guard.try_enter();
    journal.clear();
  }
  EXPECT_EQ(journal.size(), 2u);
  EXPECT_EQ(a.in_flight + b.in_flight, 0);
  EXPECT_EQ(journal.front().substr(2), "ignored");
}

TEST_F(Chained, AMovedPassageIsTheOneThatCounts) {
  auto guard = chain(a, b);
  auto first = guard.try_enter();
  auto second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): so it is promised
  first.end(CallEnd::failure);
  EXPECT_TRUE(second);
  EXPECT_EQ(a.in_flight, 1);
  second = guard.try_enter();
  EXPECT_EQ(a.in_flight, 1);
  second.withdraw();
  EXPECT_EQ(a.in_flight + b.in_flight, 0);
}

TEST_F(Chained, AGateThatThrowsLeavesNothingTaken) {
  c.broken = true;
  auto guard = chain(a, b, c);
  EXPECT_THROW((void)guard.try_enter(), std::runtime_error);
  EXPECT_EQ(journal, (Journal{"a in 5", "b in 5", "c in 5", "b out", "a out"}));
}

TEST_F(Chained, AChainIsAGate) {
  auto inner = chain(b, c);
  static_assert(Gate<decltype(inner)>);
  c.closed = true;
  auto passage = chain(a, inner).try_enter();
  EXPECT_EQ(passage.refused_by(), 1u);
  EXPECT_EQ(passage.pass<1>()->refused().by, 1u);
  EXPECT_EQ(a.in_flight + b.in_flight, 0);
}

// ---- Rate limiters as gates ----

using Word = BasicLimiter<AtomicWord, ManualClock>;
using Text = BasicLimiter<LimitState, ManualClock>;
static_assert(Gate<Word>);
static_assert(Gate<Text>);
static_assert(!Gate<BasicLimiter<TypedState<Pacer>, ManualClock>>);  // it cannot take units back
static_assert(Gate<OfKey<KeyedLimiter<std::string>>>);
static_assert(Gate<OfKey<KeyedTokenBucket<int>>>);

TEST_F(Chained, ALimiterGetsItsUnitsBackWhereAGateFurtherInRefuses) {
  Word word({.count = 1, .period = 1s, .burst = 3}, clock);
  auto text = Text::of("sliding-log 3/1s", clock);
  b.closed = true;
  auto guard = chain(word, text, b);
  for (int call = 0; call < 10; ++call) {
    EXPECT_EQ(guard.try_enter({.weight = 2}).refused_by(), 2u);
    time.advance(10ns);
  }
  EXPECT_EQ(word.peek().remaining, 3);
  EXPECT_EQ(text.peek().remaining, 3);
  b.closed = false;
  guard.try_enter({.weight = 2}).end(CallEnd::failure);
  EXPECT_EQ(word.peek().remaining, 1);
  EXPECT_EQ(text.peek().remaining, 1);
}

TEST_F(Chained, ALimiterThatRefusesTellsWhenToAskAgain) {
  time.set(start);
  Word word({.count = 1, .period = 1s, .burst = 1}, clock);
  auto guard = chain(a, word);
  EXPECT_TRUE(guard.try_enter());
  auto second = guard.try_enter();
  EXPECT_EQ(second.refused_by(), 1u);
  EXPECT_EQ(second.ready_at(), start + 1s);
  EXPECT_EQ(second.pass<1>()->refused().refusal, Refusal::limit);
  EXPECT_EQ(a.in_flight, 0);
  EXPECT_EQ(guard.try_enter({.weight = 2}).ready_at(), SteadyInstant::max());
  EXPECT_TRUE(guard.try_enter({}, start + 1s));
}

TEST_F(Chained, APassMayBeWithdrawnLaterByWhoHoldsIt) {
  time.set(start);
  Word word({.count = 1, .period = 1h, .burst = 3}, clock);
  auto guard = chain(word, a);
  auto passage = guard.try_enter();
  time.advance(1s);
  EXPECT_TRUE(word.try_acquire());
  passage.withdraw();
  passage.withdraw();
  EXPECT_FALSE(word.try_acquire(2));  // the second's refill is lost, and no more
  EXPECT_TRUE(word.try_acquire(2, start + 2s + 1us));
}

TEST_F(Chained, WhatWasGrantedUnderOtherNumbersStaysTaken) {
  time.set(start);
  Word word({.count = 1, .period = 1h, .burst = 3}, clock);
  auto text = Text::of("3/1h", clock);
  const auto check = [&](auto& limiter, const auto& to) {
    auto pass = limiter.try_enter({.weight = 2});
    limiter.reconfigure(to, Inherit::reset);
    EXPECT_TRUE(limiter.try_acquire(3));
    pass.withdraw();
    EXPECT_EQ(limiter.peek().remaining, 0);
  };
  check(word, Word::Settings{.count = 1, .period = 1h, .burst = 3});
  check(text, Limit::of("3/1h"));
}

TEST_F(Chained, WhoWaitsMovesUpWhenAPassBeforeItIsWithdrawn) {
  time.set(start);
  Word word({.count = 1, .period = 1h, .burst = 1}, clock);
  auto text = Text::of("1/1h", clock);
  const auto check = [&](auto& limiter) {
    auto pass = limiter.try_enter();
    Sleeper waiter;
    EXPECT_EQ(limiter.host().join(waiter, start, 1, 2h).ready_at, start + 1h);
    pass.withdraw();
    EXPECT_EQ(limiter.host().look(waiter, start).verdict, Verdict::granted);
    EXPECT_FALSE(limiter.try_acquire());
  };
  check(word);
  check(text);
}

template <typename Keyed>
void one_key_gets_its_units_back(Keyed& keyed, FakeGate& further) {
  const std::string alice = "alice";
  auto guard = chain(on(keyed, alice), further);
  further.closed = true;
  for (int call = 0; call < 10; ++call) EXPECT_FALSE(guard.try_enter({.weight = 3}));
  EXPECT_EQ(keyed.peek(alice).remaining, 3);
  further.closed = false;
  EXPECT_TRUE(guard.try_enter({.weight = 3}));
  EXPECT_EQ(guard.try_enter().refused_by(), 0u);
  EXPECT_EQ(keyed.peek("bob").remaining, 3);
}

TEST_F(Chained, AKeyOfALimiterIsAGate) {
  time.set(start);
  KeyedTokenBucket<std::string, ManualClock> words(
      {.count = 3, .period = 1h, .burst = 3, .max_keys = 100}, clock);
  one_key_gets_its_units_back(words, a);
  KeyedLimiter<std::string, ManualClock> limits("sliding-window 3/1h", {.max_keys = 100}, clock);
  one_key_gets_its_units_back(limits, a);
}

TEST_F(Chained, APassOutlivesTheChainThatKeptItsGate) {
  time.set(start);
  KeyedTokenBucket<int, ManualClock> words({.count = 1, .period = 1h, .burst = 1, .max_keys = 100},
                                           clock);
  auto passage = chain(on(words, 7), a).try_enter();
  EXPECT_FALSE(words.try_acquire(7));
  passage.withdraw();
  EXPECT_TRUE(words.try_acquire(7));
}

TEST_F(Chained, AKeyWithNumbersOfItsOwnGetsItsUnitsBackToo) {
  time.set(start);
  KeyedTokenBucket<int, ManualClock> words({.count = 1, .period = 1h, .burst = 1, .max_keys = 100},
                                           clock);
  ASSERT_TRUE(words.override_for(7, {.count = 1, .period = 1h, .burst = 5}));
  time.advance(1ns);
  auto pass = on(words, 7).try_enter({.weight = 4});
  EXPECT_EQ(words.peek(7).remaining, 1);
  pass.withdraw();
  EXPECT_EQ(words.peek(7).remaining, 5);
}

}  // namespace
}  // namespace weir
