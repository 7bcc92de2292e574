// Each machine against a slow and obvious one, in exact numbers, on the same random requests.
#include "test/law/reference.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "limit/time_zones.hpp"
#include "weir/algorithm/calendar_window.hpp"
#include "weir/algorithm/fixed_window.hpp"
#include "weir/algorithm/gcra.hpp"
#include "weir/algorithm/leaky_bucket.hpp"
#include "weir/algorithm/sliding_log.hpp"
#include "weir/algorithm/sliding_window.hpp"

namespace weir::reference {
namespace {

/// GCRA in rationals: instants in parts of a tick, `count` parts in each.
class ExactGcra {
 public:
  explicit ExactGcra(Gcra::Settings settings) : ExactGcra(settings, settings.burst) {}
  ExactGcra(Gcra::Settings settings, Cost largest)
      : count_(settings.count),
        unit_(settings.period.count()),
        burst_(settings.burst),
        largest_(largest) {}

  Told step(const Request& request) {
    const Span patience = request.patience.value_or(Span{0});
    const Wide lacking = std::max<Wide>(0, request.cost - burst_) * unit_;
    if (request.cost > largest_ || patience < Span{ceil_divide(lacking, count_)}) {
      return {Verdict::impossible, never, remaining(request.now)};
    }
    const Wide begin = start(request.now);
    const Wide end = begin + unit_ * request.cost;
    const Wide open = ceil_divide(end - unit_ * burst_, count_);
    Told told = rule(request, std::max(request.now, instant(open)), patience);
    if (taken(told.verdict) && request.cost > 0) {
      // A bucket that was full waits in whole ticks, and then is as empty as it can be.
      const bool waited = lacking > 0 && begin != repaid_;
      repaid_ = waited ? Wide{ticks(told.ready_at)} * count_ + unit_ * burst_ : end;
    }
    told.remaining = remaining(request.now);
    return told;
  }

 private:
  /// What is repaid within the tick before now counts from when it was.
  Wide start(Instant now) const {
    const Wide at = Wide{ticks(now)} * count_;
    return repaid_ > at - count_ ? repaid_ : at;
  }
  Cost remaining(Instant now) const {
    const Wide left = Wide{ticks(now)} * count_ + unit_ * burst_ - start(now);
    return static_cast<Cost>(std::clamp(floor_divide(left, unit_), Wide{0}, burst_));
  }

  Wide count_;
  Wide unit_;
  Wide burst_;
  Wide largest_;
  Wide repaid_ = Wide{-1} << 100;
};

/// A bucket of tokens as it is taught: a level and when it was worked out, refilled when looked at.
/// The level is in parts of a token, `period` parts each.
class LazyTokenBucket {
 public:
  explicit LazyTokenBucket(Gcra::Settings settings)
      : refill_(settings.count),
        token_(settings.period.count()),
        burst_(settings.burst),
        level_(burst_ * token_) {}

  Told step(const Request& request) {
    refill(request.now);
    if (request.cost > burst_) return {Verdict::impossible, never, whole_tokens()};
    const Wide lacking = token_ * request.cost - level_;
    const Wide wait = lacking > 0 ? ceil_divide(lacking, refill_) : 0;
    Told told = rule(request, request.now + Span{static_cast<std::int64_t>(wait)},
                     request.patience.value_or(Span{0}));
    if (taken(told.verdict)) level_ -= token_ * request.cost;
    told.remaining = whole_tokens();
    return told;
  }

 private:
  void refill(Instant now) {
    level_ += refill_ * (ticks(now) - ticks(at_));
    at_ = now;
    // What drips in while the bucket is full is lost, but for the drops of the tick in which it
    // became full: they count as if taken at that very moment, or whole ticks would cost rate.
    const Wide full = burst_ * token_;
    if (level_ >= full + refill_) level_ = full;
  }
  Cost whole_tokens() const {
    return static_cast<Cost>(std::clamp(floor_divide(level_, token_), Wide{0}, burst_));
  }

