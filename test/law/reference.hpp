// What machines are held to that have a slow and obvious twin: the same random requests to both.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "weir/algorithm/gcra.hpp"

namespace weir::reference {

constexpr Wide ceil_divide(Wide a, Wide b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
constexpr Wide floor_divide(Wide a, Wide b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

inline std::int64_t ticks(Instant at) { return at.time_since_epoch().count(); }
inline Instant instant(Wide at) { return Instant{Span{static_cast<std::int64_t>(at)}}; }

/// What a reference tells: the rest of a Decision follows from the state.
struct Told {
  Verdict verdict;
  Instant ready_at;
  Cost remaining;
  bool operator==(const Told&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Told& told) {
  return out << name(told.verdict) << " at " << ticks(told.ready_at) << ", remaining "
             << told.remaining;
}

/// The instant at which a request could act becomes a verdict in the same way everywhere.
inline Told rule(const Request& request, Instant acts_at, Span patience) {
  if (acts_at - request.now > patience) return {Verdict::denied, acts_at - patience, 0};
  return {acts_at == request.now ? Verdict::granted : Verdict::deferred, acts_at, 0};
}

/// Seeded requests in time order: mostly costs of 1, steps as likely small as large, often exactly
/// to the instant that the last answer promised.
class Requests {
 public:
  struct Shape {
    Cost capacity;
    std::int64_t scale;  ///< ticks that the limit remembers, about
  };
  Requests(Shape shape, std::uint64_t seed) : shape_(shape), random_(seed) {}

  Request next(Instant promised) {
    const std::int64_t kind = below(10);
    if (kind < 3) {
      now_ = std::max(now_, promised == never ? now_ : promised + Span{below(3) - 1});
    } else if (kind < 6) {
      now_ += Span{some(shape_.scale)};
    }
    Request request{now_, 1, Span{0}};
    if (below(4) == 0) request.cost = some(shape_.capacity + 1);
    if (below(12) == 0) request.cost = 0;
    if (below(3) == 0) request.patience = Span{some(shape_.scale)};
    if (below(3) == 0) request.patience.reset();
    return request;
  }

 private:
  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
  }
  std::int64_t some(std::int64_t most) {
    const double bits = std::log2(static_cast<double>(most) + 1);
    return std::min(most, static_cast<std::int64_t>(
                              std::exp2(std::uniform_real_distribution<double>(0, bits)(random_))));
  }

  Shape shape_;
  std::mt19937_64 random_;
  Instant now_{Span{1'750'000'000'000'000}};
};

template <typename M, typename Reference>
void expect_equal(const typename M::Config& config, Reference reference, std::int64_t scale,
                  const std::string& what) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    typename M::State state{};
    Reference twin = reference;
    Requests requests({M::capacity(config), scale}, seed);
    Instant promised{};
    for (int event = 0; event < 300; ++event) {
      const Request request = requests.next(promised);
      const Decision decision = step<M>(config, state, request);
      const Told told{decision.verdict, decision.ready_at, decision.remaining};
      ASSERT_EQ(told, twin.step(request))
          << what << ", seed " << seed << ", event " << event << ", cost " << request.cost;
      promised = decision.ready_at;
    }
  }
}

inline std::vector<Gcra::Settings> bucket_settings() {
  return {{1, Span{1}, 1},
          {3, Span{7}, 4},
          {7, Span{3}, 20},
          {5, Span{60'000'000}, 5},
          {100, Span{1'000'000}, 7},
          {999'983, Span{1'000'000}, 999'983},
          {1'000'000'000, Span{1'000'000}, 1'000'000'000},
          {999'999'937, Span{1'000'000}, 1'000},
          {1, Span{std::int64_t{1} << 50}, 1},
          {1'000, Span{std::int64_t{1} << 50}, 1'000}};
}

inline std::int64_t refill_ticks(Gcra::Settings settings) {
  return static_cast<std::int64_t>(std::min<Wide>(
      Wide{settings.burst} * settings.period.count() / settings.count + 4, Wide{1} << 43));
}

inline std::string text(Gcra::Settings settings) {
  return std::to_string(settings.count) + " per " + std::to_string(settings.period.count()) +
         " burst " + std::to_string(settings.burst);
}

}  // namespace weir::reference
