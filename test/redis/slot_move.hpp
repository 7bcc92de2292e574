// Slots of a cluster on their way from one node to another, step by step.
#pragma once

#include <cstdint>

#include "test/redis/redis_cluster.hpp"

namespace weir::test {

/// Slots that lie side by side, the last included.
struct SlotRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

/// What redis-cli --cluster reshard does, with pauses where the test wants them: between begin()
/// and finish() keys lie here and there, so that clients are told ASK and TRYAGAIN.
class SlotMove {
 public:
  /// All of the range has one master, which is not `target`.
  SlotMove(RedisCluster& cluster, SlotRange range, int target);

  void begin();
  /// Of the first slot that still has keys; returns how many went.
  int move_keys(int at_most);
  /// Moves the keys that are left, and tells all masters whose the slots now are.
  void finish();

 private:
  RedisCluster& cluster_;
  SlotRange range_;
  int source_;
  int target_;
};

}  // namespace weir::test
