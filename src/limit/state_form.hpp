// A state as a row of integers, for what outlives the process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weir/limit.hpp"

namespace weir {

/// Appends the state's form: a number that tells the algorithm, then the state's fields. All are
/// within 2^53 of zero, so that any language can hold them.
///
///   0 token bucket    repaid_at, rest
///   1 leaky bucket    drained_at, rest
///   2 fixed window    window, used
///   3 sliding window  newest, counter...
///   4 sliding log     instant, oldest first...
///   5 several terms   {blocked_until, length, form of a single one}...
///   6 concurrency     latest permit, instant of the latest grant, weight of all, then of each
///                     permit in the order in which they end {leaves_at, permit, weight}...
///   7 calendar window window, used
void write_form(const Limit::State& state, std::vector<std::int64_t>& form);

/// The state that has this form; none where no state has. Any integers may be given, and whatever
/// comes back is safe to step under any limit.
std::optional<Limit::State> read_form(std::span<const std::int64_t> form);

}  // namespace weir
