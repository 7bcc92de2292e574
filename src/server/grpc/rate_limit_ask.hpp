// What a client of Envoy's rate limit service asks, read and held to bounds.
#pragma once

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
enum class RateLimitUnit : std::int32_t {
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
  std::optional<std::uint64_t> hits{};  ///< in place of the request's; 0 only asks
};

struct RateLimitAsk {
  std::string_view domain;                           ///< not empty
  std::span<const RateLimitDescriptor> descriptors;  ///< not empty
  std::uint32_t hits = 1;                            ///< > 0
  Span patience{0};  ///< an answer may be kept back so long; not the message's
};

struct RateLimitBounds {
  std::size_t descriptors = 64;
  std::size_t entries = 32;          ///< of one descriptor
  std::uint64_t hits = 0xffff'ffff;  ///< more count as so many
};

/// Reads RateLimitRequest messages.
///
/// Threads  one at a time
/// Memory   32 bytes an entry and 48 a descriptor, of as many as the bounds let in
/// Errors   INTERNAL: it is none; UNKNOWN with the words of envoyproxy/ratelimit: no domain, no
///          descriptor; INVALID_ARGUMENT: it is above a bound, or names no unit
class RateLimitReader {
 public:
  /// What it asks. Views hold until the next read() and as long as the reader and the message.
  Expected<RateLimitAsk, Status> read(std::string_view message, const RateLimitBounds& bounds);
  std::size_t kept_bytes() const noexcept;

 private:
  bool read_request(std::string_view message, const RateLimitBounds& bounds, RateLimitAsk& ask);
  bool read_descriptor(std::string_view message, std::size_t most_entries);

  std::vector<RateLimitEntry> entries_;  ///< of all descriptors; they do not move while it reads
  std::vector<RateLimitDescriptor> descriptors_;
  std::optional<Status> excess_;  ///< the first bound that the message is above
};

}  // namespace weir::server::grpc
