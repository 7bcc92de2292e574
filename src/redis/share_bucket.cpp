#include "weir/redis/share_bucket.hpp"

#include <algorithm>
#include <utility>

#include "redis/share_registry.hpp"
#include "weir/local/refuse_settings.hpp"

namespace weir::redis {
namespace {

using Settings = AtomicWord::Settings;

struct WholeLimit {
  Cost count;
  std::chrono::nanoseconds period;
  Cost burst;
};

Wide common_divisor(Wide left, Wide right) {
  while (right != 0) left = std::exchange(right, left % right);
  return left;
}

/// The rate is rounded down where 64 bits cannot hold it, the burst to whole units, but one at
/// least.
Settings bucket_of(const WholeLimit& limit, std::int64_t share) {
  Wide count = Wide{limit.count} * share;
  Wide period = Wide{limit.period.count()} * whole_share;
  const Wide common = common_divisor(period, count);
  count /= common;
  period /= common;
  constexpr Wide longest = Wide{1} << 58;
  while (period > longest || count > longest) {
    count /= 2;
    period = (period + 1) / 2;
  }
  if (count == 0) return Settings::closed();
  const Wide burst = Wide{limit.burst} * share / whole_share;
  return {.count = static_cast<Cost>(count),
          .period = std::chrono::nanoseconds{static_cast<std::int64_t>(period)},
          .burst = std::max<Cost>(static_cast<Cost>(burst), 1)};
}

}  // namespace

ShareBucket::ShareBucket(const SharedRateSettings& settings)
    : bucket_(Settings::closed()),
      ends_at_(SteadyInstant::max().time_since_epoch().count()),
      count_(settings.count),
      period_(settings.period),
      burst_(settings.burst) {}

void ShareBucket::put_in_force(const Lease& lease, SteadyInstant now) {
  if (lease.share != share_) {
    // A closed bucket keeps its balance; units that it kept while others have the share would come
    // on top of theirs.
    if (lease.share == 0) bucket_.drain(burst_, now);
    bucket_.reconfigure(bucket_of({count_, period_, burst_}, lease.share), Inherit::as_is, now);
    share_ = lease.share;
  }
  ends_at_.store(lease.ends_at.time_since_epoch().count(), std::memory_order_release);
}

void ShareBucket::require_possible(const SharedRateSettings& settings) {
  for (const std::int64_t share : {whole_share, std::int64_t{1}}) {
    const Settings bucket = bucket_of({settings.count, settings.period, settings.burst}, share);
    const auto config = AtomicWord::configure(bucket);
    if (!config) refuse_settings("shared rate", {"count", describe(config.error())});
  }
}

}  // namespace weir::redis
