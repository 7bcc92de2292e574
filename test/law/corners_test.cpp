// The corners of configure(), and steps at the corners of time, cost and patience. Overflow is what
// the undefined-behaviour sanitizer looks for here; the laws hold all the same.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "test/law/machines.hpp"

namespace weir::law {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t longest = longest_span.count();

constexpr std::array<std::int64_t, 25> numbers{std::numeric_limits<std::int64_t>::min(),
                                               -longest,
                                               -1,
                                               0,
                                               1,
                                               2,
                                               3,
                                               7,
                                               999,
                                               1'000,
                                               1'001,
                                               999'983,
                                               1'000'000,
                                               1'000'000'000,
                                               1'000'000'001,
                                               std::int64_t{1} << 49,
                                               longest - 1,
                                               longest,
                                               longest + 1,
                                               longest * 3,
                                               (std::int64_t{1} << 53) - 1,
                                               std::int64_t{1} << 53,
                                               (std::int64_t{1} << 53) + 1,
                                               most - 1,
                                               most};

constexpr std::array<std::int64_t, 7> nows{
    -(std::int64_t{1} << 52), -1, 0, 1, 1'750'000'000'000'000, (std::int64_t{1} << 52) - 1,
    std::int64_t{1} << 52};

/// From the first instant that algorithms accept to the last.
constexpr Span longest_length{(std::int64_t{1} << 53) + 1};

/// Corner instants forwards and backwards, with corner costs and patiences, and grants given back.
template <typename M>
std::string violation_at_corners(const typename M::Config& config) {
  Laws<M> laws(config);
  const Cost capacity = M::capacity(config);
  for (std::size_t turn = 0; turn < nows.size(); ++turn) {
    const std::int64_t first = nows[turn];
    for (const std::int64_t second :
         {first, nows[(turn + 1) % nows.size()], nows[(turn + nows.size() - 2) % nows.size()]}) {
      Position<M> at;
      laws.ledger().clear();
      for (const std::int64_t now : {first, second}) {
        for (const Cost cost : {Cost{0}, Cost{1}, capacity, capacity + 1, Cost{most}}) {
          (void)laws.take(at, {Instant{Span{now}}, cost, {}});
          (void)laws.take(at, {Instant{Span{now}}, cost, Span{0}});
          (void)laws.take(at, {Instant{Span{now}}, cost, longest_span});
        }
        auto& ledger = laws.ledger();
        for (std::size_t index = ledger.size(); index-- > 0;) {
          if (!ledger[index].given_back && index % 2 == 0) laws.cancel(at, index);
        }
        (void)M::refund(config, at.state, at.now, most);
        ledger.clear();  // units of unknown grants went back: begin the bound anew
        at = {};
      }
      if (!laws.violation().empty()) {
        return laws.violation() + " at " + std::to_string(first) + ", " + std::to_string(second);
      }
    }
  }
  for (const Span length : {Span{-1}, Span{0}, Span{1}, longest_span, longest_length}) {
    const Cost bound = M::bound(config, length, most);
    if (bound < 0 || (length <= Span{0}) != (bound == 0)) return "bound of a corner length";
  }
  return {};
}

template <typename M>
struct Rescaling {
  typename M::Config from;
  typename M::Config to;
  Instant first;
  Instant second;
};

/// Nobody acts earlier for new numbers, and the state that comes of it keeps the laws.
template <typename M>
std::string violation_when_rescaled(const Rescaling<M>& change) {
  for (const Cost cost : {Cost{0}, Cost{1}, M::capacity(change.from)}) {
    typename M::State before{};
    (void)step<M>(change.from, before, {change.first, cost, longest_span});
    (void)step<M>(change.from, before, {change.first, cost, longest_span});
    Position<M> at;
    at.now = change.second;
    at.state = M::rescaled(change.from, change.to, before, at.now);
    const Instant was = M::earliest(change.from, before, at.now, 1);
    const Instant is = M::earliest(change.to, at.state, at.now, 1);
    if (was != is) return "the next turn";
    Laws<M> laws(change.to);
    for (const Span patience : {Span{0}, longest_span}) {
      (void)laws.take(at, {at.now, 1, patience});
      (void)laws.take(at, {at.now, M::capacity(change.to), patience});
    }
    if (!laws.violation().empty()) return laws.violation();
  }
  return {};
}

/// Why Gcra's numbers are no limit, from the exact product; the first cause of several may differ.
bool bucket_fits(std::int64_t count, std::int64_t period, std::int64_t burst) {
  if (count <= 0 || period <= 0 || burst <= 0 || period > longest) return false;
  if (Wide{count} > Wide{period} * 1000) return false;
  if (Wide{burst} * period / count > longest) return false;
  const std::int64_t rest = period % count;
  const std::int64_t reduced = rest == 0 ? 0 : rest / std::gcd(rest, count);
  return Wide{burst} * reduced <= Wide{1} << 53;
}

bool is_true_of(ConfigError error, std::int64_t count, std::int64_t period, std::int64_t burst) {
  switch (error) {
    case ConfigError::not_positive: return count <= 0 || period <= 0 || burst <= 0;
    case ConfigError::too_fast: return Wide{count} > Wide{period} * 1000;
    case ConfigError::too_long: return period > longest || Wide{burst} * period / count > longest;
    case ConfigError::too_fine: return period % count != 0;
    default: return false;
  }
}

std::string text(std::int64_t count, std::int64_t period, std::int64_t third) {
  return std::to_string(count) + " per " + std::to_string(period) + ", " + std::to_string(third);
}

TEST(Corners, ABucketIsRefusedExactlyWhereItsNumbersDoNotFit) {
  std::size_t fitting = 0;
  for (const std::int64_t count : numbers) {
    for (const std::int64_t period : numbers) {
      for (const std::int64_t burst : numbers) {
        const auto made = Gcra::configure({count, Span{period}, burst});
        ASSERT_EQ(made.has_value(), bucket_fits(count, period, burst))
            << text(count, period, burst);
        if (made) {
          ++fitting;
        } else {
          ASSERT_TRUE(is_true_of(made.error(), count, period, burst)) << text(count, period, burst);
        }
      }
    }
  }
  EXPECT_GT(fitting, 500u);
}

TEST(Corners, ABucketKeepsTheLawsAtEveryCorner) {
  for (const std::int64_t count : numbers) {
    for (const std::int64_t period : numbers) {
      for (const std::int64_t burst : numbers) {
        const auto made = Gcra::configure({count, Span{period}, burst});
        if (!made) continue;
        ASSERT_EQ(violation_at_corners<Gcra>(*made), "") << text(count, period, burst);
      }
    }
  }
}

TEST(Corners, ABucketPaidOverTimeKeepsTheLawsUpToTheLargestCostThatFits) {
  for (const std::int64_t count : numbers) {
    for (const std::int64_t period : numbers) {
      for (const std::int64_t burst : numbers) {
        const auto made =
            Gcra::configure({count, Span{period}, burst, Gcra::Oversize::pay_over_time});
        ASSERT_EQ(made.has_value(), bucket_fits(count, period, burst))
            << text(count, period, burst);
        if (!made) continue;
        ASSERT_TRUE(bucket_fits(count, period, made->largest)) << text(count, period, burst);
        ASSERT_FALSE(bucket_fits(count, period, made->largest + 1)) << text(count, period, burst);
        ASSERT_EQ(violation_at_corners<Gcra>(*made), "") << text(count, period, burst);
      }
    }
  }
}

TEST(Corners, APacerKeepsTheLawsAtEveryCorner) {
  for (const std::int64_t count : numbers) {
    for (const std::int64_t period : numbers) {
      for (const std::int64_t slack : numbers) {
        const auto made = Pacer::configure({count, Span{period}, slack});
        const bool fits = slack >= 0 && slack < most && bucket_fits(count, period, slack + 1);
        ASSERT_EQ(made.has_value(), fits) << text(count, period, slack);
        if (!made) continue;
        ASSERT_EQ(violation_at_corners<Pacer>(*made), "") << text(count, period, slack);
      }
    }
  }
}

TEST(Corners, AWarmUpKeepsTheLawsAtEveryCorner) {
  std::size_t fitting = 0;
  for (const std::int64_t count : numbers) {
    for (const std::int64_t period : numbers) {
      for (const std::int64_t warm : {std::int64_t{0}, std::int64_t{1}, std::int64_t{999'983},
                                      longest - 1, longest, longest + 1}) {
        for (const std::int64_t factor : numbers) {
          const auto made = WarmUp::configure({count, Span{period}, Span{warm}, factor});
          bool fits = bucket_fits(count, period, 1) && warm > 0 && warm <= longest && factor > 0;
          if (fits) {
            const Wide parts = Interval(Interval::Rate{count, Span{period}}).parts();
            fits = parts * 2 * (Wide{factor} + 1) <= Wide{1} << 53;
          }
          ASSERT_EQ(made.has_value(), fits) << text(count, period, warm) << ", " << factor;
          if (!made) continue;
          ++fitting;
          ASSERT_EQ(violation_at_corners<WarmUp>(*made), "")
              << text(count, period, warm) << ", " << factor;
        }
      }
    }
  }
  EXPECT_GT(fitting, 1'000u);
}

TEST(Corners, AStateIsRescaledBetweenAnyTwoCorners) {
  const std::vector<Pacer::Config> paces = {
      pacer({1, Span{longest}, 0}), pacer({1'000'000'000, Span{1'000'000}, 1'000'000}),
      pacer({999'983, Span{1'000'000}, 999'983}), pacer({1, Span{1}, longest - 1})};
  const std::vector<WarmUp::Config> warms = {
      warm_up({1, Span{longest}, Span{longest}, std::int64_t{1} << 51}),
      warm_up({1'000'000'000, Span{1'000'000}, Span{1}, 3}),
      warm_up({999'983, Span{1'000'000}, Span{longest}, 1'000'000}),
      warm_up({1, Span{1}, Span{4}, 1})};
  for (const std::int64_t first : nows) {
    for (const std::int64_t second : nows) {
      for (std::size_t one = 0; one < paces.size(); ++one) {
        for (std::size_t other = 0; other < paces.size(); ++other) {
          ASSERT_EQ((violation_when_rescaled<Pacer>(
                        {paces[one], paces[other], Instant{Span{first}}, Instant{Span{second}}})),
                    "")
              << one << ", " << other;
          ASSERT_EQ((violation_when_rescaled<WarmUp>(
                        {warms[one], warms[other], Instant{Span{first}}, Instant{Span{second}}})),
                    "")
              << one << ", " << other;
        }
      }
    }
  }
}

TEST(Corners, ALeakyBucketKeepsTheLawsAtEveryCorner) {
  for (const std::int64_t count : numbers) {
    for (const std::int64_t period : numbers) {
      for (const std::int64_t queue : numbers) {
        const auto made = LeakyBucket::configure({count, Span{period}, queue});
        const bool fits = queue >= 0 && queue < most && bucket_fits(count, period, queue + 1);
        ASSERT_EQ(made.has_value(), fits) << text(count, period, queue);
        if (!made) continue;
        ASSERT_EQ(violation_at_corners<LeakyBucket>(*made), "") << text(count, period, queue);
      }
    }
  }
}

TEST(Corners, AFixedWindowKeepsTheLawsAtEveryCorner) {
  for (const std::int64_t count : numbers) {
    for (const std::int64_t period : numbers) {
      const auto made = FixedWindow::configure({count, Span{period}});
      const bool fits = count > 0 && period > 0 && count <= longest && period <= longest;
      ASSERT_EQ(made.has_value(), fits) << text(count, period, 0);
      if (!made) continue;
      ASSERT_EQ(violation_at_corners<FixedWindow>(*made), "") << text(count, period, 0);
    }
  }
}

TEST(Corners, ACalendarWindowKeepsTheLawsAtEveryCorner) {
  for (const std::int64_t count : numbers) {
    for (const CalendarUnit unit : calendar_units) {
      for (const TimeZone* zone : {&TimeZone::utc(), &restless_days(), &restless_minutes()}) {
        const auto made = CalendarWindow::configure({count, unit, *zone});
        ASSERT_EQ(made.has_value(), count > 0 && count <= longest) << count;
        if (!made) continue;
        ASSERT_EQ(violation_at_corners<CalendarWindow>(*made), "") << count << "/" << name(unit);
      }
    }
  }
}

TEST(Corners, ASlidingWindowKeepsTheLawsAtEveryCorner) {
  for (const std::int64_t count : numbers) {
    for (const std::int64_t period : numbers) {
      for (const std::int64_t parts : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7},
                                       std::int64_t{1024}, std::int64_t{1025}, most}) {
        const auto made = SlidingWindow::configure({count, Span{period}, parts});
        const bool fits = count > 0 && period > 0 && count <= longest && period <= longest &&
                          parts > 0 && parts <= 1024 && parts <= period;
        ASSERT_EQ(made.has_value(), fits) << text(count, period, parts);
        if (!made || parts > 100) continue;
        ASSERT_EQ(violation_at_corners<SlidingWindow>(*made), "") << text(count, period, parts);
      }
    }
  }
}

TEST(Corners, ASlidingLogKeepsTheLawsAtEveryCorner) {
  for (const std::int64_t count : numbers) {
    for (const std::int64_t period : numbers) {
      const auto made = SlidingLog::configure({count, Span{period}});
      const bool fits = count > 0 && period > 0 && count <= 100'000 && period <= longest;
      ASSERT_EQ(made.has_value(), fits) << text(count, period, 0);
      if (!made || count > 1'001) continue;
      ASSERT_EQ(violation_at_corners<SlidingLog>(*made), "") << text(count, period, 0);
    }
  }
}

TEST(Corners, SoMuchAtOnceKeepsTheLawsAtEveryCorner) {
  for (const std::int64_t count : numbers) {
    for (const std::int64_t lease : numbers) {
      const auto made = Concurrency::configure({count, Span{lease}});
      const bool fits = count > 0 && lease > 0 && count <= 10'000 && lease <= longest;
      ASSERT_EQ(made.has_value(), fits) << text(count, lease, 0);
      if (!made) continue;
      ASSERT_EQ(violation_at_corners<Concurrency>(*made), "") << text(count, lease, 0);
    }
  }
}

TEST(Corners, APenaltyAndSeveralLimitsKeepTheLawsAtEveryCorner) {
  for (const std::int64_t penalty : {std::int64_t{0}, std::int64_t{1}, longest}) {
    for (const std::int64_t period : {std::int64_t{1}, std::int64_t{999'983}, longest}) {
      const Single::Config terms[] = {gcra({3, Span{period}, 3}), leaky({3, Span{period}, 2}),
                                      fixed({3, Span{period}}),   sliding({3, Span{period}, 1}),
                                      log({3, Span{period}}),     at_once({3, Span{period}})};
      for (const auto& one : terms) {
        ASSERT_EQ(violation_at_corners<Block<Single>>({one, Span{penalty}}), "") << period;
        for (const auto& other : terms) {
          const Limit::Machine::Config both = composite({{one, Span{penalty}}, {other, Span{0}}});
          ASSERT_EQ(violation_at_corners<Limit::Machine>(both), "") << period;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weir::law
