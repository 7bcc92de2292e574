#include "server/grpc/rate_limit_ask.hpp"

#include <envoy/service/ratelimit/v3/rls.pb.h>

#include <algorithm>
#include <string>
#include <utility>

#include "server/grpc/wire_format.hpp"

namespace weir::server::grpc {
namespace {

namespace common = envoy::extensions::common::ratelimit::v3;
using Request = envoy::service::ratelimit::v3::RateLimitRequest;
using Descriptor = common::RateLimitDescriptor;
using Entry = common::RateLimitDescriptor_Entry;
using Override = common::RateLimitDescriptor_RateLimitOverride;

constexpr std::size_t least_entry_bytes = 2;
constexpr std::size_t most_kept_bytes = std::size_t{64} << 10;

/// What is wrong with something, in the words of all the bounds.
struct Excess {
  std::string of;
  std::uint64_t found;
  std::uint64_t most;
};

Status told(const Excess& excess) {
  return {Code::invalid_argument, excess.of + ": expected " + std::to_string(excess.most) +
                                      " at most, found " + std::to_string(excess.found)};
}

std::string named(std::size_t descriptor) { return "descriptor " + std::to_string(descriptor); }

std::optional<Status> fault(const RateLimitAsk& ask, const RateLimitBounds& bounds) {
  if (ask.domain.empty()) return Status{Code::unknown, "rate limit domain must not be empty"};
  if (ask.descriptors.empty()) {
    return Status{Code::unknown, "rate limit descriptor list must not be empty"};
  }
  if (ask.domain.size() > bounds.text_bytes) {
    return told({"bytes of the domain", ask.domain.size(), bounds.text_bytes});
  }
  if (ask.descriptors.size() > bounds.descriptors) {
    return told({"descriptors", ask.descriptors.size(), bounds.descriptors});
  }
  return {};
}

std::optional<Status> fault(const RateLimitDescriptor& descriptor, std::size_t at,
                            const RateLimitBounds& bounds) {
  const std::size_t entries = descriptor.entries.size();
  if (entries > bounds.entries) return told({named(at) + ", entries", entries, bounds.entries});
  for (const RateLimitEntry& entry : descriptor.entries) {
    const std::size_t bytes = std::max(entry.key.size(), entry.value.size());
    if (bytes > bounds.text_bytes) {
      return told({named(at) + ", bytes of a key or value", bytes, bounds.text_bytes});
    }
  }
  if (!descriptor.limit) return {};
  const RateLimitUnit unit = descriptor.limit->unit;
  if (unit < RateLimitUnit::second || unit > RateLimitUnit::week) {
    return Status{Code::invalid_argument,
                  named(at) + ", unit of the limit: expected 1 (SECOND) to 7 (WEEK), found " +
                      std::to_string(static_cast<std::int32_t>(unit))};
  }
  return {};
}

/// Gives each field to `read`, which says whether it could be.
template <typename Read>
bool read_fields(std::string_view message, Read&& read) {
  WireReader reader(message);
  WireField field;
  while (reader.next(field)) {
    if (!read(field)) return false;
  }
  return !reader.fails();
}

/// A field of type string.
bool read_text(const WireField& field, std::string_view& to) {
  to = field.bytes;
  return is_text(to);
}

bool read_entry(std::string_view message, RateLimitEntry& entry) {
  return read_fields(message, [&entry](const WireField& field) {
    if (field.is(Entry::kKeyFieldNumber, WireType::bytes)) return read_text(field, entry.key);
    if (field.is(Entry::kValueFieldNumber, WireType::bytes)) return read_text(field, entry.value);
    return true;
  });
}

bool read_override(std::string_view message, RateLimitOverride& limit) {
  return read_fields(message, [&limit](const WireField& field) {
    if (field.is(Override::kRequestsPerUnitFieldNumber, WireType::varint)) {
      limit.requests_per_unit = static_cast<std::uint32_t>(field.value);
    } else if (field.is(Override::kUnitFieldNumber, WireType::varint)) {
      limit.unit = static_cast<RateLimitUnit>(field.value);
    }
    return true;
  });
}

/// A google.protobuf.UInt64Value.
bool read_wrapped(std::string_view message, std::uint64_t& value) {
  return read_fields(message, [&value](const WireField& field) {
    if (field.is(google::protobuf::UInt64Value::kValueFieldNumber, WireType::varint)) {
      value = field.value;
    }
    return true;
  });
}

}  // namespace

std::size_t RateLimitReader::kept_bytes() const noexcept {
  return entries_.capacity() * sizeof(RateLimitEntry) +
         descriptors_.capacity() * sizeof(RateLimitDescriptor);
}

/// What comes twice, and is not a list, is read one over the other, as protobuf has it.
bool RateLimitReader::read_descriptor(std::string_view message) {
  RateLimitDescriptor& descriptor = descriptors_.emplace_back();
  const std::size_t begin = entries_.size();
  const bool could = read_fields(message, [&](const WireField& field) {
    if (field.is(Descriptor::kEntriesFieldNumber, WireType::bytes)) {
      return read_entry(field.bytes, entries_.emplace_back());
    }
    if (field.is(Descriptor::kLimitFieldNumber, WireType::bytes)) {
      if (!descriptor.limit) descriptor.limit.emplace();
      return read_override(field.bytes, *descriptor.limit);
    }
    if (field.is(Descriptor::kHitsAddendFieldNumber, WireType::bytes)) {
      if (!descriptor.hits) descriptor.hits = 0;
      return read_wrapped(field.bytes, *descriptor.hits);
    }
    return true;
  });
  descriptor.entries = std::span(entries_).subspan(begin);
  return could;
}

bool RateLimitReader::read_request(std::string_view message, RateLimitAsk& ask) {
  ask.hits = 0;
  const bool could = read_fields(message, [&](const WireField& field) {
    if (field.is(Request::kDomainFieldNumber, WireType::bytes)) return read_text(field, ask.domain);
    if (field.is(Request::kDescriptorsFieldNumber, WireType::bytes)) {
      return read_descriptor(field.bytes);
    }
    if (field.is(Request::kHitsAddendFieldNumber, WireType::varint)) {
      ask.hits = static_cast<std::uint32_t>(field.value);
    }
    return true;
  });
  ask.hits = std::max<std::uint32_t>(ask.hits, 1);
  ask.descriptors = descriptors_;
  return could;
}

Expected<RateLimitAsk, Status> RateLimitReader::read(std::string_view message,
                                                     const RateLimitBounds& bounds) {
  if (kept_bytes() > most_kept_bytes) *this = RateLimitReader();
  entries_.clear();
  entries_.reserve(message.size() / least_entry_bytes);
  descriptors_.clear();
  RateLimitAsk ask;
  if (!read_request(message, ask)) {
    return Status{Code::internal, "the message is no RateLimitRequest"};
  }
  if (auto wrong = fault(ask, bounds)) return *std::move(wrong);
  ask.hits = static_cast<std::uint32_t>(std::min<std::uint64_t>(ask.hits, bounds.hits));
  for (std::size_t at = 0; at < descriptors_.size(); ++at) {
    std::optional<std::uint64_t>& hits = descriptors_[at].hits;
    if (hits) hits = std::min(*hits, bounds.hits);
    if (auto wrong = fault(descriptors_[at], at, bounds)) return *std::move(wrong);
  }
  return ask;
}

}  // namespace weir::server::grpc
