#include "cli/service_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "cli/chance.hpp"
#include "cli/service_comparison.hpp"
#include "cli/service_input.hpp"

namespace weir::test {
namespace {

using cli::Phase;
using cli::Protection;
using cli::Service;
using cli::ServiceRun;
using namespace std::chrono_literals;

Service service(std::vector<Phase> phases) {
  Service made;
  made.phases = std::move(phases);
  return made;
}

ServiceRun run(const Service& service, const char* protection) {
  const auto named = cli::read_protection({.name = "--protect", .text = protection});
  return cli::run_service(service, *named.value().machine);
}

ServiceRun::Second sum_of(const ServiceRun& run) {
  ServiceRun::Second sum;
  for (const ServiceRun::Second& second : run.seconds) {
    sum.offered += second.offered;
    sum.refused += second.refused;
    sum.in_time += second.in_time;
    sum.late += second.late;
  }
  return sum;
}

/// Lets all in, counts from outside what the model tells it, and may refuse some.
class Watch final : public Protection {
 public:
  explicit Watch(Seat seat) : seat_(seat) {}

  Seat seat() const override { return seat_; }
  std::optional<Mark> enter(const Asked& asked) override {
    EXPECT_EQ(asked.in_flight, in_flight);
    EXPECT_GE(asked.now, now_);
    now_ = asked.now;
    if (++asked_ % 7 == 0) return {};
    ++in_flight;
    return Mark{++last_mark_};
  }
  void ended(Mark mark, const CallSample& sample) override {
    EXPECT_TRUE(ended_.insert(mark.value).second) << "told twice of one call";
    EXPECT_LE(mark.value, last_mark_);
    EXPECT_GE(sample.ended_at, now_);
    now_ = sample.ended_at;
    --in_flight;
    EXPECT_GE(in_flight, 0);
    longest = std::max(longest, sample.latency);
    ++ends[static_cast<std::size_t>(sample.end)];
  }

  std::int64_t in_flight = 0;
  std::chrono::nanoseconds longest{};
  std::array<std::int64_t, 4> ends{};

