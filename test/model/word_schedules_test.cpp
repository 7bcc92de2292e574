// The atomic word under every schedule of two or three threads with few preemptions, and under some
// by chance: decisions without the lock against everything that is done with it.
#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <memory>
#include <optional>

#include "test/model/explore.hpp"
#include "test/model/turns.hpp"
#include "weir/local/limiter.hpp"

namespace weir::model {

extern const Bounds word_bounds;

namespace {

using namespace std::chrono_literals;
using std::string;
using Bucket = BasicLimiter<AtomicWord, ManualClock>;

constexpr SteadyInstant start{1'000s};
constexpr AtomicWord::Settings two_a_second{.count = 2, .period = 1s, .burst = 2};
constexpr AtomicWord::Settings four_a_second{.count = 4, .period = 1s, .burst = 4};
/// The interval is near the next power of two, and so its ticks are twice as long.
constexpr AtomicWord::Settings seven_a_second{.count = 7, .period = 4s, .burst = 2};

constexpr SteadyInstant of_two = start + 500ms;  ///< when one unit of each has come
constexpr SteadyInstant of_seven = start + 571'428'572ns;

/// A bucket, and what each thread got of it. Threads count apart.
class Stage {
 public:
  explicit Stage(const AtomicWord::Settings& settings = two_a_second)
      : bucket_(settings, ManualClock(time_)) {
    watch(&bucket_, sizeof bucket_);
  }

  Bucket& bucket() { return bucket_; }

  Outcome take(std::size_t thread, Cost cost = 1, SteadyInstant now = start) {
    const Outcome outcome = bucket_.try_acquire(cost, now);
    if (outcome) granted_[thread] += cost;
    return outcome;
  }
  void got(std::size_t thread, Cost units) { granted_[thread] += units; }

  Cost granted() const {
    Cost sum = 0;
    for (const Cost of_thread : granted_) sum += of_thread;
    return sum;
  }

  /// All that was there was handed out once or is still there.
  string judge(Cost burst) {
    const Cost left = bucket_.peek(1, start).remaining;
    if (granted() + left == burst) return {};
    return "granted " + std::to_string(granted()) + ", left " + std::to_string(left);
  }

 private:
  ManualTime time_{start};
  Bucket bucket_;
  std::array<Cost, most_threads> granted_{};
};

using StagePtr = std::shared_ptr<Stage>;

template <typename Cast>
void expect_no_fault(Cast&& cast, const Bounds& bounds = word_bounds) {
  const Explored explored = explore([&] { return cast(std::make_shared<Stage>()); }, bounds);
  EXPECT_EQ(explored.fault, "");
  EXPECT_GT(explored.schedules, bounds.by_chance + 2);
  std::cout << explored.schedules << " schedules of up to " << explored.longest << " choices\n";
}

TEST(WordSchedules, OfThreeTakersGrantTheBurstOnce) {
  expect_no_fault([](const StagePtr& stage) -> Scene {
    const auto take = [stage](std::size_t thread) {
      return [stage, thread] { static_cast<void>(stage->take(thread)); };
    };
    return {{take(0), take(1), take(2)}, [stage]() -> string {
              if (stage->granted() != 2) return "granted " + std::to_string(stage->granted());
              return stage->judge(2);
            }};
  });
}

TEST(WordSchedules, OfLooksAmidTakesChangeNothing) {
  expect_no_fault([](const StagePtr& stage) -> Scene {
    return {{[stage] { static_cast<void>(stage->take(0)); },
             [stage] { static_cast<void>(stage->take(1)); },
             [stage] { static_cast<void>(stage->bucket().peek(1, start)); }},
            [stage]() -> string {
              return stage->granted() == 2 ? stage->judge(2) : string("a grant was lost");
            }};
  });
}

TEST(WordSchedules, OfRefundsAmidTakesGiveBackOnce) {
  expect_no_fault([](const StagePtr& stage) -> Scene {
    static_cast<void>(stage->take(0, 2));
    return {{[stage] { stage->got(0, -stage->bucket().refund(1, start)); },
             [stage] { static_cast<void>(stage->take(1)); },
             [stage] { static_cast<void>(stage->take(2)); }},
            [stage] { return stage->judge(2); }};
  });
}

TEST(WordSchedules, OfAReservationGivenBackFreeItsInstantForOneOther) {
  expect_no_fault([](const StagePtr& stage) -> Scene {
    static_cast<void>(stage->take(0, 2));
    const auto take_later = [stage](std::size_t thread) {
      return [stage, thread] { static_cast<void>(stage->take(thread, 1, of_two)); };
    };
    return {{[stage] { stage->bucket().reserve(1, 2s, start).cancel(start); }, take_later(1),
             take_later(2)},
            [stage]() -> string {
              const Cost left = stage->bucket().peek(1, of_two).remaining;
              if (stage->granted() + left == 3) return {};
              return "granted " + std::to_string(stage->granted()) + ", left " +
                     std::to_string(left);
            }};
  });
}

TEST(WordSchedules, OfAReservationAtOnceLeaveTheRestToATaker) {
  expect_no_fault([](const StagePtr& stage) -> Scene {
    return {{[stage] {
               auto reservation = stage->bucket().reserve(1, 0ns, start);
               if (reservation) stage->got(0, 1);
               reservation.commit(1, start);
             },
             [stage] { static_cast<void>(stage->take(1)); },
             [stage] { static_cast<void>(stage->take(2, 0)); }},
            [stage] { return stage->granted() == 2 ? stage->judge(2) : "a grant was lost"; }};
  });
}

TEST(WordSchedules, OfAWaiterKeepItsPlaceBeforeTakers) {
  expect_no_fault([](const StagePtr& stage) -> Scene {
    static_cast<void>(stage->take(0, 2));
    const auto ready_at = std::make_shared<SteadyInstant>();
    const auto sooner = std::make_shared<std::array<bool, 2>>();
    return {
        {[stage, ready_at] {
           auto reservation = stage->bucket().reserve(1, 2s, start);
           *ready_at = reservation.ready_at();
           stage->got(0, 1);
           reservation.commit(1, start);
         },
         [stage, sooner] {
           (*sooner)[0] = static_cast<bool>(stage->take(1, 1, start + 500ms - 1ns));
           static_cast<void>(stage->take(1, 1, start + 500ms));
         },
         [stage, sooner] { (*sooner)[1] = static_cast<bool>(stage->take(2, 1, start + 400ms)); }},
        [stage, ready_at, sooner]() -> string {
          if ((*sooner)[0] || (*sooner)[1]) return "granted before its instant";
          if (*ready_at == SteadyInstant{}) return "no reservation";
          // By 500 ms one unit has come: for the reservation, or for the taker before it.
          if (stage->granted() == 3 && *ready_at < start + 500ms) return "too early";
          const Cost at_half = stage->granted() - 2 - (*ready_at > start + 500ms ? 1 : 0);
          if (at_half != 1) return "by then " + std::to_string(at_half) + " were granted";
          return {};
        }};
  });
}

TEST(WordSchedules, OfChangesOfTheNumbersLoseAndMintNothing) {
  expect_no_fault([](const StagePtr& stage) -> Scene {
    return {{[stage] {
               stage->bucket().reconfigure(four_a_second, Inherit::additive, start);
               stage->bucket().reconfigure(two_a_second, Inherit::additive, start);
             },
             [stage] { static_cast<void>(stage->take(1)); },
             [stage] { static_cast<void>(stage->take(2)); }},
            [stage] { return stage->granted() == 2 ? stage->judge(2) : "a grant was lost"; }};
  });
}

TEST(WordSchedules, OfTheSameNumbersSetAgainGrantNoUnitTwice) {
  expect_no_fault([](const StagePtr& stage) -> Scene {
    return {{[stage] {
               for (int change = 0; change < 2; ++change) {
                 stage->bucket().reconfigure(two_a_second, Inherit::as_is, start);
               }
             },
             [stage] {
               static_cast<void>(stage->take(1));
               static_cast<void>(stage->take(1));
             },
             [stage] { static_cast<void>(stage->take(2, 2)); }},
            [stage] { return stage->judge(2); }};
  });
}

TEST(WordSchedules, OfAResetGrantTheNewBurstOnce) {
  expect_no_fault([](const StagePtr& stage) -> Scene {
    return {{[stage] { stage->bucket().reconfigure(two_a_second, Inherit::reset, start); },
             [stage] {
               static_cast<void>(stage->take(1));
               static_cast<void>(stage->take(1));
             },
             [stage] { static_cast<void>(stage->take(2, 2)); }},
            [stage]() -> string {
              const Cost left = stage->bucket().peek(1, start).remaining;
              const Cost all = stage->granted() + left;
              return all >= 2 && all <= 4 && left <= 2 ? string()
                                                       : "granted " + std::to_string(all);
            }};
  });
}

TEST(WordSchedules, OfRefusalsTellOneOfTheTwoInstants) {
  // A refusal that mixes the numbers of before and after tells neither, or counts for hours.
  expect_no_fault([](const StagePtr& stage) -> Scene {
    static_cast<void>(stage->take(0, 2));
    const auto told = std::make_shared<std::array<SteadyInstant, 2>>();
    return {{[stage] { stage->bucket().reconfigure(seven_a_second, Inherit::as_is, start); },
             [stage, told] { (*told)[0] = stage->take(1).ready_at; },
             [stage, told] { (*told)[1] = stage->take(2).ready_at; }},
            [stage, told]() -> string {
              for (const SteadyInstant ready_at : *told) {
                if (ready_at != of_two && ready_at != of_seven) {
                  return "told " + std::to_string((ready_at - start).count());
                }
              }
              return {};
            }};
  });
}

TEST(WordSchedules, OfTakersWithReadingsApartKeepTheBound) {
  expect_no_fault([](const StagePtr& stage) -> Scene {
    const auto take = [stage](std::size_t thread, SteadyInstant now) {
      return [stage, thread, now] {
        for (int call = 0; call < 2; ++call) static_cast<void>(stage->take(thread, 1, now));
      };
    };
    return {{take(0, start), take(1, start + 500ms),
             [stage] { static_cast<void>(stage->bucket().peek(1, start - 1h)); }},
            [stage]() -> string {
              // Two at the start, and one that has come by the later reading.
              if (stage->granted() > 3) return "granted " + std::to_string(stage->granted());
              return stage->granted() >= 2 ? string() : string("a grant was lost");
            }};
  });
}

}  // namespace
}  // namespace weir::model
