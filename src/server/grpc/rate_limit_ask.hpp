// What a client of Envoy's rate limit service asks, read and held to bounds.
#pragma once

#include <google/protobuf/arena.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "server/grpc/protocol.hpp"
#include "weir/vocabulary.hpp"

namespace weir::server::grpc {

/// The period of a limit, by Envoy's numbers.
enum class RateLimitUnit : std::uint8_t {
  unknown = 0,
  second = 1,
  minute = 2,
  hour = 3,
  day = 4,
  month = 5,
  year = 6,
  week = 7,
};

struct RateLimitEntry {
  std::string_view key;
  std::string_view value;
  bool operator==(const RateLimitEntry&) const = default;
};

/// A limit that a client brings along.
struct RateLimitOverride {
  std::uint32_t requests_per_unit;
  RateLimitUnit unit;
  bool operator==(const RateLimitOverride&) const = default;
};

struct RateLimitDescriptor {
  std::span<const RateLimitEntry> entries;  ///< perhaps none
  std::optional<RateLimitOverride> limit{};
  std::optional<std::uint32_t> hits{};  ///< in place of the request's; 0 only asks
};

struct RateLimitAsk {
  std::string_view domain;                           ///< not empty
  std::span<const RateLimitDescriptor> descriptors;  ///< not empty
  std::uint32_t hits = 1;                            ///< > 0
};

struct RateLimitBounds {
  std::size_t descriptors = 64;
  std::size_t entries = 32;       ///< of one descriptor
  std::size_t text_bytes = 1024;  ///< of a domain, key or value
  std::uint32_t hits = std::uint32_t{1} << 31;
};

/// Reads RateLimitRequest messages.
///
/// Threads  one at a time
/// Memory   24 KiB, 64 KiB where many entries came, and until the next read() 40 times the
///          message's length
/// Errors   INTERNAL: it is none; UNKNOWN with the words of envoyproxy/ratelimit: no domain, no
///          descriptor; INVALID_ARGUMENT: it is above a bound, or names no unit
class RateLimitReader {
 public:
  RateLimitReader();

  /// What it asks. Views hold until the next read() and as long as the reader.
  Expected<RateLimitAsk, Status> read(std::string_view message, const RateLimitBounds& bounds);

 private:
  alignas(8) std::array<char, std::size_t{16} << 10> block_;
  google::protobuf::Arena arena_;
  std::vector<RateLimitEntry> entries_;
  std::vector<RateLimitDescriptor> descriptors_;
};

}  // namespace weir::server::grpc
