// Histories of a store that decides correctly, or wrongly now and then, with many clients at once.
#pragma once

#include <cstdint>

#include "test/history/check.hpp"
#include "test/history/history.hpp"

namespace weir::history {

/// What a store does wrong, in parts of a million requests.
struct Faults {
  std::int64_t extra_admissions_ppm = 0;  ///< a denied request is admitted, and not counted
  std::int64_t wrong_denials_ppm = 0;     ///< an admitted one is denied, and not counted
};

struct Simulation {
  std::uint64_t seed = 1;
  std::int64_t requests = 4'000;
  std::uint32_t clients = 40;
  std::uint64_t keys = 1;
  std::int64_t cost_max = 1;
  std::int64_t think_ns_max = 2'000'000;  ///< between a return and the client's next call
  std::int64_t way_ns_max = 300'000;      ///< each way; the decision lies between the two
  /// Between the reading of the clock and the decision. Above 0: readings are applied out of order.
  std::int64_t reading_age_ns_max = 0;
  std::int64_t store_epoch_ns = 0;  ///< the store's clock when the history's shows 0
  Faults faults{};
};

History simulate(const Simulation& simulation, const Bucket& limit);
History simulate(const Simulation& simulation, const SlidingWindow& limit);
/// The limit's boundary_at_ns is not read: the grid is that of the store's clock.
History simulate(const Simulation& simulation, const AlignedWindow& limit);

}  // namespace weir::history
