// How hits stand to a limit.
#pragma once

#include <algorithm>

#include "weir/vocabulary.hpp"

namespace weir::gateway {

/// Of some hits, those within the limit, those among them beyond its near part, and those over it.
/// Source  the statistics of envoyproxy/ratelimit
struct HitShares {
  Cost within = 0;
  Cost near = 0;
  Cost over = 0;

  bool operator==(const HitShares&) const = default;
};

struct Hits {
  Cost before;  ///< used of the limit
  Cost hits;
  Cost limit;
};

/// From so many uses on the limit is near: four fifths of it, rounded down.
constexpr Cost near_limit(Cost limit) noexcept { return limit / 5 * 4 + limit % 5 * 4 / 5; }

constexpr HitShares shares_of(const Hits& asked) noexcept {
  const auto [before, hits, limit] = asked;
  const Cost after = before + hits;
  const Cost near = near_limit(limit);
  if (after > limit) {
    if (before >= limit) return {.over = hits};
    return {.near = limit - std::max(near, before), .over = after - limit};
  }
  return {.within = hits, .near = after <= near ? 0 : before >= near ? hits : after - near};
}

}  // namespace weir::gateway
