// What a state is worth under a clock that is set back: decision 0012.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "weir/limit.hpp"

namespace weir::law {
namespace {

using Machine = Limit::Machine;

static_assert(Settling<Machine>);

/// A limit, and how long settle() may leave a key shut out beyond the slack.
struct Settled {
  const char* limit;
  Span lock_out;
};
constexpr std::chrono::milliseconds ms{1};

const Settled settled_limits[] = {
    {"5/1s", 1000 * ms},
    {"100/1s burst 7", 70 * ms},
    {"3/7ms burst 4", 10 * ms},  // nine and a third, to the next tick
    {"1000000/7ms burst 3000", 1 * ms},
    {"leaky-bucket 10/1s queue 5", 600 * ms},
    {"fixed-window 3/100ms", 200 * ms},
    {"fixed-window 50/1s", 2000 * ms},
    {"calendar-window 900/minute zone Asia/Kathmandu", 120'000 * ms},
    {"sliding-window 4/1s", 1100 * ms},
    {"sliding-window 6/70ms parts 3", 94 * ms},
    {"sliding-log 3/100ms", 100 * ms},
    {"concurrency 4/100ms", 100 * ms},
    {"5/1s block 300ms", 1300 * ms},
    {"leaky-bucket 10/1s queue 4 & sliding-window 8/2s parts 4", 2500 * ms},
};

class Settle : public testing::TestWithParam<Settled> {
 protected:
  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
  }
  /// Mostly little.
  Span some_time() {
    const std::int64_t most[] = {2, 100, 20'000, 300'000, 3'000'000};
    return Span{below(most[below(5)])};
  }
  Cost some_cost() { return 1 + below(Machine::capacity(limit_.config())); }

  Limit limit_ = Limit::of(GetParam().limit);
  std::mt19937_64 random_{20261120};
};

TEST_P(Settle, LeavesWhatAnyGrantLeftWhileTheClockGoesOn) {
  const auto own = Machine::own_wait(limit_.config(), 1);
  const Span slack = std::max(own.value_or(Span{0}), Span{70'000});
  Limit::State state;
  Instant now{std::chrono::seconds{1'000}};
  int grants = 0;
  for (int event = 0; event < 12'000; ++event) {
    now += some_time();
    Limit::State settled = state;
    Machine::settle(limit_.config(), settled, now, slack);
    ASSERT_EQ(settled, state) << event;
    Request request{now, some_cost(), {}};
    if (below(3) > 0) request.patience = Span{below(slack.count() + 1)};
    const Decision decision = step<Machine>(limit_.config(), state, request);
    if (!taken(decision.verdict)) continue;
    ++grants;
    if (below(4) > 0) continue;
    Grant grant = grant_of<Machine>(limit_.config(), state, request, decision);
    grant.turn = Turn::joint;
    (void)cancel<Machine>(limit_.config(), state, now, grant);
  }
  EXPECT_GT(grants, 300);
}

TEST_P(Settle, ShutsNobodyOutForLongerThanStated) {
  const Span slack{25'000};
  for (int round = 0; round < 2'000; ++round) {
    Limit::State state;
    Instant now{std::chrono::seconds{1'000}};
    for (int event = 0; event < 5; ++event) {
      now += some_time();
      (void)step<Machine>(limit_.config(), state, {now, some_cost(), Span{below(25'001)}});
    }
    now -= Span{below(2) == 0 ? below(100'000) : below(50'000'000)};
    Machine::settle(limit_.config(), state, now, slack);
    Limit::State again = state;
    Machine::settle(limit_.config(), again, now, slack);
    ASSERT_EQ(again, state);
    const Cost capacity = Machine::capacity(limit_.config());
    ASSERT_LE(Machine::earliest(limit_.config(), state, now, capacity) - now,
              slack + GetParam().lock_out)
        << round;
  }
}

struct Acted {
  Instant at;   ///< as it truly was
  Span jumped;  ///< how far the clock had been set forward by then
  Cost cost;
};

/// In no stretch of true time more than the bound; a clock that is set forward by d counts as d.
void expect_bound(const Limit& limit, const std::vector<Acted>& acts) {
  for (std::size_t first = 0; first < acts.size(); ++first) {
    Cost sum = 0;
    Cost largest = 0;
    for (std::size_t last = first; last < acts.size() && last < first + 60; ++last) {
      sum += acts[last].cost;
      largest = std::max(largest, acts[last].cost);
      const Span length =
          acts[last].at - acts[first].at + Span{1} + acts[last].jumped - acts[first].jumped;
      ASSERT_LE(sum, Machine::bound(limit.config(), length, largest))
          << limit.text() << ": " << first << " to " << last;
    }
  }
}

TEST_P(Settle, MintsNothingHoweverOftenTheClockIsSetBack) {
  for (const std::int64_t slack : {0, 25'000}) {
    Limit::State state;
    Instant truly{std::chrono::seconds{1'000}};
    Span offset{0};
    Span jumped{0};
    std::vector<Acted> acts;
    for (int event = 0; event < 9'000; ++event) {
      if (below(3) == 0) truly += some_time();
      if (below(150) == 0) offset -= Span{below(2) == 0 ? below(300'000) : below(20'000'000)};
      if (below(200) == 0) {
        const Span jump{below(400'000)};
        offset += jump;
        jumped += jump;
      }
      const Instant now = truly + offset;
      const Cost cost = below(4) == 0 ? some_cost() : 1;
      Limit::State asked = state;
      Machine::settle(limit_.config(), asked, now, Span{slack});
      const Decision decision = step<Machine>(limit_.config(), asked, {now, cost, Span{0}});
      if (decision.verdict != Verdict::granted) continue;
      state = asked;
      acts.push_back({truly, jumped, cost});
    }
    EXPECT_GT(acts.size(), 50u);
    expect_bound(limit_, acts);
  }
}

INSTANTIATE_TEST_SUITE_P(Limits, Settle, testing::ValuesIn(settled_limits));

}  // namespace
}  // namespace weir::law
