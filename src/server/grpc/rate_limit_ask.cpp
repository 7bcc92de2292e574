#include "server/grpc/rate_limit_ask.hpp"

#include <envoy/service/ratelimit/v3/rls.pb.h>

#include <algorithm>
#include <string>
#include <utility>

namespace weir::server::grpc {
namespace {

using envoy::extensions::common::ratelimit::v3::RateLimitDescriptor_Entry;
using envoy::service::ratelimit::v3::RateLimitRequest;
using ProtoDescriptor = envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;

google::protobuf::ArenaOptions within(std::span<char> block) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block.data();
  options.initial_block_size = block.size();
  return options;
}

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

std::optional<Status> fault(const RateLimitRequest& request, const RateLimitBounds& bounds) {
  if (request.domain().empty()) {
    return Status{Code::unknown, "rate limit domain must not be empty"};
  }
  if (request.descriptors().empty()) {
    return Status{Code::unknown, "rate limit descriptor list must not be empty"};
  }
  if (request.domain().size() > bounds.text_bytes) {
    return told({"bytes of the domain", request.domain().size(), bounds.text_bytes});
  }
  const auto descriptors = static_cast<std::size_t>(request.descriptors_size());
  if (descriptors > bounds.descriptors) {
    return told({"descriptors", descriptors, bounds.descriptors});
  }
  if (request.hits_addend() > bounds.hits) {
    return told({"hits_addend", request.hits_addend(), bounds.hits});
  }
  return {};
}

std::optional<Status> fault(const ProtoDescriptor& descriptor, std::size_t at,
                            const RateLimitBounds& bounds) {
  const auto entries = static_cast<std::size_t>(descriptor.entries_size());
  if (entries > bounds.entries) return told({named(at) + ", entries", entries, bounds.entries});
  for (const RateLimitDescriptor_Entry& entry : descriptor.entries()) {
    const std::size_t bytes = std::max(entry.key().size(), entry.value().size());
    if (bytes > bounds.text_bytes) {
      return told({named(at) + ", bytes of a key or value", bytes, bounds.text_bytes});
    }
  }
  if (descriptor.has_hits_addend() && descriptor.hits_addend().value() > bounds.hits) {
    return told({named(at) + ", hits_addend", descriptor.hits_addend().value(), bounds.hits});
  }
  const int unit = descriptor.limit().unit();
  if (descriptor.has_limit() && (unit < 1 || unit > 7)) {
    return Status{Code::invalid_argument,
                  named(at) + ", unit of the limit: expected 1 (SECOND) to 7 (WEEK), found " +
                      std::to_string(unit)};
  }
  return {};
}

}  // namespace

RateLimitReader::RateLimitReader() : arena_(within(block_)) {}

Expected<RateLimitAsk, Status> RateLimitReader::read(std::string_view message,
                                                     const RateLimitBounds& bounds) {
  arena_.Reset();
  entries_.clear();
  descriptors_.clear();
  auto& request = *google::protobuf::Arena::CreateMessage<RateLimitRequest>(&arena_);
  if (!request.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return Status{Code::internal, "the message is no RateLimitRequest"};
  }
  if (auto wrong = fault(request, bounds)) return *std::move(wrong);
  std::size_t entries = 0;
  for (const ProtoDescriptor& descriptor : request.descriptors()) {
    if (auto wrong = fault(descriptor, descriptors_.size(), bounds)) return *std::move(wrong);
    RateLimitDescriptor& read = descriptors_.emplace_back();
    if (descriptor.has_limit()) {
      read.limit = RateLimitOverride{descriptor.limit().requests_per_unit(),
                                     static_cast<RateLimitUnit>(descriptor.limit().unit())};
    }
    if (descriptor.has_hits_addend()) {
      read.hits = static_cast<std::uint32_t>(descriptor.hits_addend().value());
    }
    entries += static_cast<std::size_t>(descriptor.entries_size());
  }
  entries_.reserve(entries);  // so that none moves once a descriptor has it
  for (std::size_t at = 0; at < descriptors_.size(); ++at) {
    const std::size_t begin = entries_.size();
    for (const RateLimitDescriptor_Entry& entry :
         request.descriptors(static_cast<int>(at)).entries()) {
      entries_.push_back({entry.key(), entry.value()});
    }
    descriptors_[at].entries = std::span(entries_).subspan(begin);
  }
  return RateLimitAsk{.domain = request.domain(),
                      .descriptors = descriptors_,
                      .hits = std::max<std::uint32_t>(request.hits_addend(), 1)};
}

}  // namespace weir::server::grpc