  Wide refill_;
  Wide token_;
  Wide burst_;
  Wide level_;
  Instant at_{};
};

TEST(Reference, GcraIsExactInRationals) {
  for (const auto& settings : bucket_settings()) {
    expect_equal<Gcra>(Gcra::configure(settings).value(), ExactGcra(settings),
                       refill_ticks(settings), text(settings));
  }
}

TEST(Reference, GcraPaidOverTimeIsExactInRationals) {
  for (auto settings : bucket_settings()) {
    settings.oversize = Gcra::Oversize::pay_over_time;
    auto config = Gcra::configure(settings).value();
    config.largest = std::min(config.largest, settings.burst * 3);  // few wait for the largest
    expect_equal<Gcra>(config, ExactGcra(settings, config.largest), refill_ticks(settings) * 4,
                       text(settings));
  }
}

TEST(Reference, ATokenBucketRefilledLazilyIsGcra) {
  for (const auto& settings : bucket_settings()) {
    expect_equal<Gcra>(Gcra::configure(settings).value(), LazyTokenBucket(settings),
                       refill_ticks(settings), text(settings));
  }
}

/// A queue in rationals: units act one interval apart, and as many as the queue holds may wait.
class ExactLeakyBucket {
 public:
  explicit ExactLeakyBucket(LeakyBucket::Settings settings)
      : count_(settings.count), unit_(settings.period.count()), queue_(settings.queue) {}

  Told step(const Request& request) {
    if (request.cost > queue_ + 1) return {Verdict::impossible, never, remaining(request.now)};
    const Span own = own_wait(request.cost);
    const Span patience = request.patience ? std::min(*request.patience, own) : own;
    Told told = rule(request, turn(request.now), patience);
    if (taken(told.verdict) && request.cost > 0) {
      drained_ = start(told.ready_at) + unit_ * request.cost;
    }
    told.remaining = remaining(request.now);
    return told;
  }

