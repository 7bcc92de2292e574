#include "weir/local/values_in_flight.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "weir/local/key_name.hpp"

namespace weir {
namespace {

using Place = ValuesInFlight::Place;
const KeyNames names{HashKey{1, 2}};

struct Call {
  std::uint64_t name;
  Place place;
  std::int64_t weight;
};

/// Beside an exact count of each value.
struct Twins {
  std::size_t room;
  std::uint64_t values;
  unsigned seed;
  int shared = 0;
  int refused_in_vain = 0;

  void go() {
    std::mt19937 random(seed);
    ValuesInFlight counts(room);
    std::map<std::uint64_t, std::int64_t> truth;
    std::vector<Call> calls;
    for (int step = 0; step < 30'000; ++step) {
      // Now more come than go, now fewer, so that slots fill and empty.
      const bool comes = random() % 100 < (step / 3'000 % 2 == 0 ? 65 : 35);
      if (!comes && !calls.empty()) {
        std::swap(calls[random() % calls.size()], calls.back());
        const Call call = calls.back();
        calls.pop_back();
        counts.leave(call.name, call.place, call.weight);
        truth[call.name] -= call.weight;
        continue;
      }
      const std::uint64_t value = random() % values;
      const std::uint64_t name = names.name(value);
      const auto weight = static_cast<std::int64_t>(1 + random() % 3);
      const auto limit = static_cast<std::int64_t>(3 + value % 5);
      const auto entered = counts.try_enter(name, {weight, limit});
      ASSERT_GE(entered.in_flight, truth[name]) << "seed " << seed << " step " << step;
      if (entered.place == Place::none) {
        if (truth[name] + weight <= limit) ++refused_in_vain;
        continue;
      }
      truth[name] += weight;
      ASSERT_LE(truth[name], limit) << "seed " << seed << " step " << step;
      if (entered.place == Place::shared) ++shared;
      calls.push_back({name, entered.place, weight});
    }
    for (const Call& call : calls) counts.leave(call.name, call.place, call.weight);
    for (std::uint64_t value = 0; value < values; ++value) {
      const auto entered = counts.try_enter(names.name(value), {1, 1});
      ASSERT_EQ(entered.in_flight, 0) << "all have left";
      counts.leave(names.name(value), entered.place, 1);
    }
  }
};

TEST(ValuesInFlightTest, NeverCountLessThanAValueHas) {
  int shared = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    Twins run{.room = 1 + seed % 2 * 100, .values = 3'000, .seed = seed};
    run.go();
    shared += run.shared;
  }
  EXPECT_GT(shared, 1'000);
}

TEST(ValuesInFlightTest, CountExactlyWhileThereIsRoom) {
  Twins run{.room = 4'000, .values = 1'000, .seed = 7};
  run.go();
  EXPECT_EQ(run.shared, 0);
  EXPECT_EQ(run.refused_in_vain, 0);
}

TEST(ValuesInFlightTest, RefuseWhatNoLimitCouldHold) {
  ValuesInFlight counts(10);
  constexpr std::int64_t most = std::int64_t{1} << 31;
  for (const std::int64_t weight :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0}, most + 1,
        std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(counts.try_enter(1, {weight, most}).place, Place::none) << weight;
  }
  EXPECT_EQ(counts.try_enter(1, {most, most}).place, Place::slot);
  EXPECT_EQ(counts.try_enter(1, {1, most}).place, Place::none);
  EXPECT_EQ(counts.try_enter(1, {1, 1}).place, Place::none) << "a limit that was lowered";
}

}  // namespace
}  // namespace weir
