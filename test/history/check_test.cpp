// The checker is judged before it judges: correct stores are never blamed, faulty ones are.
#include "test/history/check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "test/history/simulated_store.hpp"
#include "test/history/wide.hpp"

namespace weir::history {
namespace {

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000 * us;
constexpr std::int64_t second = 1'000 * ms;
constexpr std::uint64_t seeds = 30;

struct Interval {
  std::int64_t from_ns;
  std::int64_t until_ns;
};

Record admission(const Interval& interval) {
  return {.called_at_ns = interval.from_ns, .returned_at_ns = interval.until_ns, .admitted = true};
}

Record denial(const Interval& interval) {
  return {.called_at_ns = interval.from_ns, .returned_at_ns = interval.until_ns, .admitted = false};
}

Record instantly(std::int64_t at_ns) { return admission({at_ns, at_ns}); }

/// How many of the histories of seeds 1 to 30 a check blames.
std::uint64_t blamed(const std::function<Report(std::uint64_t seed)>& check) {
  std::uint64_t count = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (!check(seed).kept()) ++count;
  }
  return count;
}

// Some 90 000 requests a second are offered: nine times this limit, which is always empty,
constexpr Bucket saturated{.burst = 20, .count = 10'000, .period_ns = second};
// half as much again as this one,
constexpr Bucket busy{.burst = 20, .count = 60'000, .period_ns = second};
// and less than this one, which is empty now and then.
constexpr Bucket roomy{.burst = 20, .count = 120'000, .period_ns = second};

TEST(AdmissionsOfABucket, TheBurstAtOneInstantIsAllowedAndOneMoreIsNot) {
  const Bucket limit{.burst = 3, .count = 1, .period_ns = second};
  History history{instantly(5), instantly(5), instantly(5)};
  EXPECT_TRUE(check_admissions(history, limit).kept());
  history.push_back(instantly(5));
  const Report report = check_admissions(history, limit);
  EXPECT_EQ(report.violations, 1);
  ASSERT_TRUE(report.first);
  EXPECT_EQ(report.first->cost, 4);
  EXPECT_EQ(report.first->allowed, 3);
  EXPECT_EQ(report.explanation,
            "key 0: 4 admitted wholly inside [5, 5] ns (0 ns long), where the limit allows 3; "
            "violations in all: 1");
}

TEST(AdmissionsOfABucket, AnAdmissionAMicrosecondEarlyIsForgivenAndANanosecondMoreIsNot) {
  const Bucket limit{.burst = 1, .count = 1, .period_ns = ms};
  EXPECT_TRUE(check_admissions({instantly(0), instantly(ms - us)}, limit).kept());
  EXPECT_FALSE(check_admissions({instantly(0), instantly(ms - us - 1)}, limit).kept());
}

TEST(AdmissionsOfABucket, AnAdmissionThatMayLieOutsideTheIntervalDoesNotCount) {
  const Bucket limit{.burst = 1, .count = 1, .period_ns = ms};
  EXPECT_TRUE(check_admissions({instantly(0), admission({0, ms})}, limit).kept());
  EXPECT_FALSE(check_admissions({instantly(0), admission({0, ms / 2})}, limit).kept());
}

TEST(AdmissionsOfABucket, EachKeyHasItsOwnLimit) {
  const Bucket limit{.burst = 1, .count = 1, .period_ns = second};
  History history{instantly(0), instantly(0)};
  history[1].key = 9;
  EXPECT_TRUE(check_admissions(history, limit).kept());
  history[0].key = 9;
  const Report report = check_admissions(history, limit);
  ASSERT_TRUE(report.first);
  EXPECT_EQ(report.first->key, 9U);
}

TEST(AdmissionsOfABucket, CostCounts) {
  const Bucket limit{.burst = 5, .count = 1, .period_ns = second};
  History history{instantly(0), instantly(0)};
  history[0].cost = 3;
  history[1].cost = 2;
  EXPECT_TRUE(check_admissions(history, limit).kept());
  history[1].cost = 3;
  EXPECT_EQ(check_admissions(history, limit).violations, 1);
}

TEST(AdmissionsOfABucket, AnAnswerThatNeverCameIsNoAdmission) {
  const Bucket limit{.burst = 1, .count = 1, .period_ns = second};
  EXPECT_TRUE(check_admissions({instantly(0), admission({0, never_returned})}, limit).kept());
}

TEST(AdmissionsOfABucket, NumbersThatPass64BitsAreAddedUpExactly) {
  const Bucket limit{
      .burst = std::int64_t{1} << 50, .count = 1'000'000'000, .period_ns = 86'400 * ms};
  const std::int64_t start = std::int64_t{1} << 60;
  History history{instantly(start), instantly(start)};
  history[0].cost = limit.burst;
  history[1].cost = 11;  // In a microsecond drip 11.57.
  EXPECT_TRUE(check_admissions(history, limit).kept());
  history[1].cost = 12;
  EXPECT_FALSE(check_admissions(history, limit).kept());
}

TEST(AdmissionsOfABucket, ACorrectStoreIsNeverBlamed) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Simulation simulation{
        .seed = seed, .store_epoch_ns = static_cast<std::int64_t>(seed) * 1'234'567'891'234'567};
    const History history = simulate(simulation, saturated);
    ASSERT_EQ(history.size(), 4'000U);
    EXPECT_EQ(check_admissions(history, saturated).explanation, "") << "seed " << seed;
  }
}

TEST(AdmissionsOfABucket, ACorrectStoreThatAppliesReadingsOutOfOrderIsNeverBlamed) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Simulation simulation{
        .seed = seed, .keys = 3, .cost_max = 4, .reading_age_ns_max = 500 * us};
    const History history = simulate(simulation, saturated);
    EXPECT_EQ(check_admissions(history, saturated).explanation, "") << "seed " << seed;
  }
}

std::uint64_t blamed_with_extra_admissions(std::int64_t parts_per_million) {
  return blamed([&](std::uint64_t seed) {
    const Simulation simulation{.seed = seed,
                                .faults = {.extra_admissions_ppm = parts_per_million}};
    return check_admissions(simulate(simulation, saturated), saturated);
  });
}

TEST(AdmissionsOfABucket, OneExtraAdmissionInAThousandIsMostlyCaught) {
  EXPECT_GE(blamed_with_extra_admissions(1'000), 25U);
}

TEST(AdmissionsOfABucket, ThreeExtraAdmissionsInAThousandAreCaught) {
  EXPECT_GE(blamed_with_extra_admissions(3'000), 29U);
}

TEST(AdmissionsOfABucket, TenExtraAdmissionsInAThousandAreAlwaysCaught) {
  EXPECT_EQ(blamed_with_extra_admissions(10'000), seeds);
}

TEST(DenialsOfABucket, TheFirstRequestMustNotBeDenied) {
  const Bucket limit{.burst = 1, .count = 1, .period_ns = second};
  const Report report = check_denials({denial({10, 20})}, limit);
  EXPECT_EQ(report.violations, 1);
  EXPECT_EQ(report.explanation,
            "key 0: 1 denied in [10, 20] ns (10 ns long), where there was room for at least 1; "
            "violations in all: 1");
  EXPECT_FALSE(check_denials({denial({10, 20})}, limit, ClockReading::apart).kept());
}

TEST(DenialsOfABucket, ACostAboveTheBurstIsRightlyDenied) {
  const Bucket limit{.burst = 1, .count = 1, .period_ns = second};
  History history{denial({10, 20})};
  history[0].cost = 2;
  EXPECT_TRUE(check_denials(history, limit).kept());
}

TEST(DenialsOfABucket, ADenialIsExcusedByAnAdmissionThatMayHaveComeFirst) {
  const Bucket limit{.burst = 1, .count = 1, .period_ns = second};
  EXPECT_TRUE(check_denials({denial({10, 20}), admission({20, 30})}, limit).kept());
  EXPECT_FALSE(check_denials({denial({10, 20}), admission({21, 30})}, limit).kept());
}

TEST(DenialsOfABucket, ADenialIsExcusedByARequestWhoseAnswerNeverCame) {
  const Bucket limit{.burst = 1, .count = 1, .period_ns = second};
  EXPECT_TRUE(check_denials({denial({10, 20}), admission({5, never_returned})}, limit).kept());
}

TEST(DenialsOfABucket, ADenialIsWrongOnceTheTokenIsCertainlyBack) {
  const Bucket limit{.burst = 1, .count = 1, .period_ns = ms};
  const std::int64_t back_at = 30 + ms + us;
  const auto check = [&](std::int64_t called_at) {
    return check_denials({admission({20, 30}), denial({called_at, 2 * ms})}, limit);
  };
  EXPECT_TRUE(check(back_at - 1).kept());
  EXPECT_FALSE(check(back_at).kept());
}

TEST(DenialsOfABucket, ALaterReadingAppliedFirstExcusesADenialOnlyWhereClocksAreReadApart) {
  const Bucket limit{.burst = 2, .count = 1, .period_ns = ms};
  const History history{admission({0, 2 * ms}), denial({0, 2 * ms})};
  EXPECT_FALSE(check_denials(history, limit, ClockReading::in_order).kept());
  EXPECT_TRUE(check_denials(history, limit, ClockReading::apart).kept());
}

TEST(DenialsOfABucket, ACorrectStoreIsNeverBlamed) {
  for (const Bucket& limit : {saturated, busy, roomy}) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const Simulation simulation{
          .seed = seed, .keys = 1 + seed % 3, .cost_max = 1 + static_cast<std::int64_t>(seed % 5)};
      const History history = simulate(simulation, limit);
      EXPECT_EQ(check_denials(history, limit).explanation, "") << "seed " << seed;
    }
  }
}

TEST(DenialsOfABucket, ACorrectStoreThatAppliesReadingsOutOfOrderIsNeverBlamed) {
  for (const Bucket& limit : {saturated, busy, roomy}) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const Simulation simulation{
          .seed = seed, .keys = 2, .cost_max = 3, .reading_age_ns_max = 2 * ms};
      const History history = simulate(simulation, limit);
      EXPECT_EQ(check_denials(history, limit, ClockReading::apart).explanation, "")
          << "seed " << seed;
    }
  }
}

std::uint64_t blamed_with_wrong_denials(std::int64_t parts_per_million, ClockReading clock) {
  return blamed([&](std::uint64_t seed) {
    const Simulation simulation{.seed = seed, .faults = {.wrong_denials_ppm = parts_per_million}};
    return check_denials(simulate(simulation, roomy), roomy, clock);
  });
}

TEST(DenialsOfABucket, OneWrongDenialInAThousandIsMostlyCaught) {
  EXPECT_GE(blamed_with_wrong_denials(1'000, ClockReading::in_order), 24U);
  EXPECT_GE(blamed_with_wrong_denials(1'000, ClockReading::apart), 23U);
}

TEST(DenialsOfABucket, TenWrongDenialsInAThousandAreAlwaysCaught) {
  EXPECT_EQ(blamed_with_wrong_denials(10'000, ClockReading::in_order), seeds);
  EXPECT_EQ(blamed_with_wrong_denials(10'000, ClockReading::apart), seeds);
}

TEST(Windows, ACorrectSlidingLogIsNeverBlamed) {
  const SlidingWindow limit{.limit = 50, .length_ns = 5 * ms};
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Simulation simulation{.seed = seed,
                                .keys = 2,
                                .cost_max = 3,
                                .store_epoch_ns = static_cast<std::int64_t>(seed) * 999'983};
    const History history = simulate(simulation, limit);
    EXPECT_EQ(check_admissions(history, limit).explanation, "") << "seed " << seed;
    EXPECT_EQ(check_denials(history, limit).explanation, "") << "seed " << seed;
  }
}

TEST(Windows, FaultsOfASlidingLogAreCaught) {
  const SlidingWindow limit{.limit = 50, .length_ns = 5 * ms};
  EXPECT_GE(blamed([&](std::uint64_t seed) {
              const Simulation simulation{.seed = seed, .faults = {.extra_admissions_ppm = 10'000}};
              return check_admissions(simulate(simulation, limit), limit);
            }),
            28U);
  const SlidingWindow wide{.limit = 200, .length_ns = 5 * ms};
  EXPECT_GE(blamed([&](std::uint64_t seed) {
              const Simulation simulation{.seed = seed, .faults = {.wrong_denials_ppm = 10'000}};
              return check_denials(simulate(simulation, wide), wide);
            }),
            28U);
}

TEST(Windows, TwoAdmissionsAWindowApartOnTheStoresClockAreApart) {
  const SlidingWindow limit{.limit = 1, .length_ns = ms};
  EXPECT_FALSE(check_admissions({instantly(0), instantly(ms - us)}, limit).kept());
  EXPECT_TRUE(check_admissions({instantly(0), instantly(ms - us + 1)}, limit).kept());
}

TEST(Windows, AFixedWindowIsJudgedByItsOwnGridAndNotByAnyWindow) {
  AlignedWindow limit{.limit = 50, .length_ns = 5 * ms};
  std::uint64_t twice_the_limit_across_a_boundary = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Simulation simulation{.seed = seed,
                                .store_epoch_ns = static_cast<std::int64_t>(seed) * ms};
    limit.boundary_at_ns = -simulation.store_epoch_ns;
    const History history = simulate(simulation, limit);
    EXPECT_EQ(check_admissions(history, limit).explanation, "") << "seed " << seed;
    const SlidingWindow any{.limit = limit.limit, .length_ns = limit.length_ns};
    if (!check_admissions(history, any).kept()) ++twice_the_limit_across_a_boundary;
    const SlidingWindow doubled{.limit = 2 * limit.limit, .length_ns = limit.length_ns};
    EXPECT_TRUE(check_admissions(history, doubled).kept()) << "seed " << seed;
  }
  EXPECT_EQ(twice_the_limit_across_a_boundary, seeds);
}

TEST(Windows, ExtraAdmissionsOfAFixedWindowAreCaught) {
  const AlignedWindow limit{.limit = 50, .length_ns = 5 * ms, .uncertainty_ns = 10 * us};
  EXPECT_GE(blamed([&](std::uint64_t seed) {
              const Simulation simulation{.seed = seed, .faults = {.extra_admissions_ppm = 10'000}};
              return check_admissions(simulate(simulation, limit), limit);
            }),
            28U);
}

TEST(Windows, AnAdmissionNearAnUncertainBoundaryCountsForNeitherWindow) {
  AlignedWindow limit{.limit = 1, .length_ns = ms, .boundary_at_ns = 0, .uncertainty_ns = us};
  EXPECT_FALSE(check_admissions({instantly(ms + us), instantly(2 * ms - us - 1)}, limit).kept());
  EXPECT_TRUE(check_admissions({instantly(ms + us - 1), instantly(2 * ms - us - 1)}, limit).kept());
  EXPECT_TRUE(check_admissions({instantly(ms + us), instantly(2 * ms - us)}, limit).kept());
}

TEST(SaturationOfABucket, ACorrectStoreAdmitsNoLessThanDrippedInAndNoMore) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const History history = simulate({.seed = seed, .requests = 40'000}, saturated);
    const Saturation saturation = saturation_of(history, saturated);
    EXPECT_TRUE(saturation.kept()) << saturation.least << " <= " << saturation.admitted
                                   << " <= " << saturation.most << ", seed " << seed;
  }
}

TEST(SaturationOfABucket, AStoreThatAdmitsOneDeniedRequestInTwentyHasAdmittedTooMuch) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Simulation leaking{.seed = seed, .faults = {.extra_admissions_ppm = 50'000}};
    EXPECT_FALSE(saturation_of(simulate(leaking, saturated), saturated).kept()) << "seed " << seed;
  }
}

TEST(SaturationOfABucket, ADenialBeforeAnyAdmissionIsOwedTheBurst) {
  const Bucket limit{.burst = 2, .count = 1, .period_ns = second};
  EXPECT_EQ(saturation_of({denial({0, 5})}, limit).least, 2);
  EXPECT_FALSE(saturation_of({denial({0, 5})}, limit).kept());
}

TEST(SaturationOfABucket, TokensThatDripInBetweenDenialsAreOwed) {
  const Bucket limit{.burst = 2, .count = 1, .period_ns = ms};
  const auto least = [&](std::int64_t denied_from) {
    const History history{instantly(0), instantly(0), denial({0, 10}),
                          denial({denied_from, 20 * ms})};
    return saturation_of(history, limit).least;
  };
  EXPECT_EQ(least(9 * ms + us + 9), 10);
  EXPECT_EQ(least(9 * ms + us + 10), 11);
}

TEST(SaturationOfABucket, TokensThatDripIntoAFullBucketBeforeTheFirstDenialAreNotOwed) {
  const Bucket limit{.burst = 2, .count = 1, .period_ns = ms};
  const History history{instantly(0), instantly(9 * ms), instantly(9 * ms),
                        denial({9 * ms, 9 * ms})};
  EXPECT_EQ(saturation_of(history, limit).least, 2);
  EXPECT_TRUE(saturation_of(history, limit).kept());
}

TEST(SaturationOfABucket, WithoutARefillInTheTimeTheCountIsExact) {
  const Bucket limit{.burst = 20, .count = 1, .period_ns = 3'600 * second};
  const Saturation saturation = saturation_of(simulate({}, limit), limit);
  EXPECT_EQ(saturation.least, 20);
  EXPECT_EQ(saturation.admitted, 20);
  EXPECT_EQ(saturation.most, 20);
}

// Small histories on a coarse grid, where many instants coincide, against the definitions.

struct SmallCase {
  History history;
  Bucket limit;
};

constexpr std::int64_t grid_ns = 200;

SmallCase small_case(std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  const auto up_to = [&](std::uint64_t most) {
    return static_cast<std::int64_t>(dice() % (most + 1));
  };
  SmallCase made;
  made.limit = {.burst = 1 + up_to(3), .count = 1 + up_to(2), .period_ns = 500 * (1 + up_to(5))};
  const std::int64_t size = 1 + up_to(11);
  for (std::int64_t i = 0; i < size; ++i) {
    Record record;
    record.cost = up_to(3);
    record.called_at_ns = grid_ns * up_to(40);
    record.returned_at_ns = record.called_at_ns + grid_ns * (up_to(1) * up_to(15));
    record.admitted = up_to(1) == 0;
    made.history.push_back(record);
  }
  std::stable_sort(made.history.begin(), made.history.end(),
                   [](const Record& one, const Record& other) {
                     return one.returned_at_ns < other.returned_at_ns;
                   });
  return made;
}

bool too_much_until(const History& sorted, std::size_t last, const Bucket& limit) {
  const std::int64_t until = sorted[last].returned_at_ns;
  for (std::size_t first = 0; first <= last; ++first) {
    const std::int64_t from = sorted[first].called_at_ns;
    std::int64_t cost = 0;
    for (std::size_t i = 0; i <= last; ++i) {
      if (sorted[i].admitted && sorted[i].called_at_ns >= from) cost += sorted[i].cost;
    }
    const std::int64_t span = until - from + quantum_ns;
    if (span >= quantum_ns &&
        cost * limit.period_ns > limit.burst * limit.period_ns + limit.count * span) {
      return true;
    }
  }
  return false;
}

TEST(AgainstTheDefinition, AdmissionsAreBlamedExactlyWhereSomeIntervalHoldsTooMuch) {
  std::int64_t faulty = 0;
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    const auto [history, limit] = small_case(seed);
    std::int64_t violations = 0;
    std::optional<std::int64_t> first;
    for (std::size_t last = 0; last < history.size(); ++last) {
      const Record& record = history[last];
      if (!record.admitted || record.cost == 0 || !too_much_until(history, last, limit)) continue;
      ++violations;
      if (!first) first = record.returned_at_ns;
    }
    const Report report = check_admissions(history, limit);
    ASSERT_EQ(report.violations, violations) << "seed " << seed;
    if (violations == 0) continue;
    ++faulty;
    ASSERT_EQ(report.first->until_ns, *first) << "seed " << seed;
    ASSERT_GT(report.first->cost, report.first->allowed) << "seed " << seed;
  }
  EXPECT_GT(faulty, 1'000);
  EXPECT_LT(faulty, 9'000);
}

/// What the bucket had if it was last full at `full_at`, in units of 1 / period.
std::int64_t free_if_full_at(std::int64_t full_at, const Record& denial, const SmallCase& given) {
  const Bucket& limit = given.limit;
  std::int64_t free =
      limit.burst * limit.period_ns + limit.count * (denial.called_at_ns - quantum_ns - full_at);
  for (const Record& record : given.history) {
    if (record.admitted && record.called_at_ns <= denial.returned_at_ns &&
        record.returned_at_ns >= full_at) {
      free -= record.cost * limit.period_ns;
    }
  }
  return free;
}

/// Is there an admission that may have been decided at `instant` and before the denial was?
bool may_be_decided_at(std::int64_t instant, const Record& denial, const History& history) {
  return std::any_of(history.begin(), history.end(), [&](const Record& record) {
    return record.admitted && record.cost > 0 && record.called_at_ns <= instant &&
           instant <= record.returned_at_ns && record.called_at_ns <= denial.returned_at_ns;
  });
}

std::int64_t wrong_denials_by_definition(const SmallCase& given, ClockReading clock) {
  std::int64_t wrong = 0;
  for (const Record& denial : given.history) {
    if (denial.admitted) continue;
    const std::int64_t now = denial.called_at_ns - quantum_ns;
    std::int64_t least = given.limit.burst * given.limit.period_ns;
    least = std::min(least, free_if_full_at(now, denial, given));
    const std::int64_t latest = clock == ClockReading::in_order ? now : denial.returned_at_ns;
    for (std::int64_t full_at = -10 * grid_ns; full_at <= latest; full_at += grid_ns) {
      if (!may_be_decided_at(full_at, denial, given.history)) continue;
      least = std::min(least, free_if_full_at(full_at, denial, given));
    }
    if (least >= denial.cost * given.limit.period_ns) ++wrong;
  }
  return wrong;
}

TEST(AgainstTheDefinition, DenialsAreBlamedExactlyWhereEveryReadingLeavesRoom) {
  for (const ClockReading clock : {ClockReading::in_order, ClockReading::apart}) {
    std::int64_t faulty = 0;
    for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
      const SmallCase given = small_case(seed);
      const std::int64_t wrong = wrong_denials_by_definition(given, clock);
      ASSERT_EQ(check_denials(given.history, given.limit, clock).violations, wrong)
          << "seed " << seed;
      if (wrong > 0) ++faulty;
    }
    EXPECT_GT(faulty, 1'000);
    EXPECT_LT(faulty, 9'000);
  }
}

}  // namespace
}  // namespace weir::history