 private:
  Seat seat_;
  SteadyInstant now_{};
  std::int64_t asked_ = 0;
  std::uint64_t last_mark_ = 0;
  std::set<std::uint64_t> ended_;
};

TEST(Chance, WaitsAsAPoissonProcessDoes) {
  cli::Chance chance(1);
  constexpr int draws = 200'000;
  double sum = 0;
  double squares = 0;
  int above_two = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const double wait = chance.wait();
    sum += wait;
    squares += wait * wait;
    above_two += wait > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / draws, 1, 0.01);
  EXPECT_NEAR(squares / draws, 2, 0.05);
  EXPECT_NEAR(above_two / double{draws}, 0.1353, 0.003);
}

TEST(Chance, IsTheSameOnEveryMachine) {
  cli::Chance chance(1);
  EXPECT_EQ(chance.wait(1s), 133876644ns);
  EXPECT_EQ(chance.wait(1s), 1911358047ns);
}

TEST(ServiceModel, EveryCallIsRefusedAnsweredOrStillThere) {
  for (const char* protection : {"none", "fixed 20", "fixed 60", "aimd", "vegas", "gradient2",
                                 "auto", "breaker", "load-gate", "accept-ratio"}) {
    for (const std::int64_t retries : {0, 2}) {
      Service tried = service({{5s, 1.5, 1}, {5s, 1.5, 5}, {5s, 0, 1}});
      tried.retries = retries;
      const ServiceRun ran = run(tried, protection);
      const ServiceRun::Second sum = sum_of(ran);
      EXPECT_EQ(sum.offered, sum.refused + sum.in_time + sum.late + ran.unanswered) << protection;
      EXPECT_EQ(static_cast<std::int64_t>(ran.answers.size()), sum.in_time + sum.late);
    }
  }
}

TEST(ServiceModel, AnAnswerIsLateOnceItTookLongerThanTheTimeout) {
  const Service tried = service({{5s, 1.2, 1}});
  const ServiceRun ran = run(tried, "none");
  const auto late = std::ranges::count_if(ran.answers, [&](const ServiceRun::Answer& answer) {
    return answer.latency > tried.timeout;
  });
  EXPECT_EQ(sum_of(ran).late, late);
  EXPECT_GT(late, 0);
  EXPECT_TRUE(std::ranges::is_sorted(ran.answers, {}, &ServiceRun::Answer::at));
}

TEST(ServiceModel, TellsOfEachCallOnceAtTheDoor) {
  Watch watch(Protection::Seat::door);
  const ServiceRun ran = cli::run_service(service({{5s, 1.5, 1}}), watch);
  const ServiceRun::Second sum = sum_of(ran);
  EXPECT_EQ(watch.ends[static_cast<std::size_t>(CallEnd::success)], sum.in_time);
  EXPECT_EQ(watch.ends[static_cast<std::size_t>(CallEnd::dropped)], sum.late);
  EXPECT_EQ(watch.in_flight, ran.unanswered);
}

TEST(ServiceModel, ACallerHearsNothingAfterItGaveUp) {
  Watch watch(Protection::Seat::caller);
  const Service tried = service({{5s, 1.5, 1}, {1s, 0, 1}});
  const ServiceRun ran = cli::run_service(tried, watch);
  EXPECT_EQ(watch.ends[static_cast<std::size_t>(CallEnd::success)], sum_of(ran).in_time);
  EXPECT_EQ(watch.longest, tried.timeout);
  EXPECT_EQ(watch.in_flight, 0) << "after a second without calls every caller has gone";
}

TEST(ServiceModel, TheSameCallsComeWhateverTheProtection) {
  const Service tried = service({{5s, 1.5, 1}, {5s, 0.5, 3}});
  const ServiceRun without = run(tried, "none");
  const ServiceRun with = run(tried, "fixed 30");
  for (std::size_t second = 0; second < without.seconds.size(); ++second) {
    EXPECT_EQ(without.seconds[second].offered, with.seconds[second].offered);
  }
}

TEST(ServiceModel, ComeAsOftenAsTheLoadSays) {
  const ServiceRun ran = run(service({{10s, 0.5, 1}, {10s, 2, 1}, {1s, 0, 1}}), "fixed 20");
  std::int64_t first = 0;
  std::int64_t second = 0;
  for (std::size_t at = 0; at < 10; ++at) {
    first += ran.seconds[at].offered;
    second += ran.seconds[at + 10].offered;
  }
  EXPECT_NEAR(static_cast<double>(first), 10'000, 400);
  EXPECT_NEAR(static_cast<double>(second), 40'000, 800);
  EXPECT_EQ(ran.seconds[20].offered, 0);
}

TEST(ServiceModel, DoesNoMoreThanItsServersCan) {
  Service tried = service({{10s, 3, 1}, {10s, 3, 5}});
  tried.spread = 0;
  const ServiceRun ran = run(tried, "fixed 40");
  for (std::size_t second = 1; second < 10; ++second) {
    EXPECT_EQ(ran.seconds[second].in_time, 2'000);
    EXPECT_EQ(ran.seconds[second + 10].in_time, 400);
  }
}

TEST(ServiceModel, WhoIsRefusedAsksAgainSoManyTimes) {
  Service tried = service({{5s, 1, 1}, {1s, 0, 1}});
  const std::int64_t once = sum_of(run(tried, "fixed 1")).offered;
  tried.retries = 2;
  const ServiceRun::Second thrice = sum_of(run(tried, "fixed 1"));
  EXPECT_GT(thrice.offered, once * 28 / 10);
  EXPECT_LE(thrice.offered, once * 3);
}

TEST(ServiceModel, AQuietServiceAnswersInItsServiceTime) {
  Service tried = service({{10s, 0.01, 1}});
  tried.spread = 0;
  const ServiceRun ran = run(tried, "none");
  ASSERT_FALSE(ran.answers.empty());
  for (const ServiceRun::Answer& answer : ran.answers) EXPECT_EQ(answer.latency, 10ms);
}

TEST(ServiceFigures, APercentileIsTheLeastThatSoManyDoNotExceed) {
  ServiceRun ran;
  ran.seconds.resize(2);
  ran.seconds[0].in_time = 100;
  for (int at = 1; at <= 100; ++at)
    ran.answers.push_back({std::chrono::milliseconds{at}, at * 1ms});
  ran.answers.push_back({1s, 7ms});
  ran.seconds[1].late = 1;
  const auto result = cli::result_of(service({{2s, 1, 1}}), "x", ran);
  EXPECT_EQ(result.seconds[0].p50, 50ms);
  EXPECT_EQ(result.seconds[0].p99, 99ms);
  EXPECT_EQ(result.seconds[1].p50, 7ms);
  EXPECT_EQ(result.seconds[1].p99, 7ms);
  EXPECT_EQ(result.whole.goodput(), 50);
}

TEST(ServiceFigures, RecoveredIsWhenThreeSecondsOnEndBringNineTenths) {
  const Service tried = service({{1s, 1, 5}, {8s, 1, 1}});
  ServiceRun ran;
  for (const std::int64_t good : {0, 0, 1800, 1799, 1800, 1800, 1800, 0, 0}) {
    ran.seconds.push_back({.in_time = good});
  }
  EXPECT_EQ(cli::result_of(tried, "x", ran).recovered_after[0], 3s);
  ran.seconds[6].in_time = 1799;
  EXPECT_EQ(cli::result_of(tried, "x", ran).recovered_after[0], std::nullopt);
  EXPECT_EQ(cli::result_of(tried, "x", ran).recovered_after[1], std::nullopt) << "no slow-down";
}

}  // namespace
}  // namespace weir::test
