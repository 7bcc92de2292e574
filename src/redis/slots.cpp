#include "redis/slots.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weir::redis {
namespace {

constexpr std::array<std::uint16_t, 256> crc_of_byte = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021 : 0);
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

using wire::Reply;
using wire::ReplyType;

/// The node that [host, port, ...] describes. An empty host, or none, is the one that was asked.
bool read_node(const Reply& reply, const Node& asked, Node& node) {
  if (reply.type != ReplyType::array || reply.elements.size() < 2) return false;
  const Reply& host = reply.elements[0];
  const Reply& port = reply.elements[1];
  if (port.type != ReplyType::integer || port.integer < 1 || port.integer > 65535) return false;
  const bool same_host = host.type == ReplyType::null || host.text.empty();
  if (!same_host && (!is_host(host.text) || host.text == "?")) return false;
  node = {same_host ? asked.host : host.text, static_cast<std::uint16_t>(port.integer)};
  return true;
}

bool is_slot(const Reply& reply) {
  return reply.type == ReplyType::integer && reply.integer >= 0 && reply.integer < slot_count;
}

}  // namespace

std::uint16_t crc16(std::string_view bytes) noexcept {
  unsigned crc = 0;
  for (const char c : bytes) {
    crc = (crc << 8) ^ crc_of_byte[((crc >> 8) ^ static_cast<unsigned char>(c)) & 0xFF];
  }
  return static_cast<std::uint16_t>(crc);
}

std::uint16_t slot_of(std::string_view key) noexcept {
  const std::size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) {
      key = key.substr(open + 1, close - open - 1);
    }
  }
  return crc16(key) % slot_count;
}

SlotMap::SlotMap() : master_of_(slot_count, nobody) {}

Expected<SlotMap, SlotMapError> SlotMap::read(const Reply& reply, const Node& asked) {
  if (reply.type != ReplyType::array) return SlotMapError{"expected an array of slot ranges"};
  SlotMap map;
  for (const Reply& range : reply.elements) {
    if (const char* const fault = map.read_range(range, asked)) return SlotMapError{fault};
  }
  return map;
}

/// What is wrong with [first, last, master, replica ...]; null where nothing is.
const char* SlotMap::read_range(const Reply& range, const Node& asked) {
  if (range.type != ReplyType::array || range.elements.size() < 3) {
    return "expected first slot, last slot and master in a slot range";
  }
  const Reply& first = range.elements[0];
  const Reply& last = range.elements[1];
  if (!is_slot(first) || !is_slot(last) || first.integer > last.integer) {
    return "expected slots of 0 to 16383, in order";
  }
  for (std::size_t i = 2; i < range.elements.size(); ++i) {
    Node node;
    if (!read_node(range.elements[i], asked, node)) {
      // What a replica is called matters little; a master that nobody can reach has no slots.
      if (i == 2) return nullptr;
      continue;
    }
    const std::uint16_t place = place_of(node);
    if (place == nobody) return "more nodes than allowed";
    if (i > 2) continue;
    const auto begin = master_of_.begin() + first.integer;
    const auto end = master_of_.begin() + last.integer + 1;
    if (std::any_of(begin, end, [](std::uint16_t owner) { return owner != nobody; })) {
      return "expected no slot twice";
    }
    std::fill(begin, end, place);
  }
  return nullptr;
}

std::uint16_t SlotMap::place_of(const Node& node) {
  const auto found = std::ranges::find(nodes_, node);
  if (found == nodes_.end()) {
    if (nodes_.size() == most_nodes) return nobody;
    nodes_.push_back(node);
    return static_cast<std::uint16_t>(nodes_.size() - 1);
  }
  return static_cast<std::uint16_t>(found - nodes_.begin());
}

const Node* SlotMap::master_of(std::uint16_t slot) const noexcept {
  const std::uint16_t place = master_of_[slot];
  return place == nobody ? nullptr : &nodes_[place];
}

bool SlotMap::move(std::uint16_t slot, const Node& node) {
  const std::uint16_t place = place_of(node);
  if (place == nobody) return false;
  master_of_[slot] = place;
  return true;
}

std::size_t SlotMap::owned() const noexcept {
  return slot_count - static_cast<std::size_t>(std::ranges::count(master_of_, nobody));
}

}  // namespace weir::redis
