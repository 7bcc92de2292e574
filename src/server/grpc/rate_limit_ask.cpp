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

Status excess_of(const std::string& what, std::size_t most, std::size_t found) {
  return {Code::invalid_argument,
          what + ": expected " + std::to_string(most) + " at most, found " + std::to_string(found)};
}

std::string named(std::size_t descriptor) { return "descriptor " + std::to_string(descriptor); }

std::optional<Status> fault(const RateLimitAsk& ask) {
  if (ask.domain.empty()) return Status{Code::unknown, "rate limit domain must not be empty"};
  if (!ask.descriptors.empty()) return {};
  return Status{Code::unknown, "rate limit descriptor list must not be empty"};
}

std::optional<Status> fault(const RateLimitDescriptor& descriptor, std::size_t at) {
  if (!descriptor.limit) return {};
  const RateLimitUnit unit = descriptor.limit->unit;
  if (unit >= RateLimitUnit::second && unit <= RateLimitUnit::week) return {};
  return Status{Code::invalid_argument,
                named(at) + ", unit of the limit: expected 1 (SECOND) to 7 (WEEK), found " +
                    std::to_string(static_cast<std::int32_t>(unit))};
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
bool RateLimitReader::read_descriptor(std::string_view message, std::size_t most_entries) {
  RateLimitDescriptor& descriptor = descriptors_.emplace_back();
  const std::size_t begin = entries_.size();
  std::size_t entries = 0;
  const bool could = read_fields(message, [&](const WireField& field) {
    if (field.is(Descriptor::kEntriesFieldNumber, WireType::bytes)) {
      return ++entries > most_entries || read_entry(field.bytes, entries_.emplace_back());
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
  if (entries > most_entries && !excess_) {
    excess_ = excess_of(named(descriptors_.size() - 1) + ", entries", most_entries, entries);
  }
  return could;
}

bool RateLimitReader::read_request(std::string_view message, const RateLimitBounds& bounds,
                                   RateLimitAsk& ask) {
  ask.hits = 0;
  std::size_t descriptors = 0;
  const bool could = read_fields(message, [&](const WireField& field) {
    if (field.is(Request::kDomainFieldNumber, WireType::bytes)) return read_text(field, ask.domain);
    if (field.is(Request::kDescriptorsFieldNumber, WireType::bytes)) {
      return ++descriptors > bounds.descriptors || read_descriptor(field.bytes, bounds.entries);
    }
    if (field.is(Request::kHitsAddendFieldNumber, WireType::varint)) {
      ask.hits = static_cast<std::uint32_t>(field.value);
    }
    return true;
  });
  ask.hits = std::max<std::uint32_t>(ask.hits, 1);
  ask.descriptors = descriptors_;
  if (descriptors > bounds.descriptors) {
    excess_ = excess_of("descriptors", bounds.descriptors, descriptors);
  }
  return could;
}

Expected<RateLimitAsk, Status> RateLimitReader::read(std::string_view message,
                                                     const RateLimitBounds& bounds) {
  entries_.clear();
  entries_.reserve(
      std::min(message.size() / least_entry_bytes, bounds.descriptors * bounds.entries));
  descriptors_.clear();
  excess_.reset();
  RateLimitAsk ask;
  if (!read_request(message, bounds, ask)) {
    return Status{Code::internal, "the message is no RateLimitRequest"};
  }
  if (auto wrong = fault(ask)) return *std::move(wrong);
  if (excess_) return *std::move(excess_);
  ask.hits = static_cast<std::uint32_t>(std::min<std::uint64_t>(ask.hits, bounds.hits));
  for (std::size_t at = 0; at < descriptors_.size(); ++at) {
    std::optional<std::uint64_t>& hits = descriptors_[at].hits;
    if (hits) hits = std::min(*hits, bounds.hits);
    if (auto wrong = fault(descriptors_[at], at)) return *std::move(wrong);
  }
  return ask;
}

}  // namespace weir::server::grpc
