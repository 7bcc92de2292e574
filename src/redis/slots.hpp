// A cluster's slots: which slot a key has, and which node has a slot.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "redis/node.hpp"
#include "weir/vocabulary.hpp"
#include "wire/resp_reader.hpp"

namespace weir::redis {

inline constexpr std::uint16_t slot_count = 16384;

/// CRC16 as clusters use it (polynomial 0x1021, from 0, neither reflected nor inverted).
std::uint16_t crc16(std::string_view bytes) noexcept;

/// The slot of a key. Where it has a '{' with a '}' behind it and something between the first such
/// two, that alone counts.
std::uint16_t slot_of(std::string_view key) noexcept;

/// Why a reply is no map of slots: what was expected.
struct SlotMapError {
  const char* message;
};

/// Which master has which slot, as one node saw it.
///
/// Memory   64 kB, and the nodes
/// Threads  one at a time
/// Errors   see SlotMapError; the reply is not trusted
class SlotMap {
 public:
  static constexpr std::size_t most_nodes = 1024;  ///< masters and replicas together

  /// Of a cluster nobody has told of yet: no slot has an owner.
  SlotMap();

  /// From the reply to CLUSTER SLOTS. `asked` is the node that gave it: where it leaves out a host,
  /// it means itself. Slots may be missing, and so may replicas that have copied nothing yet.
  static Expected<SlotMap, SlotMapError> read(const wire::Reply& reply, const Node& asked);

  /// The master of a slot; null where none is known. Requires slot < slot_count.
  const Node* master_of(std::uint16_t slot) const noexcept;

  /// Takes in what MOVED says, until the whole map is read anew. False where it knows too many
  /// nodes to learn of one more.
  bool move(std::uint16_t slot, const Node& node);

  /// All that are known: whom to ask for the next map.
  const std::vector<Node>& nodes() const noexcept { return nodes_; }

  /// How many slots have an owner.
  std::size_t owned() const noexcept;

 private:
  static constexpr std::uint16_t nobody = 0xFFFF;

  const char* read_range(const wire::Reply& range, const Node& asked);
  std::uint16_t place_of(const Node& node);

  std::vector<Node> nodes_;
  std::vector<std::uint16_t> master_of_;  ///< by slot: a place in nodes_, or nobody
};

}  // namespace weir::redis
