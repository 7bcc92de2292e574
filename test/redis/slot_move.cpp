#include "test/redis/slot_move.hpp"

#include <stdexcept>
#include <string>

namespace weir::test {

SlotMove::SlotMove(RedisCluster& cluster, SlotRange range, int target)
    : cluster_(cluster), range_(range), source_(cluster.master_of(range.first)), target_(target) {
  for (int slot = range.first; slot <= range.last; ++slot) {
    if (source_ < 0 || cluster.master_of(static_cast<std::uint16_t>(slot)) != source_) {
      throw std::runtime_error("the slots to move are not all of one master");
    }
  }
}

void SlotMove::begin() {
  RedisConnection source(cluster_.node(source_).port());
  RedisConnection target(cluster_.node(target_).port());
  for (int slot = range_.first; slot <= range_.last; ++slot) {
    const std::string number = std::to_string(slot);
    target.must({"CLUSTER", "SETSLOT", number, "IMPORTING", cluster_.id(source_)});
    source.must({"CLUSTER", "SETSLOT", number, "MIGRATING", cluster_.id(target_)});
  }
}

int SlotMove::move_keys(int at_most) {
  RedisConnection source(cluster_.node(source_).port());
  for (int slot = range_.first; slot <= range_.last; ++slot) {
    const auto keys =
        source.must({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), std::to_string(at_most)});
    if (keys.elements.empty()) continue;
    Words migrate{"MIGRATE", "127.0.0.1", std::to_string(cluster_.node(target_).port()), "", "0",
                  "1000",    "KEYS"};
    for (const wire::Reply& key : keys.elements) migrate.push_back(key.text);
    source.must(migrate);
    return static_cast<int>(keys.elements.size());
  }
  return 0;
}

void SlotMove::finish() {
  while (move_keys(100) > 0) continue;
  // The target first: were it not to take the slot, the source still had it.
  for (int number : {target_, source_}) {
    RedisConnection node(cluster_.node(number).port());
    for (int slot = range_.first; slot <= range_.last; ++slot) {
      node.must({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", cluster_.id(target_)});
    }
  }
}

}  // namespace weir::test
