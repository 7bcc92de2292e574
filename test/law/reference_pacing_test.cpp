// Pacer and WarmUp, each against a slow and obvious one, in exact numbers, on the same requests.
#include "test/law/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "weir/algorithm/gcra.hpp"
#include "weir/algorithm/pacer.hpp"
#include "weir/algorithm/warm_up.hpp"

namespace weir::reference {
namespace {

/// A pace in rationals, as the libraries tell it: the next free instant, which falls behind by no
/// more than the slack, and moves by the cost of each call.
class ExactPacer {
 public:
  ExactPacer(Pacer::Settings settings, Cost largest)
      : count_(settings.count),
        unit_(settings.period.count()),
        slack_(settings.slack),
        largest_(largest) {}

  Told step(const Request& request) {
    if (request.cost > largest_) return {Verdict::impossible, never, remaining(request.now)};
    const Instant turn = std::max(request.now, instant(ceil_divide(start(request.now), count_)));
    Told told = rule(request, turn, request.patience.value_or(Span{0}));
    if (taken(told.verdict) && request.cost > 0) {
      next_free_ = start(told.ready_at) + unit_ * request.cost;
    }
    told.remaining = remaining(request.now);
    return told;
  }

 private:
  Wide start(Instant now) const {
    const Wide behind = Wide{ticks(now)} * count_ - slack_ * unit_;
    return next_free_ > behind - count_ ? next_free_ : behind;
  }
  Cost remaining(Instant now) const {
    const Wide saved = Wide{ticks(now)} * count_ - start(now);
    return saved < 0 ? 0 : static_cast<Cost>(std::min(slack_, saved / unit_)) + 1;
  }

  Wide count_;
  Wide unit_;
  Wide slack_;
  Wide largest_;
  Wide next_free_ = Wide{-1} << 100;
};

TEST(Reference, APacerIsExactInRationals) {
  for (const auto& bucket : bucket_settings()) {
    const Pacer::Settings settings{bucket.count, bucket.period, bucket.burst - 1};
    auto config = Pacer::configure(settings).value();
    config.largest = std::min(config.largest, bucket.burst * 2);
    expect_equal<Pacer>(config, ExactPacer(settings, config.largest), refill_ticks(bucket),
                        text(bucket));
  }
}

TEST(Reference, APacerWithCostsOfOneIsGcraWithBurstSlackPlusOne) {
  for (const auto& settings : bucket_settings()) {
    const auto gcra = Gcra::configure(settings).value();
    const auto pacer =
        Pacer::configure({settings.count, settings.period, settings.burst - 1}).value();
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Gcra::State one;
      Pacer::State other;
      Requests requests({1, refill_ticks(settings)}, seed);
      Instant promised{};
      for (int event = 0; event < 300; ++event) {
        Request request = requests.next(promised);
        request.cost = 1;
        const Decision decision = step<Gcra>(gcra, one, request);
        ASSERT_EQ(decision, step<Pacer>(pacer, other, request)) << text(settings);
        ASSERT_EQ(one.repaid_at, other.rested_at);
        promised = decision.ready_at;
      }
    }
  }
}

/// Guava's arithmetic: doubles, permits, and microseconds that are cut off.
class SmoothWarmingUp {
 public:
  explicit SmoothWarmingUp(const WarmUp::Settings& settings)
      : stable_(static_cast<double>(settings.period.count()) /
                static_cast<double>(settings.count)) {
    const double warm = static_cast<double>(settings.warm_up.count());
    const double cold = stable_ * static_cast<double>(settings.cold_factor);
    threshold_ = 0.5 * warm / stable_;
    most_ = threshold_ + 2.0 * warm / (stable_ + cold);
    slope_ = (cold - stable_) / (most_ - threshold_);
    cool_ = warm / most_;
    stored_ = most_;
  }

  Instant acquire(Instant now, Cost cost) {
    if (ticks(now) > next_free_) {
      const double idle = static_cast<double>(ticks(now) - next_free_);
      stored_ = std::min(most_, stored_ + idle / cool_);
      next_free_ = ticks(now);
    }
    const Instant acts_at{Span{next_free_}};
    const double wanted = static_cast<double>(cost);
    const double spent = std::min(wanted, stored_);
    const double above = stored_ - threshold_;
    double time = 0;
    double left = spent;
    if (above > 0) {
      const double steep = std::min(above, spent);
      time = std::trunc(steep * (interval(above) + interval(above - steep)) / 2.0);
      left -= steep;
    }
    next_free_ += static_cast<std::int64_t>(time) + static_cast<std::int64_t>(stable_ * left) +
                  static_cast<std::int64_t>((wanted - spent) * stable_);
    stored_ -= spent;
    return acts_at;
  }

