// What libprotobuf reads of a RateLimitRequest, to hold our own reading against.
#pragma once

#include <envoy/service/ratelimit/v3/rls.pb.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "server/grpc/rate_limit_ask.hpp"

namespace weir::test {

/// It would tell of each text that is no UTF-8.
[[maybe_unused]] inline const auto silenced = google::protobuf::SetLogHandler(nullptr);

/// Bounds that nothing meets.
inline constexpr server::grpc::RateLimitBounds unbounded{
    .descriptors = std::size_t{1} << 30,
    .entries = std::size_t{1} << 30,
    .hits = std::numeric_limits<std::uint64_t>::max()};

inline bool same(const server::grpc::RateLimitDescriptor& ours,
                 const envoy::extensions::common::ratelimit::v3::RateLimitDescriptor& theirs) {
  const auto same_entry = [](const server::grpc::RateLimitEntry& our, const auto& their) {
    return our.key == their.key() && our.value == their.value();
  };
  return std::ranges::equal(ours.entries, theirs.entries(), same_entry) &&
         ours.limit.has_value() == theirs.has_limit() &&
         (!ours.limit ||
          (ours.limit->requests_per_unit == theirs.limit().requests_per_unit() &&
           static_cast<int>(ours.limit->unit) == static_cast<int>(theirs.limit().unit()))) &&
         ours.hits.has_value() == theirs.has_hits_addend() &&
         (!ours.hits || *ours.hits == theirs.hits_addend().value());
}

/// Whether the reader says of a message what libprotobuf says: that it is none, what is amiss
/// with it, or all that it asks.
inline bool reads_as_protobuf(server::grpc::RateLimitReader& reader, std::string_view message) {
  using server::grpc::Code;
  envoy::service::ratelimit::v3::RateLimitRequest request;
  const bool is_one = request.ParseFromArray(message.data(), static_cast<int>(message.size()));
  const auto ask = reader.read(message, unbounded);
  if (!is_one) return !ask && ask.error().code == Code::internal;
  if (request.domain().empty() || request.descriptors().empty()) {
    return !ask && ask.error().code == Code::unknown;
  }
  const bool units = std::ranges::all_of(request.descriptors(), [](const auto& descriptor) {
    const int unit = descriptor.limit().unit();
    return !descriptor.has_limit() || (unit >= 1 && unit <= 7);
  });
  if (!units) return !ask && ask.error().code == Code::invalid_argument;
  return ask && ask->domain == request.domain() &&
         ask->hits == std::max(request.hits_addend(), 1U) &&
         std::ranges::equal(ask->descriptors, request.descriptors(), same);
}

}  // namespace weir::test