 private:
  Wide start(Instant now) const {
    const Wide at = Wide{ticks(now)} * count_;
    return drained_ > at - count_ ? drained_ : at;
  }
  Instant turn(Instant now) const { return instant(ceil_divide(start(now), count_)); }
  Span own_wait(Cost cost) const {
    const Wide others = queue_ + 1 - std::max<Cost>(cost, 1);
    return Span{static_cast<std::int64_t>(ceil_divide(unit_ * others, count_))};
  }
  /// By asking, from the largest cost down.
  Cost remaining(Instant now) const {
    Cost low = 0;
    Cost high = static_cast<Cost>(queue_) + 1;
    while (low < high) {
      const Cost middle = low + (high - low + 1) / 2;
      if (turn(now) - now <= own_wait(middle)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  Wide count_;
  Wide unit_;
  Wide queue_;
  Wide drained_ = Wide{-1} << 100;
};

TEST(Reference, ALeakyBucketIsExactInRationals) {
  for (const auto& bucket : bucket_settings()) {
    const LeakyBucket::Settings settings{bucket.count, bucket.period, bucket.burst - 1};
    expect_equal<LeakyBucket>(LeakyBucket::configure(settings).value(), ExactLeakyBucket(settings),
                              refill_ticks(bucket), text(bucket));
  }
}

/// With whole ticks between units; fractions round a queue's wait up to the tick.
TEST(Reference, ALeakyBucketAdmitsAsGcraWithBurstQueuePlusOneAndActsAtThePace) {
  for (const Gcra::Settings settings :
       {Gcra::Settings{1, Span{1}, 1}, Gcra::Settings{1, Span{7}, 4},
        Gcra::Settings{100, Span{1'000'000}, 20}, Gcra::Settings{5, Span{60'000'000}, 5}}) {
    const auto gcra = Gcra::configure(settings).value();
    const auto leaky =
        LeakyBucket::configure({settings.count, settings.period, settings.burst - 1}).value();
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Gcra::State one;
      LeakyBucket::State other;
      Requests requests({settings.burst, refill_ticks(settings)}, seed);
      Instant promised{};
      for (int event = 0; event < 300; ++event) {
        Request request = requests.next(promised);
        request.patience.reset();
        if (request.cost == 0) request.cost = 1;
        const Instant drained = one.repaid_at.whole;
        const Decision burst = step<Gcra>(gcra, one, request);
        const Decision paced = step<LeakyBucket>(leaky, other, request);
        ASSERT_EQ(taken(burst.verdict), taken(paced.verdict)) << text(settings);
        ASSERT_EQ(one.repaid_at, other.drained_at);
        if (taken(paced.verdict)) {
          ASSERT_EQ(paced.ready_at, std::max(request.now, drained));
        } else {
          ASSERT_EQ(burst.ready_at, paced.ready_at);
        }
        ASSERT_EQ(burst.remaining, paced.remaining);
        promised = burst.ready_at;
      }
    }
  }
}

/// Counts of aligned windows, all of them kept. A part acts when the last `counted` of them hold
/// no more than the limit, and none acts in a window before one that was charged.
class CountedWindows {
 public:
  struct Shape {
    Cost limit;
    std::int64_t width;
    std::int64_t counted;
  };
  explicit CountedWindows(Shape shape) : shape_(shape) {}

  Told step(const Request& request) {
    if (request.cost > shape_.limit) return {Verdict::impossible, never, remaining(request.now)};
    Told told =
        rule(request, earliest(request.now, request.cost), request.patience.value_or(Span{0}));
    if (taken(told.verdict) && request.cost > 0) counts_[window(told.ready_at)] += request.cost;
    told.remaining = remaining(request.now);
    return told;
  }

 private:
  std::int64_t window(Instant at) const {
    return static_cast<std::int64_t>(floor_divide(ticks(at), shape_.width));
  }
  Cost counted(std::int64_t last) const {
    Cost sum = 0;
    for (auto at = counts_.upper_bound(last - shape_.counted);
         at != counts_.end() && at->first <= last; ++at) {
      sum += at->second;
    }
    return sum;
  }
  Instant earliest(Instant now, Cost cost) const {
    std::int64_t at = window(now);
    if (!counts_.empty()) at = std::max(at, counts_.rbegin()->first);
    while (counted(at) + cost > shape_.limit) ++at;
    return std::max(now, Instant{Span{at * shape_.width}});
  }
  Cost remaining(Instant now) const {
    if (!counts_.empty() && counts_.rbegin()->first > window(now)) return 0;
    return shape_.limit - counted(window(now));
  }

  Shape shape_;
  std::map<std::int64_t, Cost> counts_;
};

TEST(Reference, AFixedWindowIsACountForEachWindow) {
  for (const FixedWindow::Settings settings :
       {FixedWindow::Settings{3, Span{5}}, FixedWindow::Settings{5, Span{60'000'000}},
        FixedWindow::Settings{1'000'000, Span{1'000'003}}}) {
    expect_equal<FixedWindow>(FixedWindow::configure(settings).value(),
                              CountedWindows({settings.count, settings.period.count(), 1}),
                              settings.period.count() * 2, std::to_string(settings.count));
  }
}

/// A count for each window of a list; the windows are found by looking at the clock each minute.
class WatchedClock {
 public:
  WatchedClock(Cost limit, CalendarUnit unit, const TimeZone& zone) : limit_(limit) {
    const Instant first{std::chrono::seconds{1'748'736'000}};  // 2025-06-01, before any request
    LocalTime latest{Span::min()};
    for (Instant at = first; at < first + std::chrono::hours{24 * 1'500};
         at += std::chrono::minutes{1}) {
      const LocalTime unit_begin =
          begin_of(unit, LocalTime{at.time_since_epoch() + zone.offset_at(at)});
      if (unit_begin > latest) starts_.push_back(at);
      latest = std::max(latest, unit_begin);
    }
  }

  Told step(const Request& request) {
    if (request.cost > limit_) return {Verdict::impossible, never, remaining(request.now)};
    std::size_t window = std::max(index(request.now), counts_.empty() ? 0 : last());
    while (counts_[window] + request.cost > limit_) ++window;
    const Instant opens = std::max(request.now, starts_.at(window));
    Told told = rule(request, opens, request.patience.value_or(Span{0}));
    if (taken(told.verdict)) counts_[window] += request.cost;
    std::erase_if(counts_, [](const auto& entry) { return entry.second == 0; });
    told.remaining = remaining(request.now);
    return told;
  }

 private:
  std::size_t index(Instant at) const {
    const auto later = std::upper_bound(starts_.begin(), starts_.end(), at);
    return static_cast<std::size_t>(later - starts_.begin()) - 1;
  }
  std::size_t last() const { return counts_.rbegin()->first; }
  Cost remaining(Instant now) const {
    if (counts_.empty()) return limit_;
    if (last() > index(now)) return 0;
    return last() < index(now) ? limit_ : limit_ - counts_.rbegin()->second;
  }

  Cost limit_;
  std::vector<Instant> starts_;
  std::map<std::size_t, Cost> counts_;
};

TEST(Reference, ACalendarWindowIsACountForEachDayThatTheClockShows) {
  for (const char* name : {"UTC", "Europe/Berlin", "America/Havana", "Asia/Kathmandu"}) {
    const TimeZone& zone = *time_zones().find(name).value();
    for (const CalendarUnit unit : {CalendarUnit::day, CalendarUnit::week, CalendarUnit::month}) {
      expect_equal<CalendarWindow>(CalendarWindow::configure({5, unit, zone}).value(),
                                   WatchedClock(5, unit, zone), 86'400'000'000 * 4, name);
    }
  }
}

TEST(Reference, ASlidingWindowIsACountForEachPart) {
  for (const SlidingWindow::Settings settings :
       {SlidingWindow::Settings{3, Span{5}, 5}, SlidingWindow::Settings{7, Span{10}, 3},
        SlidingWindow::Settings{5, Span{60'000'000}, 10},
        SlidingWindow::Settings{1'000'000, Span{1'000'003}, 60},
        SlidingWindow::Settings{4, Span{1'000'000}, 1}}) {
    const std::int64_t width = (settings.period.count() + settings.parts - 1) / settings.parts;
    expect_equal<SlidingWindow>(SlidingWindow::configure(settings).value(),
                                CountedWindows({settings.count, width, settings.parts + 1}),
                                settings.period.count() * 2, std::to_string(settings.count));
  }
}

/// Every unit's instant, all of them kept.
class ListOfInstants {
 public:
  explicit ListOfInstants(SlidingLog::Settings settings) : settings_(settings) {}

  Told step(const Request& request) {
    if (request.cost > settings_.count) return {Verdict::impossible, never, remaining(request.now)};
    Told told =
        rule(request, earliest(request.now, request.cost), request.patience.value_or(Span{0}));
    if (taken(told.verdict)) {
      entries_.insert(entries_.end(), static_cast<std::size_t>(request.cost), told.ready_at);
    }
    told.remaining = remaining(request.now);
    return told;
  }

 private:
  Cost inside(Instant at) const {
    return static_cast<Cost>(std::count_if(entries_.begin(), entries_.end(), [&](Instant entry) {
      return entry > at - settings_.period && entry <= at;
    }));
  }
  /// Room only opens when an entry leaves: those are the instants to try.
  Instant earliest(Instant now, Cost cost) const {
    const Instant first = entries_.empty() ? now : std::max(now, entries_.back());
    if (inside(first) + cost <= settings_.count) return first;
    for (const Instant entry : entries_) {
      const Instant at = entry + settings_.period;
      if (at > first && inside(at) + cost <= settings_.count) return at;
    }
    return never;
  }
  Cost remaining(Instant now) const {
    if (!entries_.empty() && entries_.back() > now) return 0;
    return settings_.count - inside(now);
  }

  SlidingLog::Settings settings_;
  std::vector<Instant> entries_;
};

TEST(Reference, ASlidingLogIsAListOfInstants) {
  for (const SlidingLog::Settings settings :
       {SlidingLog::Settings{3, Span{5}}, SlidingLog::Settings{5, Span{60'000'000}},
        SlidingLog::Settings{10, Span{1'000}}}) {
    expect_equal<SlidingLog>(SlidingLog::configure(settings).value(), ListOfInstants(settings),
                             settings.period.count() * 2, std::to_string(settings.count));
  }
}

}  // namespace
}  // namespace weir::reference
