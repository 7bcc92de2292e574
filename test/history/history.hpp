// What clients of a limiter saw: who asked for what, when they asked, when they knew the answer.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace weir::history {

/// `returned_at_ns` of a request whose answer never came.
inline constexpr std::int64_t never_returned = std::numeric_limits<std::int64_t>::max();

/// One request and its answer. All instants of a history are read from one steady clock, so that
/// the intervals of different clients compare; the limiter decided somewhere in
/// [called_at_ns, returned_at_ns].
///
/// A request without an answer is recorded as admitted and never_returned: it does not count
/// against the limiter as an admission, and it excuses later denials, since it may have been taken.
struct Record {
  std::uint32_t client = 0;
  std::uint64_t key = 0;
  std::int64_t cost = 1;            ///< >= 0
  std::int64_t called_at_ns = 0;    ///< read just before the request was written
  std::int64_t returned_at_ns = 0;  ///< read just after the answer was, >= called_at_ns
  bool admitted = false;            ///< taken; how long the caller then waits is not looked at
};

/// In any order.
using History = std::vector<Record>;

}  // namespace weir::history
