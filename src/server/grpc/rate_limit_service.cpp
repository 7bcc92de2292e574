#include "server/grpc/rate_limit_service.hpp"

#include <envoy/service/ratelimit/v3/rls.pb.h>

#include <chrono>
#include <utility>

#include "server/grpc/wire_format.hpp"

namespace weir::server::grpc {
namespace {

using Response = envoy::service::ratelimit::v3::RateLimitResponse;
using Descriptor = envoy::service::ratelimit::v3::RateLimitResponse_DescriptorStatus;
using Limit = envoy::service::ratelimit::v3::RateLimitResponse_RateLimit;
using Quota = envoy::service::ratelimit::v3::RateLimitResponse_Quota;
using Header = envoy::config::core::v3::HeaderValue;
using google::protobuf::Duration;
using google::protobuf::Timestamp;

/// Seconds and the nanoseconds behind them, as google.protobuf has both instants and spans.
template <typename Proto>
void write(Span span, WireWriter& to) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(span);
  const std::chrono::nanoseconds behind = span - whole;
  to.number(Proto::kSecondsFieldNumber, static_cast<std::uint64_t>(whole.count()));
  to.number(Proto::kNanosFieldNumber, static_cast<std::uint64_t>(behind.count()));
}

void write(const RateLimitQuota& quota, WireWriter& to) {
  to.number(Quota::kRequestsFieldNumber, quota.requests);
  to.message(Quota::kValidUntilFieldNumber,
             [&] { write<Timestamp>(quota.valid_until.time_since_epoch(), to); });
  to.text(Quota::kIdFieldNumber, quota.id);
}

void write(const RateLimitStatus::Limit& limit, WireWriter& to) {
  to.number(Limit::kRequestsPerUnitFieldNumber, limit.requests_per_unit);
  to.number(Limit::kUnitFieldNumber, static_cast<std::uint64_t>(limit.unit));
  to.text(Limit::kNameFieldNumber, limit.name);
}

void write(const RateLimitStatus& status, WireWriter& to) {
  to.number(Descriptor::kCodeFieldNumber, static_cast<std::uint64_t>(status.code));
  if (status.limit) {
    to.message(Descriptor::kCurrentLimitFieldNumber, [&] { write(*status.limit, to); });
  }
  to.number(Descriptor::kLimitRemainingFieldNumber, status.remaining);
  if (status.until_reset) {
    to.message(Descriptor::kDurationUntilResetFieldNumber,
               [&] { write<Duration>(*status.until_reset, to); });
  }
  if (status.quota) {
    to.message(Descriptor::kQuotaFieldNumber, [&] { write(*status.quota, to); });
  }
}

void write(const std::vector<RateLimitHeader>& headers, std::uint32_t field, WireWriter& to) {
  for (const RateLimitHeader& header : headers) {
    to.message(field, [&] {
      to.text(Header::kKeyFieldNumber, header.name);
      to.text(Header::kValueFieldNumber, header.value);
    });
  }
}

void write(const RateLimitAnswer& answer, WireWriter& to) {
  to.number(Response::kOverallCodeFieldNumber, static_cast<std::uint64_t>(answer.overall));
  for (const RateLimitStatus& status : answer.statuses) {
    to.message(Response::kStatusesFieldNumber, [&] { write(status, to); });
  }
  write(answer.response_headers, Response::kResponseHeadersToAddFieldNumber, to);
  write(answer.request_headers, Response::kRequestHeadersToAddFieldNumber, to);
  to.text(Response::kRawBodyFieldNumber, answer.raw_body);
  if (answer.dynamic_metadata) {
    to.message(Response::kDynamicMetadataFieldNumber,
               [&] { to.fields(answer.dynamic_metadata->SerializeAsString()); });
  }
  if (answer.quota) to.message(Response::kQuotaFieldNumber, [&] { write(*answer.quota, to); });
}

}  // namespace

void RateLimitReply::answer(const RateLimitAnswer& answer) const {
  if (answer.statuses.size() != descriptors_) {
    return fail({Code::internal, "the decision is on other descriptors than were asked"});
  }
  static thread_local std::string response;
  response.clear();
  WireWriter writer(response);
  write(answer, writer);
  reply_.send(response);
  reply_.finish();
}

void RateLimitReply::post(RateLimitAnswer&& answer) const {
  reply_.post([descriptors = descriptors_, answer = std::move(answer)](const Reply& reply) {
    RateLimitReply(reply, descriptors).answer(answer);
  });
}

void RateLimitReply::post_failure(Status status) const {
  reply_.post([status = std::move(status)](const Reply& reply) { reply.finish(status); });
}

void serve_rate_limits_by(Services& services, RateLimitDecider& decider, RateLimitBounds bounds) {
  services.add(std::string(rate_limit_method),
               Unary([&decider, bounds](std::string_view message, Reply reply) {
                 static thread_local RateLimitReader reader;
                 const auto read = reader.read(message, bounds);
                 if (!read) return reply.finish(read.error());
                 RateLimitAsk ask = *read;
                 // The other half is for the way: an answer that comes too late was for nothing.
                 ask.patience = std::chrono::floor<Span>(reply.awaited()) / 2;
                 decider.decide(ask, {std::move(reply), ask.descriptors.size()});
               }));
}

}  // namespace weir::server::grpc
