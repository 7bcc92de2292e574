// A member's share of a limit.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/limit.hpp"

namespace weir::redis {

/// What each of so many members may let in by itself, so that together they keep about the limit:
/// rates are divided exactly (the period is that of all members), bursts, queues and windows by
/// whole units, and none below 1. Where a window has fewer units than there are members, each
/// grants 1 in that many more windows. A rate too fine to be kept exactly is rounded down.
///
/// Bound    together, in any span, at most the limit's own bound and 2 units for each member; of a
///          concurrency limit, at once, as many as the limit or one for each member
///
/// Leases and penalties stay as they are. Requires members > 0; 1 gives the limit itself.
Limit divided(const Limit& limit, std::uint32_t members);

/// The same of numbers that come with a call: a token bucket's, unless they pass what the machine
/// can keep, and a fixed window's, unless it has fewer units than there are members.
std::optional<Limit::Machine::Config> divided(const Limit::Machine::Config& numbers,
                                              std::uint32_t members);

}  // namespace weir::redis
