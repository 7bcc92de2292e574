// The laws on long random schedules with the numbers that people use, and with the largest.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>

#include "limit/time_zones.hpp"
#include "test/law/machines.hpp"

namespace weir::law {
namespace {

constexpr std::int64_t longest = longest_span.count();
constexpr Span one_second{1'000'000};
constexpr Span one_minute{60'000'000};
constexpr Span one_day{86'400'000'000};

template <typename M>
class LongSchedule {
 public:
  LongSchedule(const typename M::Config& config, Span scale, std::uint64_t seed)
      : config_(config), laws_(config), scale_(scale), random_(seed) {}

  std::string run(std::size_t events) {
    Position<M> at;
    at.now = Instant{Span{1'750'000'000'000'000}};
    interesting_ = at.now;
    for (std::size_t event = 0; event < events; ++event) {
      one_event(at);
      if (!laws_.violation().empty()) {
        return laws_.violation() + ", event " + std::to_string(event);
      }
    }
    return {};
  }

  std::size_t grants() const { return laws_.grants_checked(); }

 private:
  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
  }

  /// As likely small as large, up to `most`.
  std::int64_t some(std::int64_t most) {
    const double bits = std::log2(static_cast<double>(most) + 1);
    const double chosen = std::uniform_real_distribution<double>(0, bits)(random_);
    return std::min(most, static_cast<std::int64_t>(std::exp2(chosen)));
  }

  void one_event(Position<M>& at) {
    const std::int64_t kind = below(20);
    if (kind < 16) {
      take(at);
    } else if (kind < 19) {
      cancel(at);
    } else {
      refund(at);
    }
  }

  Instant later(const Position<M>& at) {
    const std::int64_t kind = below(20);
    Instant now = at.now;
    if (kind < 8) {
      // The same instant again.
    } else if (kind < 12) {
      now = std::max(now, interesting_ + Span{below(3) - 1});
    } else if (kind < 13) {
      now -= Span{some(scale_.count() / 4 + 1)};
    } else {
      now += Span{some(scale_.count() * 2)};
    }
    constexpr Instant last{Span{(std::int64_t{1} << 52) - 1}};
    return std::min(now, last);
  }

  void take(Position<M>& at) {
    const Cost capacity = M::capacity(config_);
    const Cost costs[] = {0, 1, 1, 1, 1, some(capacity), some(capacity), capacity, capacity + 1};
    Request request{later(at), costs[below(std::size(costs))], {}};
    const std::int64_t waits = below(4);
    if (waits == 0) request.patience = Span{0};
    if (waits == 1) request.patience = Span{some(std::min(scale_.count() * 2, longest))};
    const Decision decision = laws_.take(at, request);
    if (decision.verdict == Verdict::impossible) return;
    interesting_ =
        decision.ready_at > at.now || below(3) > 0 ? decision.ready_at : decision.reset_at;
  }

  /// One of the newest grants. After the clock was set back only the very newest, as nobody was
  /// granted anything since: an older one then gives back more than the bound allows.
  void cancel(Position<M>& at) {
    const auto& ledger = laws_.ledger();
    if (ledger.empty()) return;
    const std::size_t deep = at.set_back ? 1 : std::min<std::size_t>(ledger.size(), 4);
    const std::size_t index =
        ledger.size() - 1 - static_cast<std::size_t>(below(static_cast<std::int64_t>(deep)));
    if (laws_.can_cancel(at, ledger[index])) laws_.cancel(at, index);
  }

  void refund(Position<M>& at) {
    const auto& ledger = laws_.ledger();
    for (std::size_t index = ledger.size(); index-- > 0;) {
      if (ledger[index].live == 0) continue;
      if (ledger[index].grant.acts_at > at.now || ledger[index].given_back) return;
      laws_.refund(at, index);
      return;
    }
  }

  const typename M::Config& config_;
  Laws<M> laws_;
  Span scale_;
  std::mt19937_64 random_;
  Instant interesting_;
};

template <typename M>
struct Realistic {
  typename M::Config config;
  Span scale;  ///< about how long the limit remembers
};

template <typename M>
void expect_lawful(const std::vector<Realistic<M>>& limits) {
  std::size_t grants = 0;
  constexpr std::size_t seeds = 60;
  constexpr std::size_t events = 120;
  for (std::size_t at = 0; at < limits.size(); ++at) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      LongSchedule<M> schedule(limits[at].config, limits[at].scale, seed);
      ASSERT_EQ(schedule.run(events), "") << "limit " << at << ", seed " << seed;
      grants += schedule.grants();
    }
  }
  std::cout << limits.size() * seeds << " schedules of " << events << " events, " << grants
            << " grants\n";
  EXPECT_GT(grants, limits.size() * seeds * 5);
}

std::vector<Gcra::Settings> buckets() {
  return {{1, Span{longest}, 1},
          {1, Span{longest / 1'000}, 1'000},
          {1, one_day, 1},
          {3, one_day, 5},
          {5, one_minute, 2},
          {7, one_minute, 100},
          {10, one_second, 1},
          {100, one_second, 10},
          {999'983, one_second, 1'000},
          {1'000'000, one_second, 1'000'000},
          {1'000'000'000, one_second, 1},
          {1'000'000'000, one_second, 1'000'000'000},
          {999'999'999, one_second, 9'007'199},
          {1'000'000'000, one_second, std::int64_t{1} << 53},
          {1'000, one_second, longest / 1'000},
          {1, Span{1}, longest}};
}

Span refill(const Gcra::Settings& bucket) {
  __extension__ using Wide = __int128;
  const Wide span = Wide{bucket.burst} * bucket.period.count() / bucket.count + 1;
  return std::max(Span{static_cast<std::int64_t>(std::min<Wide>(span, longest / 2))}, Span{8});
}

TEST(LongSchedule, OfABucketKeepsTheLaws) {
  std::vector<Realistic<Gcra>> limits;
  for (const auto& bucket : buckets()) limits.push_back({gcra(bucket), refill(bucket)});
  expect_lawful(limits);
}

TEST(LongSchedule, OfABucketPaidOverTimeKeepsTheLaws) {
  std::vector<Realistic<Gcra>> limits;
  for (const auto& bucket : buckets()) {
    Gcra::Config config = over_time(bucket);
    limits.push_back({config, refill(bucket)});
    config.largest = std::min(config.largest, bucket.burst * 3);  // few of the largest are paid
    limits.push_back({config, refill(bucket)});
  }
  expect_lawful(limits);
}

TEST(LongSchedule, OfAPacerKeepsTheLaws) {
  std::vector<Realistic<Pacer>> limits;
  for (const auto& bucket : buckets()) {
    Pacer::Config config = pacer({bucket.count, bucket.period, bucket.burst - 1});
    limits.push_back({config, refill(bucket)});
    config.largest = std::min(config.largest, bucket.burst * 2);
    limits.push_back({config, refill(bucket)});
  }
  expect_lawful(limits);
}

TEST(LongSchedule, OfAWarmUpKeepsTheLaws) {
  std::vector<Realistic<WarmUp>> limits;
  for (const auto& bucket : buckets()) {
    for (const std::int64_t factor : {1, 2, 3, 10, 1'000'000}) {
      const Span warm = std::clamp(Span{bucket.period * 3}, Span{1}, longest_span);
      const auto made = WarmUp::configure({bucket.count, bucket.period, warm, factor});
      if (!made) continue;
      WarmUp::Config config = *made;
      limits.push_back({config, std::min(warm, longest_span / 2)});
      config.largest = std::min<Cost>(config.largest, bucket.burst);
      limits.push_back({config, std::min(warm, longest_span / 2)});
    }
  }
  expect_lawful(limits);
}

TEST(LongSchedule, OfALeakyBucketKeepsTheLaws) {
  std::vector<Realistic<LeakyBucket>> limits;
  for (const auto& bucket : buckets()) {
    limits.push_back({leaky({bucket.count, bucket.period, bucket.burst - 1}), refill(bucket)});
  }
  expect_lawful(limits);
}

TEST(LongSchedule, OfAFixedWindowKeepsTheLaws) {
  expect_lawful<FixedWindow>({{fixed({5, one_minute}), one_minute},
                              {fixed({1'000'000, one_second}), one_second},
                              {fixed({longest, Span{longest}}), Span{longest / 2}},
                              {fixed({1, Span{longest}}), Span{longest / 2}},
                              {fixed({longest, Span{1}}), Span{8}}});
}

TEST(LongSchedule, OfACalendarWindowKeepsTheLaws) {
  std::vector<Realistic<CalendarWindow>> limits;
  for (const char* name : {"UTC", "Europe/Berlin", "Australia/Lord_Howe", "Antarctica/Troll"}) {
    const TimeZone& zone = *time_zones().find(name).value();
    for (const CalendarUnit unit : calendar_units) {
      limits.push_back({calendar({5, unit, zone}), shortest(unit)});
    }
    limits.push_back({calendar({longest, CalendarUnit::month, zone}), one_day});
  }
  expect_lawful(limits);
}

TEST(LongSchedule, OfASlidingWindowKeepsTheLaws) {
  expect_lawful<SlidingWindow>({{sliding({5, one_minute, 10}), one_minute},
                                {sliding({1'000'000, one_second, 7}), one_second},
                                {sliding({100, one_second, 100}), one_second},
                                {sliding({longest, Span{longest}, 3}), Span{longest / 2}},
                                {sliding({longest, Span{8}, 8}), Span{8}}});
}

TEST(LongSchedule, OfASlidingLogKeepsTheLaws) {
  expect_lawful<SlidingLog>({{log({5, one_minute}), one_minute},
                             {log({100, one_second}), one_second},
                             {log({1'000, one_second}), one_second},
                             {log({3, Span{longest}}), Span{longest / 2}},
                             {log({1, Span{1}}), Span{8}}});
}

TEST(LongSchedule, OfSoMuchAtOnceKeepsTheLaws) {
  expect_lawful<Concurrency>({{at_once({5, one_minute}), one_minute},
                              {at_once({100, one_second}), one_second},
                              {at_once({10'000, one_second}), one_second},
                              {at_once({3, Span{longest}}), Span{longest / 2}},
                              {at_once({1, Span{1}}), Span{8}}});
}

TEST(LongSchedule, OfAPenaltyKeepsTheLaws) {
  expect_lawful<Block<Gcra>>({{{gcra({5, one_minute, 5}), one_minute}, one_minute},
                              {{gcra({999'983, one_second, 100}), Span{17}}, Span{200}},
                              {{gcra({1, one_day, 3}), Span{longest}}, one_day}});
}

TEST(LongSchedule, OfSeveralLimitsKeepsTheLaws) {
  expect_lawful<AllOf<Single>>(
      {{{{gcra({10, one_second, 10}), gcra({1'000, one_day, 1'000})}}, one_second},
       {{{log({10, one_second}), sliding({100, one_minute, 10}), fixed({50, one_minute})}},
        one_minute},
       {{{leaky({999'983, one_second, 50}), gcra({7, Span{11}, 30})}}, Span{100}}});
}

TEST(LongSchedule, OfLimitsAsWrittenKeepsTheLaws) {
  std::vector<Realistic<Limit::Machine>> limits;
  for (const char* text :
       {"5/1m block 10m", "10/s & 1000/1d", "leaky-bucket 10/s queue 50 & sliding-log 100/1m",
        "fixed-window 5/1s block 2s & sliding-window 20/1m", "7/3ms burst 100", "concurrency 7/40s",
        "10/s & concurrency 5/30s"}) {
    limits.push_back({Limit::parse(text).value().config(), one_minute});
  }
  expect_lawful(limits);
}

}  // namespace
}  // namespace weir::law
