// A service of eight places behind a load shedder on a machine that is loaded all the time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <queue>
#include <random>

#include "weir/overload/load_shedder.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

struct Outcome {
  double offered = 0;
  double done = 0;
  double latency_s = 0;

  double share_done() const { return done / offered; }
  double mean_ms() const { return 1'000 * latency_s / done; }
};

/// Calls come and take as long as they like (exponentially), 10 ms in the mean, so 800 a second can
/// be done. Counts the second half of two minutes.
class Simulation {
 public:
  explicit Simulation(double rate) : rate_(rate) {
    LoadShedder::observe(config_, state_, {.machine_cpu = 1'000}, SteadyInstant{});
  }

  Outcome run() {
    for (double now_s = 0; now_s < 120; now_s += waits_(random_) / rate_) {
      const bool counts = now_s > 60;
      while (!ends_.empty() && ends_.top().end_s <= now_s) {
        const Call call = ends_.top();
        ends_.pop();
        LoadShedder::end(
            config_, state_, 1,
            {.ended_at = at(call.end_s), .latency = at(call.end_s) - at(call.began_s)});
        if (!counts) continue;
        outcome_.done += 1;
        outcome_.latency_s += call.end_s - call.began_s;
      }
      if (counts) outcome_.offered += 1;
      if (LoadShedder::refuses(config_, state_, {}, at(now_s))) continue;
      LoadShedder::enter(state_, 1, at(now_s));
      double& place = *std::min_element(free_at_s_.begin(), free_at_s_.end());
      place = std::max(place, now_s) + waits_(random_) / 100;
      ends_.push({now_s, place});
    }
    return outcome_;
  }

 private:
  struct Call {
    double began_s;
    double end_s;
    bool operator<(const Call& other) const { return end_s > other.end_s; }
  };
  static SteadyInstant at(double s) {
    return SteadyInstant{std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(s))};
  }

  double rate_;
  std::mt19937_64 random_{1};
  std::exponential_distribution<double> waits_{1};
  LoadShedder::Config config_ =
      LoadShedder::configure({.above = {.machine_cpu = 800}, .smooth_over = 0ns}).value();
  LoadShedder::State state_;
  std::array<double, 8> free_at_s_{};
  std::priority_queue<Call> ends_;
  Outcome outcome_;
};

TEST(LoadSimulationTest, OfAServiceThatKeepsUpHardlyAnythingIsShed) {
  EXPECT_GT(Simulation(100).run().share_done(), 0.97);
  EXPECT_GT(Simulation(400).run().share_done(), 0.97);
  EXPECT_GT(Simulation(600).run().share_done(), 0.94);
}

TEST(LoadSimulationTest, AServiceAskedForFourTimesWhatItCanDoDoesWhatItCan) {
  const Outcome outcome = Simulation(3'200).run();
  EXPECT_GT(outcome.done / 60, 760);
  // 10 ms with nobody waiting; two minutes of a queue without a bound would be a minute by now.
  EXPECT_LT(outcome.mean_ms(), 100);
}

}  // namespace
}  // namespace weir
