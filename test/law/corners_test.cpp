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

TEST(Corners, APenaltyAndSeveralLimitsKeepTheLawsAtEveryCorner) {
  for (const std::int64_t penalty : {std::int64_t{0}, std::int64_t{1}, longest}) {
    for (const std::int64_t period : {std::int64_t{1}, std::int64_t{999'983}, longest}) {
      const Single::Config terms[] = {gcra({3, Span{period}, 3}), leaky({3, Span{period}, 2}),
                                      fixed({3, Span{period}}), sliding({3, Span{period}, 1}),
                                      log({3, Span{period}})};
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