 private:
  double interval(double above) const { return stable_ + above * slope_; }

  double stable_;
  double threshold_;
  double most_;
  double slope_;
  double cool_;
  double stored_;
  std::int64_t next_free_ = std::int64_t{-1} << 52;
};

/// Each of its calls cuts off less than three microseconds. After a rest, what is stored is off by
/// as much as the rest was longer, and a microsecond of it is as dear as the store is cold.
TEST(Reference, AWarmUpIsGuavasToTheMicrosecondsThatItCutsOff) {
  std::mt19937_64 random(1);
  const auto below = [&](std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random);
  };
  std::int64_t furthest = 0;
  for (int trial = 0; trial < 2'000; ++trial) {
    const WarmUp::Settings settings{1 + below(1'000), Span{1'000'000 * (1 + below(3))},
                                    Span{1'000 * (1 + below(10'000))}, 1 + below(12)};
    const auto config = WarmUp::configure(settings).value();
    WarmUp::State state;
    SmoothWarmingUp twin(settings);
    Instant now{};
    std::int64_t cut_off = 1;
    for (int call = 0; call < 50; ++call) {
      if (call == 25) {
        now += Span{below(settings.warm_up.count() * 2)};
        cut_off *= settings.cold_factor + 1;
      }
      const Cost cost = 1 + below(below(4) == 0 ? 50 : 2);
      const Instant ours = step<WarmUp>(config, state, {now, cost, longest_span}).ready_at;
      const Instant theirs = twin.acquire(now, cost);
      const std::int64_t apart = std::abs((ours - theirs).count());
      furthest = std::max(furthest, apart);
      ASSERT_LE(apart, cut_off) << "trial " << trial << ", call " << call;
      cut_off += 3;
      if (below(2) == 0) now = std::max(now, ours);
    }
  }
  EXPECT_GT(furthest, 0);
  std::cout << "at most " << furthest << " us apart within 50 calls\n";
}

/// The same in real numbers, without ticks: a store of time and its price.
class RealWarmUp {
 public:
  explicit RealWarmUp(const WarmUp::Settings& settings)
      : unit_(static_cast<long double>(settings.period.count()) /
              static_cast<long double>(settings.count)),
        warm_(static_cast<long double>(settings.warm_up.count())),
        cold_(static_cast<long double>(settings.cold_factor)) {
    stored_ = most();
  }

  long double acquire(Instant at, Cost cost) {
    const auto now = static_cast<long double>(ticks(at));
    if (next_ <= now - 1) {
      stored_ = std::min(most(), stored_ + (now - next_) * (cold_ + 5) / (2 * (cold_ + 1)));
      next_ = now;
    }
    const long double acts_at = next_;
    const long double after = stored_ - unit_ * static_cast<long double>(cost);
    next_ += price(stored_) - price(after);
    stored_ = std::max(after, 0.0L);
    return acts_at;
  }

 private:
  long double most() const { return warm_ / 2 + 2 * warm_ / (cold_ + 1); }
  long double price(long double stored) const {
    const long double above = std::max(0.0L, stored - warm_ / 2);
    return stored + (cold_ * cold_ - 1) * above * above / (4 * warm_);
  }

  long double unit_;
  long double warm_;
  long double cold_;
  long double stored_;
  long double next_ = -1e18L;
};

TEST(Reference, AWarmUpIsExactToOneTick) {
  std::mt19937_64 random(1);
  const auto below = [&](std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random);
  };
  for (int trial = 0; trial < 2'000; ++trial) {
    const WarmUp::Settings settings{1 + below(1'000'000), Span{1'000'000 * (1 + below(3))},
                                    Span{1 + below(100'000'000)},
                                    1 + below(trial % 2 ? 12 : 10'000)};
    const auto config = WarmUp::configure(settings).value();
    WarmUp::State state;
    RealWarmUp twin(settings);
    Instant now{};
    for (int call = 0; call < 200; ++call) {
      const Cost cost = 1 + below(below(4) == 0 ? 5'000 : 2);
      const Instant ours = step<WarmUp>(config, state, {now, cost, longest_span}).ready_at;
      const long double theirs =
          std::max(static_cast<long double>(ticks(now)), twin.acquire(now, cost));
      ASSERT_LE(std::abs(static_cast<long double>(ticks(ours)) - theirs), 1.01L)
          << "trial " << trial << ", call " << call;
      if (below(2) == 0) now = ours;
      if (below(5) == 0) now += Span{2 + below(settings.warm_up.count())};
    }
  }
}

}  // namespace
}  // namespace weir::reference
